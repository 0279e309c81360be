package conversation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
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
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "of at most 64K") {
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
	items, err := r.survey()
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
	items, err := r.survey()
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
	if len(aside) != maxAside {
		t.Errorf("%d damaged files, want %d", len(aside), maxAside)
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

func TestATurnThatIsLargerThanItsSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{MaxSession: 16 * limit.KiB})
	c := r.open("s")
	for _, m := range turn(1, 100, 1000) {
		must(t, c.Append(m))
	}
	must(t, c.Close())
	got := r.messages("s")
	if got[0].Text != "question 1" || got[len(got)-1].Text != "answer 1" || len(got) < 10 {
		t.Errorf("%d messages from %v to %v", len(got), got[0], got[len(got)-1])
	}
	pairs(t, got)
	// All results of one step may be too much too.
	step := agent.Message{Role: agent.RoleAssistant}
	all := []agent.Message{{Role: agent.RoleUser, Text: "many"}}
	for i := range 50 {
		step.Calls = append(step.Calls, agent.Call{ID: fmt.Sprint(i), Name: "t"})
	}
	all = append(all, step)
	for i := range 50 {
		all = append(all, agent.Message{Role: agent.RoleTool, CallID: fmt.Sprint(i), Text: strings.Repeat("z", 1000)})
	}
	c = r.open("s")
	must(t, c.Replace(all))
	must(t, c.Close())
	got = r.messages("s")
	if got[0].Text != "many" || got[len(got)-1].CallID != "49" || len(got) < 5 {
		t.Errorf("%d messages from %v to %v", len(got), got[0], got[len(got)-1])
	}
	if r.onDisk() > 16<<10 {
		t.Errorf("%d bytes", r.onDisk())
	}
}

func TestAMessageThatIsTooLargeIsStoredInPart(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{MaxSession: 16 * limit.KiB})
	long := strings.Repeat("☃\x01\"", 20000)
	giant := strings.Repeat("g", 1<<20)
	for _, m := range []agent.Message{
		{Role: agent.RoleUser, Text: long},
		{Role: agent.RoleTool, CallID: "c", Name: "t", Text: long, Failed: true},
		{Role: agent.RoleAssistant, Text: "short", Opaque: []byte(`"` + giant + `"`)},
		{Role: agent.RoleAssistant, Text: "short", Calls: []agent.Call{{ID: "c", Name: "t", Arguments: `{"a":"` + giant + `"}`}}},
		{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: giant, Name: giant}}},
		{Role: agent.Role(giant), CallID: giant},
	} {
		c := r.open("s")
		before := r.Stats().Parts
		must(t, c.Append(agent.Message{Role: agent.RoleUser, Text: "q"}, m))
		must(t, c.Close())
		got := r.messages("s")
		last := got[len(got)-1]
		if r.Stats().Parts != before+1 || r.onDisk() > 16<<10 {
			t.Errorf("%+v, %d bytes", r.Stats(), r.onDisk())
		}
		switch {
		case m.Text == long:
			if last.CallID != m.CallID || last.Failed != m.Failed || !strings.HasPrefix(last.Text, "☃\x01\"☃") || !strings.HasSuffix(last.Text, fmt.Sprintf("of %d bytes are kept]", len(long))) || strings.Contains(last.Text, "�") {
				t.Errorf("%.60q … %q", last.Text, last.Text[len(last.Text)-60:])
			}
		case m.Text == "short":
			if !strings.HasPrefix(last.Text, "s") || len(last.Calls) != len(m.Calls) || len(m.Calls) > 0 && (last.Calls[0].ID != "c" || last.Calls[0].Arguments != "{}") {
				t.Errorf("%+v", last)
			}
		default:
			if last.Text != "[left out: too large]" {
				t.Errorf("%.300v", last)
			}
		}
	}
}

// A file that is larger than the bound allows, of a time when there was another, is read in
// little memory, and its newest turns are there.
func TestABoundThatWasLargerBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), Options{})
	c := r.open("s")
	var ms []agent.Message
	for i := range 200 {
		ms = append(ms, turn(i, 1, 2000)...)
	}
	must(t, c.Append(ms...))
	must(t, c.Close())
	must(t, r.Close())
	small := newRig(t, r.dir, Options{MaxSession: 16 * limit.KiB})
	c = small.open("s")
	got := c.Messages()
	pairs(t, got)
	if len(got) < 8 || got[0].Role != agent.RoleUser || got[len(got)-1].Text != "answer 199" || int(small.Stats().Cut) != len(ms)-len(got) {
		t.Errorf("%d messages from %.60v, %+v", len(got), got[0], small.Stats())
	}
	must(t, c.Append(turn(200, 1, 10)...))
	must(t, c.Close())
	got = small.messages("s")
	pairs(t, got)
	if got[len(got)-1].Text != "answer 200" || small.onDisk() > 16<<10 {
		t.Errorf("%v, %d bytes", got[len(got)-1], small.onDisk())
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

// endless is a file of records; it measures the heap while it is read.
type endless struct {
	record []byte
	left   int
	peak   uint64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, bytes.Repeat(e.record, len(p)/len(e.record)))
	if e.left -= n; e.left>>23 != (e.left+n)>>23 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		e.peak = max(e.peak, m.HeapAlloc)
	}
	return n, nil
}

func TestAGiantFileIsReadInLittleMemory(t *testing.T) {
	data, cut := appendMessage(nil, agent.Message{Role: agent.RoleUser, Text: strings.Repeat("x", 700)}, time.Now(), 1<<20)
	if cut || len(data) > 1<<10 {
		t.Fatalf("%d bytes", len(data))
	}
	in := &endless{record: data}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	in.left = 32 << 20 / ((64 << 10) / len(data) * len(data)) * ((64 << 10) / len(data) * len(data))
	f, err := read(in, 1<<20)
	must(t, err)
	var kept int
	for _, e := range f.entries {
		kept += e.size
	}
	if kept > 1<<20 || kept < 1<<19 || f.cut+len(f.entries) != int(f.good)/len(data) {
		t.Errorf("%d bytes in %d messages, %d cut", kept, len(f.entries), f.cut)
	}
	t.Logf("%d MiB of file, heap grew by %d KiB", f.good>>20, (int64(in.peak)-int64(m.HeapAlloc))>>10)
	if in.peak > m.HeapAlloc+12<<20 {
		t.Errorf("the heap grew by %d bytes", in.peak-m.HeapAlloc)
	}
}
