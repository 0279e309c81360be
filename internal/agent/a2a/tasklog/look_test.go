package tasklog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
)

// Somebody looks while the store is open, at what is whole and at what is not.
func TestLook(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tasks")
	if list, err := tasklog.Look(dir, 10); err != nil || list != nil {
		t.Fatalf("without a store: %v, %v", list, err)
	}
	s, err := tasklog.OpenStore(tasklog.StoreOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 30 {
		task := tasklog.Task{ID: fmt.Sprint("task-", i), Context: "c", State: "TASK_STATE_WORKING", Body: []byte(`{"a":"` + strings.Repeat("x", 1000*i) + `"}`)}
		if _, err := s.Create(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	one, err := s.Get(t.Context(), "task-3")
	if err != nil {
		t.Fatal(err)
	}
	one.State, one.Ended = "TASK_STATE_COMPLETED", true
	if _, err := s.Update(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	list, err := tasklog.Look(dir, 100)
	if err != nil || len(list) != 30 || list[0].ID != "task-3" || !list[0].Ended || list[0].State != "TASK_STATE_COMPLETED" || list[0].Bytes < 3000 {
		t.Fatalf("%d tasks, %+v, %v", len(list), list[:1], err)
	}
	if list, err := tasklog.Look(dir, 5); err != nil || len(list) != 5 {
		t.Errorf("%+v, %v", list, err)
	}
	// What is no task is left out, and left where it is.
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := 0
	for _, e := range names {
		path := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(path, ".task") || spoilt == 4 {
			continue
		}
		switch spoilt {
		case 0:
			err = os.Truncate(path, 20)
		case 1:
			err = os.Truncate(path, 70)
		case 2:
			err = os.WriteFile(path, []byte(strings.Repeat("[", 1<<20)), 0o600)
		case 3:
			err = os.Remove(path)
			if err == nil {
				err = os.Symlink("/dev/zero", path)
			}
		}
		if spoilt++; err != nil {
			t.Fatal(err)
		}
	}
	if list, err := tasklog.Look(dir, 100); err != nil || len(list) != 26 {
		t.Errorf("%d tasks, %v", len(list), err)
	}
}
