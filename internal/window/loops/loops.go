// Package loops notices that a model goes round in circles: it calls tools again and again, or says the same, and nothing new comes of it.
// A [Detector] is shown calls as they end; [Find] reads them from the newest messages of a request, in any dialect.
//
// The rules: one call with one result 4 times among the last 10 (identical); A-B-A-B, A-B-C-A-B-C, or one step of several calls three times
// (cycle); one call that fails 4 times in a row, in whatever words (failing); one tool that fails in five steps in a row, whatever it is given
// (errors, for agents of our own); the same sentences at the end of an answer, or the same answer to the same words (said).
//
// A new result is progress, and so is a call that changes something in between, unless it was made before too. Calls that wait or ask how
// far something is may repeat where Options.Foreign is set. What the user says anew begins anew.
//
// A detector keeps hashes, about 2 KB of them; Find keeps nothing, and takes some 10 µs where nothing repeats. The tests plant loops of each kind in
// each dialect, and look for none in whole sessions.
package loops

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
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
	// Identical is the number of calls among those that are the same, with the same result, that make a
	// loop (4); at least 2.
	Identical int
	// Foreign is set for an agent whose tools and purpose are not known. Calls that wait, or ask how far something is, may repeat then,
	// and a tool may fail in many ways: a test that is run again after each edit does.
	Foreign bool
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
	KindFailing   Kind = "failing"   // one call fails again and again, in whatever words
	KindErrors    Kind = "errors"    // one tool fails whatever it is given
	KindSaid      Kind = "said"      // the model says the same again and again
)

// Kinds are all of them.
var Kinds = []Kind{KindIdentical, KindCycle, KindFailing, KindErrors, KindSaid}

// Finding is a loop.
type Finding struct {
	Kind   Kind
	Nudge  string // for the model
	Detail string // for people; it holds names of tools and numbers
}

// digest identifies calls and results: half of a SHA-256.
type digest [16]byte

// A seenCall is the record of a call.
type seenCall struct {
	what   digest // name, arguments and result
	call   digest // name and arguments
	name   string // at most nameBytes
	nature nature
	failed bool
}

// A step is the record of the calls that a model made at once.
type step struct {
	what  digest
	calls int
	polls bool // one of them may repeat
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
	streaks []streak // the tool that failed last at the end
	found   int64
	names   int64 // bytes of all names
}

// New makes a detector.
func New(o Options) *Detector {
	o.Window = cmp.Or(max(o.Window, 0), DefaultWindow)
	o.Identical = cmp.Or(max(o.Identical, 0), DefaultIdentical)
	o.Identical = min(max(o.Identical, 2), MaxWindow)
	o.Window = min(max(o.Window, o.Identical), MaxWindow)
	return &Detector{o: o}
}

// Observe records the calls of one step, in any order, and returns the first loop that they close; false if they close none. A loop that
// goes on is found again with every step.
func (d *Detector) Observe(calls []Call) (Finding, bool) {
	if len(calls) == 0 {
		return Finding{}, false
	}
	list := make([]seenCall, len(calls))
	for i, c := range calls {
		list[i] = digestCall(c)
	}
	// Calls of one step have no order: a model may write them in another one the next time.
	sorting.By(list, func(a, b seenCall) int { return slices.Compare(a.what[:], b.what[:]) })
	var found Finding
	note := func(f Finding, ok bool) {
		if ok && found.Kind == "" {
			found = f
		}
	}
	sum, polls := sha256.New(), false
	for _, s := range list {
		sum.Write(s.what[:])
		polls = polls || s.nature.polls()
		d.rememberCall(s)
		note(d.findIdentical())
		note(d.findFailing())
		note(d.findCycle())
	}
	d.steps = append(d.steps, step{digest(sum.Sum(nil)[:16]), len(list), polls})
	d.steps = d.steps[max(0, len(d.steps)-maxRepeatedSteps):]
	note(d.findBatch())
	if !d.o.Foreign {
		note(d.findErrors(calls))
	}
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
		int64(cap(d.streaks))*int64(unsafe.Sizeof(streak{}))
}

// rememberCall adds a call, and forgets the oldest when there are too many.
func (d *Detector) rememberCall(s seenCall) {
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

// clipName returns a name of at most nameBytes without control characters, in memory of its own.
func clipName(name string) string {
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
