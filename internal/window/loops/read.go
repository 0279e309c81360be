package loops

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/window/wire"
)

// maxRead bounds the calls of a request that are read, from the newest back: those among which a loop is looked for, and as many before
// them, to see whether it was one already.
const maxRead = 2*DefaultWindow + 4

// maxStep bounds the calls of one step; with more of them it is looked no further.
const maxStep = 128

// A Loop is a loop that the newest messages of a request close.
type Loop struct {
	Finding
	// Again is true for one that goes on: it was there before the newest calls, and whoever is told has been.
	Again bool
	// Message is the one with the newest result; -1 where the request ends with what the user says.
	Message int
	// Answered is true where the user has said something new since: nothing is left to stop.
	Answered bool
}

// Find returns the loop that the newest messages of a request close; false if they close none. It looks no further back than the newest
// message of the user: what is asked for anew may be done anew.
func Find(r *wire.Request) (Loop, bool) {
	x := reading{r: r}
	x.readSteps()
	if len(x.steps) == 0 {
		return x.repeatsAnswer()
	}
	if f, ok := x.repeatsSentence(); ok {
		return f, true
	}
	if !x.mayRepeat() {
		return Loop{}, false
	}
	return x.detectLoop()
}

// A reading holds what was read of a request's newest messages.
type reading struct {
	r      *wire.Request
	steps  [][]madeCall // newest first
	answer int          // the newest message of the model; -1
}

// madeCall is a call with its result.
type madeCall struct {
	call, result *wire.Part
	message      int    // of result
	size         int    // of what came back, in bytes of the request
	sum          uint64 // of the arguments, once it was asked for
}

// readSteps reads steps from the newest message backwards, until a message of the user or until there are enough.
func (x *reading) readSteps() {
	x.answer = -1
	n, i := 0, len(x.r.Messages)-1
	for i >= 0 && n < maxRead {
		var results []madeCall
		for ; i >= 0 && x.r.Messages[i].Role != wire.RoleAssistant; i-- {
			m := &x.r.Messages[i]
			for k := range slices.Backward(m.Parts) {
				if p := &m.Parts[k]; p.Kind == wire.Result {
					if len(results) == maxStep {
						return
					}
					results = append(results, madeCall{result: p, message: i})
				}
			}
			if m.Role == wire.RoleUser && topic.Words(x.r, i) != "" {
				for i >= 0 && x.r.Messages[i].Role != wire.RoleAssistant {
					i--
				}
				if x.answer < 0 {
					x.answer = i
				}
				return
			}
		}
		if x.answer < 0 {
			x.answer = i
		}
		var step []madeCall
		for ; i >= 0 && x.r.Messages[i].Role == wire.RoleAssistant; i-- {
			m := &x.r.Messages[i]
			for k := range slices.Backward(m.Parts) {
				if p := &m.Parts[k]; p.Kind == wire.Call {
					if at := resultOf(p, results); at >= 0 {
						c := results[at]
						results = slices.Delete(results, at, at+1)
						c.call = p
						c.size = sizeOf(c.result)
						step = append(step, c)
					}
				}
			}
		}
		if len(step) == 0 {
			return // nothing is known of what the model did here
		}
		n += len(step)
		x.steps = append(x.steps, step)
	}
}

// resultOf returns the index in results of the result of a call, by id or, where there are none, by name, the newest first; -1 if there is
// none.
func resultOf(call *wire.Part, results []madeCall) int {
	return slices.IndexFunc(results, func(m madeCall) bool {
		if call.CallID != "" || m.result.CallID != "" {
			return m.result.CallID == call.CallID
		}
		return m.result.Name == call.Name
	})
}

// sizeOf returns the size of a part's content in the request's body, in bytes.
func sizeOf(p *wire.Part) int {
	if !p.Raw.IsZero() {
		return p.Raw.Len()
	}
	n := 0
	for _, s := range p.Texts {
		n += s.Len()
	}
	for i := range p.Media {
		n += p.Media[i].Base64
	}
	return n
}

// nearly is the number of bytes by which results that are the same may differ in size: a time, the number of a process.
const nearly = 64

// mayRepeat reports whether one of the newest calls may have been made before, judged by names, sizes and a checksum. In most requests none
// was, and nothing needs to be compared.
func (x *reading) mayRepeat() bool {
	for i := range x.steps[0] {
		c := &x.steps[0][i]
		fails := isFailed(x.r, c.result)
		for k := range x.steps {
			for j := range x.steps[k] {
				o := &x.steps[k][j]
				if o != c && o.call.Name == c.call.Name && (fails || max(o.size-c.size, c.size-o.size) <= nearly) && o.argumentsSum(x.r) == c.argumentsSum(x.r) {
					return true
				}
			}
		}
	}
	return false
}

// argumentsSum returns a checksum of the arguments that does not depend on their order or on white space. It is computed once.
func (m *madeCall) argumentsSum(r *wire.Request) uint64 {
	if m.sum != 0 {
		return m.sum
	}
	m.sum = 1
	add := func(s wire.Span) {
		if s.Len() > maxLooked {
			m.sum += uint64(s.Len())
			return
		}
		for _, c := range r.Raw(s) {
			if c > ' ' {
				m.sum += uint64(c) * uint64(c)
			}
		}
	}
	if !m.call.Raw.IsZero() {
		add(m.call.Raw)
		return m.sum
	}
	for _, s := range m.call.Texts {
		add(s)
	}
	return m.sum
}

// detectLoop passes the steps in their order to a new detector, and returns the loop that the newest one closes; false if it closes none.
// Again is set if an earlier step had closed a loop already.
func (x *reading) detectLoop() (Loop, bool) {
	d := New(Options{Foreign: true})
	var found Loop
	ok, before := false, false
	for i, step := range slices.Backward(x.steps) {
		calls := make([]Call, len(step))
		for k := range step {
			c := &step[k]
			calls[k] = Call{Name: c.call.Name, Arguments: arguments(x.r, c.call), Result: resultDigest(x.r, c.result), Failed: isFailed(x.r, c.result)}
		}
		f, loop := d.Observe(calls)
		if i == 0 {
			found.Finding, ok = f, loop
		}
		before = before || loop && i > 0
	}
	found.Again, found.Message = before, newestResult(x.steps[0])
	return found, ok
}

// arguments returns the arguments of a call as the model wrote them.
func arguments(r *wire.Request, p *wire.Part) string {
	if !p.Raw.IsZero() {
		return string(r.Raw(p.Raw))
	}
	return r.Words(p)
}

var seed = maphash.MakeSeed()

// resultDigest returns a hash of a result, without values that differ each time: durations, process numbers.
func resultDigest(r *wire.Request, p *wire.Part) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	if !p.Raw.IsZero() {
		writeSteady(&h, r.Raw(p.Raw))
		return h.Sum64()
	}
	for _, s := range p.Texts {
		writeSteady(&h, r.Raw(s))
		_ = h.WriteByte(0)
	}
	for i := range p.Media {
		_, _ = h.Write(r.Raw(p.Media[i].Span))
		_ = h.WriteByte(1)
	}
	return h.Sum64()
}

// unsteady are the beginnings of what clients write into a result that is another each time: Codex ("Chunk ID", "Wall time", in older
// versions a duration in JSON) at its head, Gemini CLI ("Process Group PGID") at its end.
var unsteady = [][]byte{[]byte("Chunk ID: "), []byte("Wall time"), []byte("duration_seconds"), []byte("Process Group PGID: ")}

// edge is the number of bytes at both ends of a result that are searched for [unsteady].
const edge = 512

// writeSteady writes a literal to a hash, without the unsteady values at its beginning and end.
func writeSteady(h *maphash.Hash, text []byte) {
	head := text[:min(len(text), edge)]
	tail := text[max(len(head), len(text)-edge):]
	writeStable(h, head)
	_, _ = h.Write(text[len(head) : len(text)-len(tail)])
	writeStable(h, tail)
}

// writeStable writes a text to a hash without the values that differ each time, such as times and process numbers.
func writeStable(h *maphash.Hash, text []byte) {
	for {
		at, end := -1, 0
		for _, mark := range unsteady {
			if i := bytes.Index(text, mark); i >= 0 && (at < 0 || i < at) {
				at, end = i, i+len(mark)
			}
		}
		if at < 0 {
			_, _ = h.Write(text)
			return
		}
		_, _ = h.Write(text[:at])
		text = text[end:]
		stop := bytes.IndexAny(text, `\,}"`)
		for stop == 0 { // the end of a name in JSON
			text = text[1:]
			stop = bytes.IndexAny(text, `\,}"`)
		}
		if stop < 0 {
			return
		}
		text = text[stop:]
	}
}

// failures are beginnings of results that are errors, in dialects that do not say so.
var failures = [][]byte{[]byte("error"), []byte("traceback"), []byte("fatal:"), []byte("panic:"), []byte("failed"), []byte(`{\"error`), []byte(`{"error`), []byte("exception")}

// isFailed reports whether a result is an error, by what its provider's dialect says or by its first words.
func isFailed(r *wire.Request, p *wire.Part) bool {
	if p.Failed {
		return true
	}
	var text []byte
	switch {
	case len(p.Texts) > 0:
		text = r.Raw(p.Texts[0])
		text = bytes.TrimPrefix(text, []byte(`"`))
	case !p.Raw.IsZero():
		text = r.Raw(p.Raw)
	}
	text = bytes.ToLower(text[:min(len(text), 16)])
	return slices.ContainsFunc(failures, func(f []byte) bool { return bytes.HasPrefix(text, f) })
}
