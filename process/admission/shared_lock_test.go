//go:build unix

package admission

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

func TestLockOfOtherUsersIsWaitedForABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := commons(t)
		var warnings []Warning
		l := open(t, through(dir), hears(&warnings))
		r := Request{Tool: "codex"}
		take := func() time.Duration {
			t.Helper()
			began := time.Now()
			c, err := l.Acquire(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Release(); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		hold := func() *os.File {
			t.Helper()
			d, err := openShared(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer d.close()
			f, err := d.lock(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		brief := hold()
		time.AfterFunc(time.Second, func() { brief.Close() })
		if took := take(); took < time.Second || len(warnings) > 0 {
			t.Errorf("did not wait for a decision of another user: %v, %v", took, warnings)
		}
		lock := hold()
		defer lock.Close()
		if took := take(); took < SharedLockTimeout || took > 2*SharedLockTimeout {
			t.Errorf("waited %v", took)
		}
		if len(warnings) != 1 || !errors.Is(warnings[0].Err, ErrSharedLocked) {
			t.Errorf("warnings: %v", warnings)
		}
		if took := take(); took > time.Second || len(warnings) != 1 {
			t.Errorf("the next decision waited %v and warned %v", took, warnings)
		}
		if err := os.Remove(filepath.Join(dir, sharedLock)); err != nil {
			t.Fatal(err)
		}
		if fresh := hold(); fresh.Close() != nil || len(warnings) != 1 {
			t.Error("a lock that was removed still binds")
		}
	})
}

func TestLockThatIsNoFileIsAWarning(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a link":      func(path string) error { return os.Symlink("/etc/hostname", path) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := commons(t)
			if err := put(filepath.Join(dir, sharedLock)); err != nil {
				t.Fatal(err)
			}
			var warnings []Warning
			l := open(t, through(dir), hears(&warnings))
			acquire(t, l, Request{})
			acquire(t, l, Request{})
			if len(warnings) != 1 || !strings.Contains(warnings[0].Text, "may overlap") {
				t.Errorf("warnings: %v", warnings)
			}
		})
	}
}

func TestWhatTheOwnerLeftIsRemovedByTheNextCommand(t *testing.T) {
	dir := commons(t)
	us, boot := os.Geteuid(), self().Boot
	week := -bootKept - time.Hour
	want := map[string]bool{} // whether it stays
	for _, f := range []struct {
		name  noteName
		age   time.Duration
		stays bool
	}{
		{noteName{boot, us, "dead", false}, 0, false},
		{noteName{boot, us, "draft", true}, 0, true},
		{noteName{boot, us, "olddraft", true}, -2 * draftKept, false},
		{noteName{"other", us, "young", false}, 0, true},
		{noteName{"other", us, "old", false}, week, false},
	} {
		path := filepath.Join(dir, f.name.String())
		at := time.Now().Add(f.age)
		if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
		want[f.name.String()] = f.stays
	}
	l := open(t, through(dir))
	if _, err := l.Holders(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); len(got) != len(want) {
		t.Errorf("to look removes: %v is left", got)
	}
	if _, err := l.Sweep(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range files(t, dir) {
		if !want[name] {
			t.Errorf("%s is left", name)
		}
		delete(want, name)
	}
	for name, stays := range want {
		if stays {
			t.Errorf("%s was removed", name)
		}
	}
}

func FuzzParseNote(f *testing.F) {
	name := noteName{boot: "b", uid: userA, id: "x"}
	for _, text := range []string{
		`{"schema":1,"boot":"b","uid":65534,"id":"x","tool":"claude","reservation_bytes":1,"current_bytes":2,"since":"2026-01-02T03:04:05Z"}`,
		`{"schema":1,"boot":"b","uid":65534,"id":"x","tool":"\u001b[2J\ud800` + strings.Repeat("é", 99) + `"}`,
		`{"schema":1,"boot":"b","uid":65534,"id":"x","reservation_bytes":9223372036854775807}`, "", "null", "\xff", "[[[[",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := parseNote(text, name)
		if err != nil {
			return
		}
		if n.Reservation < 0 || n.Reservation > maxReserved || n.Current < 0 || n.UID != userA || n.ID != "x" || n.Boot != "b" {
			t.Errorf("accepted %+v", n)
		}
		if n.Tool != cleanTool(n.Tool) || len(n.Tool) > maxNoteTool || strings.ContainsAny(n.Tool, "\x1b\n\r\x00") {
			t.Errorf("the tool %q", n.Tool)
		}
		again, err := n.encode()
		if err != nil {
			return // a date of five digits
		}
		if len(again) != noteSize {
			t.Errorf("%d bytes", len(again))
		}
		if back, err := parseNote(again, name); err != nil || back.Tool != n.Tool || back.Reservation != n.Reservation {
			t.Errorf("%+v came back as %+v (%v)", n, back, err)
		}
	})
}

func FuzzParseNoteName(f *testing.F) {
	for _, name := range []string{"b.65534.x.claim", "b.65534.x.new", "b.-1.x.claim", "b.0065534.x.claim", "b.99999999999.x.claim", "../x.1.y.claim", "lock"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		n, ok := parseNoteName(name)
		if ok && (n.String() != name || n.uid < 0 || strings.ContainsAny(name, "/\x00") || len(name) > 255) {
			t.Errorf("%q is taken for %+v", name, n)
		}
	})
}

func BenchmarkAcquireReleaseShared(b *testing.B) {
	l := open(b, through(commons(b)))
	r := Request{Tool: "codex", Headroom: func() (headroom.Reading, error) { return machine(64*limit.GiB, 0)() }}
	for b.Loop() {
		c, err := l.Acquire(b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Release(); err != nil {
			b.Fatal(err)
		}
	}
}
