package tasklog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/internal/store"
)

// Tasks with the words go while a daemon has the folder open; one that runs there is told of, and goes when it has ended.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, tasklog.StoreOptions{Dir: dir})
	body := []byte(`{"text":"the amber lantern"}`)
	for _, task := range []tasklog.Task{
		{ID: "ended", State: "completed", Ended: true, Body: body},
		{ID: "runs", State: "working", Body: body},
		{ID: "other", State: "completed", Ended: true, Body: []byte(`{}`)},
	} {
		create(t, s, task)
	}
	if err := os.WriteFile(filepath.Join(dir, store.DamagedName("x")), []byte("torn amber lantern"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds := func(text []byte) bool { return bytes.Contains(text, []byte("amber lantern")) }
	if would, err := tasklog.Forget(dir, holds, true); err != nil || len(would) != 3 {
		t.Fatalf("%v, %v", would, err)
	}
	did, err := tasklog.Forget(dir, holds, false)
	if len(did) != 3 || err == nil || !strings.Contains(err.Error(), "1 tasks are running") {
		t.Errorf("%v, %v", did, err)
	}
	if _, err := s.Get(t.Context(), "ended"); !errors.Is(err, tasklog.ErrNotFound) {
		t.Error(err)
	}
	if got, err := s.Get(t.Context(), "other"); err != nil || string(got.Body) != "{}" {
		t.Errorf("%s, %v", got.Body, err)
	}
	if none, err := tasklog.Forget(filepath.Join(dir, "none"), holds, false); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	if again, err := tasklog.Forget(dir, holds, false); err != nil || len(again) != 0 {
		t.Errorf("%v, %v", again, err)
	}
}
