package repeat

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// The defaults of [Options].
const (
	DefaultWindow    = 10
	DefaultIdentical = 4
)

const (
	// MaxWindow bounds Options.Window and Options.Identical.
	MaxWindow = 1000
	// MaxTools bounds the tools whose failures are counted; the one that failed longest ago goes.
	MaxTools = 64
	// MaxArguments bounds the arguments that are compared as JSON; longer ones are compared as text.
	MaxArguments limit.Bytes = 256 << 10

	// A cycle has up to longest calls, and is one when it has come twice.
	maxCycle = 3
	// maxRepeatedSteps is the number of times in a row that make a step of several calls a loop.
	maxRepeatedSteps = 3
	// errorSteps is the number of steps in a row with a failure of one tool that are a finding. After a finding the model gets
	// errorGrace more.
	errorSteps = 5
	errorGrace = 2
	// nameBytes bounds the part of a name that is kept.
	nameBytes = 64
)

// Options bound a [Detector]. Zero values mean the defaults.
type Options struct {
	// Window is the number of calls that are remembered (10); at least Identical.
	Window int
	// Identical is the number of calls in a row that are the same, with the same result, that make a
	// loop (4); at least 2.
	Identical int
}

// Call is a call of a tool that has ended.
type Call struct {
	Name      string
	Arguments string // as the model wrote them
	Result    uint64 // a [Digest] of what came back
	Failed    bool
}

// Kind is the rule that a loop was found by.
type Kind string

// The kinds.
const (
	KindIdentical Kind = "identical" // one call again and again
	KindCycle     Kind = "cycle"     // A-B-A-B, A-B-C-A-B-C
	KindErrors    Kind = "errors"    // one tool fails whatever it is given
)

// Finding is a loop.
type Finding struct {
	Kind   Kind
	Nudge  string // for the model
	Detail string // for people; it holds names of tools and numbers
}

// digest identifies calls and results: half of a SHA-256.
type digest [16]byte

// A seen call is all that is kept of a call.
type seenCall struct {
	what digest // name, arguments and result
	name string // at most nameBytes
}

// A step is all that is kept of a step.
type step struct {
	what  digest
	calls int
}

// A streak counts the steps in a row in which a tool failed.
type streak struct {
	name  string // at most nameBytes
	tool  digest
	steps int
}

// Detector looks for loops in the calls of one query. It belongs to one goroutine.
type Detector struct {
	o       Options
	calls   []seenCall // newest last
	steps   []step
	failing []streak // that failed last at the end
	found   int64
	names   int64 // bytes of all names
}

// New makes a detector.
func New(o Options) *Detector {
	if o.Window <= 0 {
		o.Window = DefaultWindow
	}
	if o.Identical <= 0 {
		o.Identical = DefaultIdentical
	}
	o.Identical = min(max(o.Identical, 2), MaxWindow)
	o.Window = min(max(o.Window, o.Identical), MaxWindow)
	return &Detector{o: o}
}

// Observe takes in the calls of one step, in any order, and tells the first loop that they close.
// A loop that goes on is found again with every step.
func (d *Detector) Observe(calls []Call) (Finding, bool) {
	if len(calls) == 0 {
		return Finding{}, false
	}
	list := make([]seenCall, len(calls))
	for i, c := range calls {
		list[i] = seenCall{what: digestCall(c), name: clip(c.Name)}
	}
	// Calls of one step have no order: a model may write them in another one the next time.
	sorting.By(list, func(a, b seenCall) int { return slices.Compare(a.what[:], b.what[:]) })
	var found Finding
	note := func(f Finding, ok bool) {
		if ok && found.Kind == "" {
			found = f
		}
	}
	sum := sha256.New()
	for _, s := range list {
		sum.Write(s.what[:])
		d.remember(s)
		note(d.identical())
		note(d.cycle())
	}
	d.steps = append(d.steps, step{digest(sum.Sum(nil)[:16]), len(list)})
	d.steps = d.steps[max(0, len(d.steps)-maxRepeatedSteps):]
	note(d.batch())
	note(d.errors(calls))
	if found.Kind == "" {
		return Finding{}, false
	}
	d.found++
	return found, true
}

// Found returns the number of findings.
func (d *Detector) Found() int64 { return d.found }

// Bytes returns the memory of the detector.
func (d *Detector) Bytes() int64 {
	return int64(unsafe.Sizeof(*d)) + d.names +
		int64(cap(d.calls))*int64(unsafe.Sizeof(seenCall{})) +
		int64(cap(d.steps))*int64(unsafe.Sizeof(step{})) +
		int64(cap(d.failing))*int64(unsafe.Sizeof(streak{}))
}

// remember adds a call, and forgets the oldest when there are too many.
func (d *Detector) remember(s seenCall) {
	if d.calls == nil {
		d.calls = make([]seenCall, 0, d.o.Window)
	}
	if len(d.calls) == d.o.Window {
		d.names -= int64(len(d.calls[0].name))
		d.calls = slices.Delete(d.calls, 0, 1)
	}
	d.names += int64(len(s.name))
	d.calls = append(d.calls, s)
}

// identical looks for one call again and again.
func (d *Detector) identical() (Finding, bool) {
	n := d.o.Identical
	if len(d.calls) < n {
		return Finding{}, false
	}
	last := d.calls[len(d.calls)-n:]
	for _, s := range last[1:] {
		if s.what != last[0].what {
			return Finding{}, false
		}
	}
	name := last[0].name
	return Finding{
		Kind:   KindIdentical,
		Nudge:  fmt.Sprintf("You called %s %d times in a row with the same arguments, and the result was the same each time. Calling it again will change nothing. %s", name, n, advice),
		Detail: fmt.Sprintf("%s was called %d times in a row with the same arguments and the same result", name, n),
	}, true
}

// cycle looks for a few calls that come twice in the same order.
func (d *Detector) cycle() (Finding, bool) {
	for n := 2; n <= maxCycle && 2*n <= len(d.calls); n++ {
		last := d.calls[len(d.calls)-2*n:]
		same, differ := true, false
		for i := range n {
			same = same && last[i].what == last[n+i].what
			differ = differ || last[i].what != last[0].what
		}
		if same && differ {
			return cycleOf(last[:n], 2), true
		}
	}
	return Finding{}, false
}

// batch looks for a step of several calls that comes again and again.
func (d *Detector) batch() (Finding, bool) {
	if len(d.steps) < maxRepeatedSteps || d.steps[0].calls < 2 {
		return Finding{}, false
	}
	for _, s := range d.steps[1:] {
		if s.what != d.steps[0].what {
			return Finding{}, false
		}
	}
	n := min(d.steps[0].calls, len(d.calls))
	return cycleOf(d.calls[len(d.calls)-n:], maxRepeatedSteps), true
}

// cycleOf returns a finding about calls that came so many times.
func cycleOf(calls []seenCall, times int) Finding {
	const maxShown = 4
	var names []string
	for _, s := range calls[:min(len(calls), maxShown)] {
		names = append(names, s.name)
	}
	list := strings.Join(names, ", ")
	if len(calls) > maxShown {
		list += ", …"
	}
	return Finding{
		Kind: KindCycle,
		Nudge: fmt.Sprintf("You made the same calls (%s) %d times over, with the same arguments, and their results were the same each time. Making them again will change nothing. %s",
			list, times, advice),
		Detail: fmt.Sprintf("the same calls (%s) were made %d times over, with the same arguments and the same results", list, times),
	}
}

// errors looks for a tool that fails whatever it is given.
func (d *Detector) errors(calls []Call) (found Finding, ok bool) {
	type sum struct {
		name string
		tool digest
		well bool
	}
	var tools []sum
	at := map[digest]int{}
	for _, c := range calls {
		id := digestOf("tool", c.Name)
		i, known := at[id]
		if !known {
			i = len(tools)
			at[id] = i
			tools = append(tools, sum{name: clip(c.Name), tool: id})
		}
		tools[i].well = tools[i].well || !c.Failed
	}
	for _, t := range tools {
		s := streak{name: t.name, tool: t.tool}
		if i := slices.IndexFunc(d.failing, func(s streak) bool { return s.tool == t.tool }); i >= 0 {
			s = d.failing[i]
			d.forget(i)
		}
		if t.well {
			continue // a success ends the streak
		}
		s.steps++
		if s.steps >= errorSteps {
			if !ok {
				found, ok = errorsOf(s), true
			}
			s.steps = errorSteps - errorGrace
		}
		if len(d.failing) == MaxTools {
			d.forget(0)
		}
		d.names += int64(len(s.name))
		d.failing = append(d.failing, s)
	}
	return found, ok
}

func (d *Detector) forget(i int) {
	d.names -= int64(len(d.failing[i].name))
	d.failing = slices.Delete(d.failing, i, i+1)
}

func errorsOf(s streak) Finding {
	return Finding{
		Kind:   KindErrors,
		Nudge:  fmt.Sprintf("Every call of %s has failed for the last %d steps, with whatever arguments. Another guess will most likely fail too. Read what the errors say. %s", s.name, s.steps, advice),
		Detail: fmt.Sprintf("every call of %s failed in %d steps in a row", s.name, s.steps),
	}
}

// advice ends each nudge.
const advice = "Do something else, or answer the user now with what you know, and say what is missing."

// clip returns a name as it is kept and shown, in memory of its own.
func clip(name string) string {
	return strings.Clone(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, limit.Short(name, nameBytes+len(limit.Ellipsis))))
}

// Digest returns the hash by which results are compared.
func Digest(text string) uint64 {
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(text), len(text)))
	return binary.LittleEndian.Uint64(sum[:8])
}
