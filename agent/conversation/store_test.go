package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/store"
)

func TestAConversationIsThereAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "dir")
	r := newRig(t, dir, Options{})
	c := r.open("s")
	same(t, "a new one", c.Messages(), nil)
	must(t, c.Append(talk[0]))
	must(t, c.Append(talk[1:4]...))
	must(t, c.Append())
	must(t, c.Append(talk[4]))
	same(t, "read while it is open", c.Messages(), talk)
	must(t, c.Close())
	must(t, c.Close())
	if err := c.Append(talk[0]); !errors.Is(err, os.ErrClosed) {
		t.Errorf("append behind the end: %v", err)
	}
	must(t, r.Close())

	again := newRig(t, dir, Options{})
	same(t, "in another store", again.messages("s"), talk)
	c = again.open("s")
	must(t, c.Replace(talk[:1]))
	same(t, "replaced", c.Messages(), talk[:1])
	must(t, c.Append(talk[4]))
	must(t, c.Close())
	same(t, "replaced and gone on with", again.messages("s"), []agent.Message{talk[0], talk[4]})
	c = again.open("s")
	must(t, c.Replace(nil))
	must(t, c.Close())
	same(t, "emptied", again.messages("s"), nil)
	if again.said.Len() > 0 || again.Stats().Damaged+again.Stats().Torn+again.Stats().Cut > 0 {
		t.Errorf("%+v\n%s", again.Stats(), again.said)
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{again.file("s"): 0o600, dir: 0o700} {
			if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
				t.Errorf("%s: %v, %v, want %v", path, fi.Mode(), err, want)
			}
		}
	}
}

func TestSessionsThatAreNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	ctx := context.Background()
	if _, err := r.Open(ctx, "nobody", true); !errors.Is(err, agent.ErrNoSession) || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("open: %v", err)
	}
	if err := r.Remove(ctx, "nobody"); !errors.Is(err, agent.ErrNoSession) {
		t.Errorf("remove: %v", err)
	}
	// Whoever opens a session and says nothing leaves nothing.
	must(t, r.open("silent").Close())
	if list, err := os.ReadDir(r.dir); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
	for id, want := range map[string]string{"": "empty", strings.Repeat("é", 129): "258 bytes", "a\xff": "not UTF-8"} {
		if _, err := r.Open(ctx, id, false); !errors.Is(err, ErrSession) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.10q: %v, want %q", id, err, want)
		}
	}
	odd := []string{"../../etc/passwd", "a/b", "CON", "a\x00b", "s", "S", strings.Repeat("\x01", MaxID), "☃"}
	for _, id := range odd {
		r.write(id, 0, talk[0])
	}
	for _, id := range odd {
		same(t, id, r.messages(id), talk[:1])
	}
	if files, err := os.ReadDir(filepath.Dir(r.dir)); err != nil || len(files) != 1 {
		t.Errorf("beside the store: %v, %v", files, err)
	}
	must(t, r.Remove(ctx, "s"))
	if _, err := r.Open(ctx, "s", true); !errors.Is(err, agent.ErrNoSession) {
		t.Errorf("a removed session is there: %v", err)
	}
	if n := r.Stats().Sessions; n != len(odd)-1 {
		t.Errorf("%d sessions, want %d", n, len(odd)-1)
	}
	must(t, r.Close())
	if _, err := r.Open(ctx, "S", false); !errors.Is(err, ErrClosed) {
		t.Errorf("open of a closed store: %v", err)
	}
	if _, err := r.List(); !errors.Is(err, ErrClosed) {
		t.Errorf("list of a closed store: %v", err)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"Options.Dir":        {},
		"MaxSessions to 1":   {Dir: "x", MaxSessions: -1},
		"MaxSession to 4K":   {Dir: "x", MaxSession: 100},
		"raise MaxBytes":     {Dir: "x", MaxBytes: 8 << 10, MaxSession: 16 << 10},
		"no bound for a con": {Dir: "x", MaxBytes: 100},
	} {
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if _, err := Open(Options{Dir: file}); err == nil {
		t.Error("a file was taken for the directory")
	}
}

func TestTheListShowsTheNewestFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{MaxSessions: 4})
	long := strings.Repeat("wörd ", 100)
	r.write("old", 3*time.Hour, agent.Message{Role: agent.RoleUser, Text: "  one\n\ttwo \x1b[31mthree\u202e\x07  "})
	r.write("mid", 2*time.Hour, talk...)
	r.write("new", time.Hour, agent.Message{Role: agent.RoleUser, Text: long})
	must(t, os.WriteFile(filepath.Join(r.dir, "README"), []byte("of somebody else"), 0o600))
	must(t, os.WriteFile(filepath.Join(r.dir, keyOf("other")+fileExt), []byte("no record\n"), 0o600))
	must(t, os.Mkdir(filepath.Join(r.dir, keyOf("dir")+fileExt), 0o700))
	data, err := os.ReadFile(r.file("mid"))
	must(t, err)
	must(t, os.WriteFile(r.file("copy"), data, 0o600)) // of another session than its name says

	list, err := r.List()
	must(t, err)
	if got := r.sessions(); got != "new mid old" {
		t.Fatalf("%s", got)
	}
	if i := list[2]; i.Title != "one two [31mthree" || i.Messages != 1 {
		t.Errorf("%+v", i)
	}
	if i := list[1]; i.Messages != len(talk) || int(i.Bytes) != len(data) || time.Since(i.Created) > time.Hour || time.Since(i.Updated) < time.Hour {
		t.Errorf("%+v", i)
	}
	if title := list[0].Title; len(title) > maxTitle || !strings.HasPrefix(title, "wörd wörd") || !strings.HasSuffix(title, "…") {
		t.Errorf("%q", title)
	}
	// The title stays that of the first question, also when that has gone.
	c := r.open("old")
	must(t, c.Replace(talk))
	must(t, c.Close())
	if list, err = r.List(); err != nil || list[0].Session != "old" || list[0].Title != "one two [31mthree" || list[0].Messages != len(talk) {
		t.Errorf("%+v, %v", list[0], err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "README")); err != nil {
		t.Error("a stranger's file was touched")
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	const sessions, writers, turns = 5, 4, 5
	var wg sync.WaitGroup
	for i := range sessions * writers {
		wg.Go(func() {
			for turn := range turns {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				c, err := r.Open(ctx, fmt.Sprint("s", i%sessions), false)
				if err == nil {
					before := len(c.Messages())
					err = c.Append(numbered(turn)...)
					if after := len(c.Messages()); after != before+2 {
						t.Errorf("%d messages became %d: somebody else writes this session too", before, after)
					}
					_ = c.Close()
				}
				cancel()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			if _, err := r.List(); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	for i := range sessions {
		if got := r.messages(fmt.Sprint("s", i)); len(got) != writers*turns*2 {
			t.Errorf("session %d has %d messages, want %d", i, len(got), writers*turns*2)
		}
	}
}

// The holder is another store, as another process would be.
func TestCloseEndsTheWaitForASession(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	c := r.open("mine")
	other := newRig(t, r.dir, Options{})
	got := make(chan error, 1)
	go func() {
		_, err := other.Open(context.Background(), "mine", false)
		got <- err
	}()
	must(t, other.Close())
	if err := <-got; !errors.Is(err, ErrClosed) {
		t.Errorf("the wait ended with %v", err)
	}
	must(t, c.Close())
}

func TestASessionIsOneAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	other := newRig(t, r.dir, Options{})
	c := r.open("mine")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough waited"))
	for _, s := range []*rig{r, other} {
		waits, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err := s.Open(waits, "mine", false)
		stop()
		if !errors.Is(err, ErrLocked) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"mine"`) || !strings.Contains(err.Error(), "by another query") {
			t.Errorf("%v", err)
		}
		if _, err := s.Open(ctx, "mine", false); err == nil || !strings.Contains(err.Error(), "enough waited") {
			t.Errorf("%v", err)
		}
		if err := s.Remove(ctx, "mine"); err == nil {
			t.Error("removed while it is open")
		}
	}
	got := make(chan error, 2)
	for _, s := range []*rig{r, other} {
		go func() {
			c, err := s.Open(context.Background(), "mine", false)
			if err == nil {
				err = c.Append(talk[0])
				err = errors.Join(err, c.Close())
			}
			got <- err
		}()
	}
	must(t, c.Append(talk[0]))
	must(t, c.Close())
	for range 2 {
		must(t, <-got)
	}
	same(t, "all three", r.messages("mine"), []agent.Message{talk[0], talk[0], talk[0]})
}

// The file of a lock is removed with its session, while others wait for it.
func TestALockThatComesAndGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var inside atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		r := newRig(t, dir, Options{})
		for range 2 {
			wg.Go(func() {
				for range 100 {
					lock, err := r.tryLock(keyOf("s"))
					if err != nil {
						t.Error(err)
					}
					if lock == nil {
						runtime.Gosched()
						continue
					}
					if inside.Add(1) != 1 {
						t.Error("two have the lock")
					}
					runtime.Gosched()
					inside.Add(-1)
					r.unlock(keyOf("s"), lock)
				}
			})
		}
	}
	wg.Wait()
}

func TestCloseWaitsForNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	c := r.open("s")
	must(t, r.Close())
	must(t, r.Close())
	must(t, c.Append(talk...)) // what is open goes on
	must(t, c.Close())
	same(t, "written behind the store's close", newRig(t, r.dir, Options{}).messages("s"), talk)
}

func TestTextThatJSONCannotHold(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	c := r.open("s")
	must(t, c.Append(agent.Message{Role: agent.RoleUser, Text: "a\xffb"}, agent.Message{Role: agent.RoleAssistant, Text: "x", Opaque: json.RawMessage("{nonsense")}))
	must(t, c.Close())
	got := r.messages("s")
	if len(got) != 2 || got[0].Text != "a�b" || got[1].Text != "x" || got[1].Opaque != nil || r.Stats().Parts != 1 {
		t.Errorf("%+v, %+v", got, r.Stats())
	}
}

func TestFilesAreReadable(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	r.write("s", 0, talk...)
	data, err := os.ReadFile(r.file("s"))
	must(t, err)
	lines := slices.Collect(bytes.Lines(data))
	if len(lines) != 1+len(talk) {
		t.Fatalf("%d lines, want %d", len(lines), 1+len(talk))
	}
	for _, line := range lines {
		if !json.Valid(line[store.Frame:]) {
			t.Errorf("%s", line)
		}
	}
}
