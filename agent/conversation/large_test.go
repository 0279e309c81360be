package conversation

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/limit"
)

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
	f, err := readFile(in, 1<<20)
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
