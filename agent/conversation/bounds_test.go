package conversation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/limit"
)

func TestTheOldestSessionsGoWhenThereAreTooMany(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{MaxSessions: 3})
	for i, s := range []string{"a", "b", "c"} {
		r.write(s, time.Duration(3-i)*time.Hour, talk...)
	}
	used := r.open("a") // the oldest, but in use
	r.write("d", 0, talk...)
	if got := r.sessions(); got != "d c a" {
		t.Errorf("%s", got)
	}
	if s := r.Stats(); s.Evicted != 1 || s.Sessions != 3 || r.events("agent.sessions_evicted", `"count"`) != 1 {
		t.Errorf("%+v", s)
	}
	c, d := r.open("c"), r.open("d")
	e := r.open("e")
	err := e.Append(talk...)
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), `session "e"`) || !strings.Contains(err.Error(), "3 are in use, of at most 3") {
		t.Errorf("%v", err)
	}
	must(t, c.Close())
	must(t, e.Append(talk...))
	must(t, errors.Join(e.Close(), d.Close(), used.Close()))
	if got := r.sessions(); got != "e d a" {
		t.Errorf("%s", got)
	}
	// Their locks have gone with them.
	if locks, _ := filepath.Glob(filepath.Join(r.dir, "*"+lockExt)); len(locks) != 3 {
		t.Errorf("locks: %v", locks)
	}
	// A tighter bound counts from the next start on.
	must(t, r.Close())
	if got := newRig(t, r.dir, Options{MaxSessions: 1}).sessions(); got != "e" {
		t.Errorf("%s", got)
	}
}

func TestTheOldestSessionsGoWhenTheyAreTooLarge(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{MaxBytes: 64 * limit.KiB, MaxSession: 32 * limit.KiB})
	big := agent.Message{Role: agent.RoleUser, Text: strings.Repeat("x", 7000)}
	for i := range 20 {
		r.write(fmt.Sprint("s", i), time.Duration(100-i)*time.Minute, big, big)
		if got := r.onDisk(); got > 64<<10 {
			t.Fatalf("%d bytes after session %d", got, i)
		}
	}
	if got := r.sessions(); got != "s19 s18 s17 s16" {
		t.Errorf("%s", got)
	}
	if s := r.Stats(); s.Evicted != 16 || int64(s.Bytes) != r.onDisk() || r.events("agent.sessions_evicted", `"bytes"`) == 0 {
		t.Errorf("%+v, %d on the disk", s, r.onDisk())
	}
	// A session in use gets no room that others in use have.
	var open []agent.Conversation
	for i := range 3 {
		c := r.open(fmt.Sprint("s", 16+i))
		must(t, c.Append(big))
		open = append(open, c)
	}
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = open[i%3].Append(agent.Message{Role: agent.RoleUser, Text: strings.Repeat("y", 300)})
		if got := r.onDisk(); got > 64<<10 {
			t.Fatalf("%d bytes", got)
		}
	}
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "of at most 64 KiB") {
		t.Errorf("%v", err)
	}
	for i, c := range open {
		must(t, c.Close())
		if got := r.messages(fmt.Sprint("s", 16+i)); len(got) < 3 {
			t.Errorf("%d messages", len(got))
		}
	}
}

// onDisk adds up what the store is accountable for.
func (r *rig) onDisk() (total int64) {
	r.t.Helper()
	items, err := r.listFiles()
	must(r.t, err)
	for _, it := range items {
		total += it.size
	}
	return total
}

func TestOldSessionsGo(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{MaxAge: time.Hour})
	r.write("old", 2*time.Hour, talk...)
	r.write("older", 3*time.Hour, talk...)
	r.write("young", 30*time.Minute, talk...)
	if got := r.sessions(); got != "young" {
		t.Errorf("%s", got)
	}
	if _, err := r.Open(context.Background(), "older", true); !errors.Is(err, agent.ErrNoSession) {
		t.Errorf("%v", err)
	}
	// One that nobody came by to remove is as good as gone.
	r.write("young", 90*time.Minute, talk...)
	if _, err := r.Open(context.Background(), "young", true); !errors.Is(err, agent.ErrNoSession) {
		t.Errorf("%v", err)
	}
	r.write("young", 0, talk...)
	r.write("new", 0, talk...)
	if s := r.Stats(); s.Evicted != 3 || s.Sessions != 2 || r.events("agent.sessions_evicted", `"age"`) != 3 {
		t.Errorf("%+v", s)
	}
	// What was used since it was listed stays.
	items, err := r.listFiles()
	must(t, err)
	r.write("new", 10*time.Minute, talk...)
	for _, it := range items {
		if it.key == keyOf("new") && r.evict(it) {
			t.Error("a session went that was used a moment ago")
		}
	}
	forever := newRig(t, t.TempDir(), Options{MaxAge: -1})
	forever.write("old", 10*365*24*time.Hour, talk...)
	forever.write("new", 0, talk...)
	if got := forever.sessions(); got != "new old" {
		t.Errorf("%s", got)
	}
}

func TestDamagedFilesAreBoundedToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{MaxBytes: 64 * limit.KiB, MaxSession: 16 * limit.KiB})
	for i := range 20 {
		must(t, os.WriteFile(r.file("s"), []byte(strings.Repeat("y", 300*(i%2+1))+"\n"), 0o600))
		r.write("s", 0, talk...)
		must(t, r.Remove(context.Background(), "s"))
	}
	aside, err := filepath.Glob(filepath.Join(r.dir, "*"+damagedExt+"*"))
	must(t, err)
	if len(aside) != store.KeptDamaged {
		t.Errorf("%d damaged files, want %d", len(aside), store.KeptDamaged)
	}
	if r.Stats().Damaged != 20 || !strings.Contains(r.said.String(), "a damaged file of a conversation was removed") {
		t.Errorf("%+v", r.Stats())
	}
}

// turn is a question, calls and results, and an answer.
func turn(i, calls, size int) []agent.Message {
	ms := []agent.Message{{Role: agent.RoleUser, Text: fmt.Sprint("question ", i)}}
	for c := range calls {
		id := fmt.Sprint(i, "-", c)
		ms = append(ms,
			agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: id, Name: "t", Arguments: "{}"}}},
			agent.Message{Role: agent.RoleTool, CallID: id, Name: "t", Text: strings.Repeat("r", size)})
	}
	return append(ms, agent.Message{Role: agent.RoleAssistant, Text: fmt.Sprint("answer ", i)})
}

// pairs holds that every result has its call and every call its result.
func pairs(t *testing.T, ms []agent.Message) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range ms {
		for _, c := range m.Calls {
			open[c.ID] = true
		}
		if m.Role == agent.RoleTool && !open[m.CallID] {
			t.Errorf("message %d is the result of a call that is not there: %s", i, m.CallID)
		}
		if m.Role == agent.RoleTool {
			delete(open, m.CallID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without a result: %v", open)
	}
}

func TestASessionLosesItsOldestTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{MaxSession: 16 * limit.KiB})
	c := r.open("s")
	said := 0
	for i := range 25 {
		for _, m := range turn(i, 2, 900) {
			must(t, c.Append(m))
			said++
			if fi, err := os.Stat(r.file("s")); err != nil || fi.Size() > 16<<10 {
				t.Fatalf("%d bytes, %v", fi.Size(), err)
			}
		}
		got := c.Messages()
		if got[0].Role != agent.RoleUser || got[len(got)-1].Text != fmt.Sprint("answer ", i) {
			t.Fatalf("after turn %d: from %v to %v", i, got[0], got[len(got)-1])
		}
		pairs(t, got)
		if int(r.Stats().Cut) != said-len(got) {
			t.Fatalf("%d of %d are there, %d are counted as gone", len(got), said, r.Stats().Cut)
		}
	}
	must(t, c.Close())
	got := r.messages("s")
	if len(got) < 6 || r.events("agent.session_cut", "") == 0 || int64(r.Stats().Bytes) != r.onDisk() {
		t.Errorf("%d messages, %+v", len(got), r.Stats())
	}
	list, err := r.List()
	if err != nil || list[0].Title != "question 0" || list[0].Messages != len(got) {
		t.Errorf("%+v, %v", list, err)
	}
}

// Two processes that share a directory stay within its bounds together, but for what each
// may write until it looks again: a 64th.
func TestStoresShareTheBounds(t *testing.T) {
	t.Parallel()
	o := Options{MaxBytes: 256 * limit.KiB, MaxSession: 64 * limit.KiB, MaxSessions: 1000}
	dir := t.TempDir()
	a, b := newRig(t, dir, o), newRig(t, dir, o)
	for i := range 25 {
		for _, r := range []*rig{a, b} {
			r.write(fmt.Sprintf("%p-%d", r, i), 0, turn(i, 1, 10_000)...)
			if got := a.onDisk(); got > 264<<10 {
				t.Fatalf("%d bytes", got)
			}
		}
	}
	if a.Stats().Evicted == 0 || b.Stats().Evicted == 0 {
		t.Errorf("%+v, %+v", a.Stats(), b.Stats())
	}
	// So they do while sessions grow that are there already.
	dir, o.MaxSession = t.TempDir(), 128*limit.KiB
	a, b = newRig(t, dir, o), newRig(t, dir, o)
	for i := range 8 {
		a.write(fmt.Sprint("old", i), time.Hour, turn(i, 1, 15000)...)
	}
	x, y := a.open("x"), b.open("y")
	for i := range 30 {
		must(t, errors.Join(x.Append(turn(i, 1, 2500)...), y.Append(turn(i, 1, 2500)...)))
		if got := a.onDisk(); got > 264<<10 {
			t.Fatalf("%d bytes after %d turns", got, i)
		}
	}
	must(t, errors.Join(x.Close(), y.Close()))
}
