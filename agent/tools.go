package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

// Tools are the tools of an agent. Package toolbox makes them from MCP servers and Go functions. All methods may be called from any
// goroutine.
type Tools interface {
	// List returns the tools, in a stable order, for the sake of providers' caches.
	List(ctx context.Context) ([]ToolSpec, error)
	// Check returns an error, for the model to read, if a call is invalid, without making it: for an
	// unknown tool, or arguments that its schema does not allow.
	Check(c Call) error
	// Call makes a call. chunk is called with output that comes in pieces, for people to see; it is
	// never nil. An error becomes the call's result, marked as failed. When ctx ends, Call should
	// return soon; the agent does not wait for it.
	Call(ctx context.Context, c Call, chunk func(string)) (Output, error)
}

// Output is the answer of a tool.
type Output struct {
	// Text is for the model: the whole output, or a page of it and how to get the rest.
	Text   string
	Failed bool
	// Size is the size of the whole output in bytes; 0 means len(Text).
	Size int64
	// Digest is equal for results with the same content; "" means the digest of Text. A tool sets it if its Text differs each time
	// although nothing is new, as a page with a new handle. Equal results again and again are a loop, which is stopped.
	Digest string
}

type roomKey struct{}

// ResultRoom returns, from the context of a call, for how many bytes of result text the model has room: half of what is free in the window
// before room is made, shared by the calls of the step, and at least 10,000 bytes; 0 outside of a call. Answer a larger result with a page
// of that size.
func ResultRoom(ctx context.Context) limit.Bytes {
	room, _ := ctx.Value(roomKey{}).(limit.Bytes)
	return room
}

type sessionKey struct{}

// session identifies a conversation of an agent; one without a name has the query's own mark.
type session struct {
	agent *Agent
	name  string
	query *byte
}

// withSession returns ctx with the session of a query, for its tools. A query without a name counts as a session of its own.
func withSession(ctx context.Context, a *Agent, name string) context.Context {
	s := session{agent: a, name: name}
	if name == "" {
		s.query = new(byte)
	}
	return context.WithValue(ctx, sessionKey{}, s)
}

// SessionOf returns a key for the conversation that a call belongs to, from the context of the call: it is equal for all calls of one
// session of one agent, and for all calls of one query without a session. It returns nil outside of a query.
func SessionOf(ctx context.Context) any { return ctx.Value(sessionKey{}) }

// callTool calls the tool and sends the outcome on done exactly once, also if the tool panics or exits its goroutine. It sends nothing if
// the call was given up before. It runs in a goroutine of its own.
func (b *batch) callTool(ctx context.Context, p *pending) {
	// This stands when the tool calls runtime.Goexit: then there is no value to recover.
	came := outcome{text: "The tool broke off without a result.", failed: true, why: "panic"}
	came.size = int64(len(came.text))
	came.stored, came.truncated = capText(came.text, int(b.r.a.o.Limits.MaxStepResult))
	defer func() {
		if v := recover(); v != nil {
			came = b.outcome(Output{Text: fmt.Sprintf("The tool failed by a bug of its own: %s", limit.Clip(fmt.Sprint(v), 500)), Failed: true}, nil)
			came.why = "panic"
		}
		if b.r.a.abandoned.returned(&p.goroutine) {
			b.done <- returned{p, came}
		}
	}()
	out, err := b.r.q.Tools.Call(ctx, p.call, func(text string) {
		b.r.events.withUnsilenced(&p.silenced, func(emit func(Event)) {
			pieces(strings.ToValidUTF8(text, "\uFFFD"), func(piece string) {
				emit(Event{Kind: EventChunk, Step: b.r.steps, Call: &p.call, Text: piece})
			})
		})
	})
	came = b.outcome(out, err)
}

// outcome returns the result of a tool, shortened to its bounds, so that the rest can be freed.
func (b *batch) outcome(out Output, err error) outcome {
	text := out.Text
	if err != nil {
		text = err.Error()
		if out.Text != "" {
			text = out.Text + "\n" + text
		}
	}
	o := outcome{digest: out.Digest, size: max(out.Size, int64(len(text))), failed: out.Failed || err != nil}
	text = legible(text)
	o.text = cutForModel(text, b.r.a.o.Room.resultBytes(b.maxResult, &out))
	o.cut = len(o.text) < len(text)
	o.stored, o.truncated = capText(text, int(b.r.a.o.Limits.MaxStepResult))
	return o
}

// cutMarker is appended to a stored result that was cut.
const cutMarker = "[truncated]"

// noOutput is sent to the model in place of an empty result: some providers refuse a message without text.
const noOutput = "(no output)"

// capText cuts a text to n bytes, the marker included, and reports whether it did. A cut text does not keep the memory of the rest alive.
func capText(text string, n int) (capped string, truncated bool) {
	if len(text) <= n {
		return text, false
	}
	return limit.Clip(text, n-len(cutMarker)) + cutMarker, true
}

// legible returns a text as valid UTF-8; for binary data a note with its size and first bytes.
func legible(text string) string {
	if binary(text) {
		return fmt.Sprintf("(binary, %d bytes, beginning with % x)", len(text), text[:min(len(text), 16)])
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// binary reports whether a text is binary data: its first 8 KiB hold a zero byte, or more than an eighth of them are control characters or
// invalid UTF-8. Fewer may be another encoding of text.
func binary(text string) bool {
	const looked = 8 << 10
	head := text[:min(len(text), looked)]
	odd := 0
	for i, w := 0, 0; i < len(head); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(head[i:])
		switch {
		case r == 0:
			return true
		case r == utf8.RuneError && w == 1 && len(head)-i >= utf8.UTFMax:
			odd++
		case r < ' ' && !strings.ContainsRune("\t\n\r\v\f\b\x1b\x07", r):
			odd++
		}
	}
	return odd*8 > len(head)
}

// pieces calls yield with successive pieces of a text, of at most maxPiece bytes each, cut between runes.
func pieces(text string, yield func(string)) {
	for len(text) > 0 {
		piece := text[:limit.Boundary(text, min(len(text), int(maxPiece)))]
		yield(piece)
		text = text[len(piece):]
	}
}

// clip returns a name shortened to 64 bytes, for an event.
func clip(name string) string { return limit.Clip(name, 64) }

// cutForModel returns at most maxBytes of a result for the model: its beginning and end, and between them a note with the number of bytes
// left out. "" becomes noOutput.
func cutForModel(text string, maxBytes int) string {
	if text == "" {
		return noOutput
	}
	return limit.Cut(text, maxBytes, func(cut int) string {
		return fmt.Sprintf("\n[%d bytes left out here: the result is too large for one message]\n", cut)
	})
}

// abandonedCalls counts the calls whose tools did not return in time. A tool may run for ever, because nothing in Go ends a goroutine from
// outside, so their number is bounded for each tool and for all.
type abandonedCalls struct {
	leaked func(tool string, still int) // called when a tool still runs leakGrace after its call was abandoned

	mu    sync.Mutex
	still map[string]int // abandoned calls that still run, by tool; no entry is 0
	total int            // of still
	late  int64          // abandoned calls whose tools returned later
}

// goroutineState is the state of the goroutine in which a tool or a model runs. It is guarded by the lock of abandonedCalls.
type goroutineState struct {
	tool                string
	returned, abandoned bool
	grace               *time.Timer
}

// refusal returns the text for the model that says why no further call of a tool is begun, because too many abandoned ones still run; "" if
// one may be begun.
func (g *abandonedCalls) refusal(tool string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.still[tool]; n >= maxAbandonedTool {
		return fmt.Sprintf("Not run: %d earlier calls of %s never came to an end and still run. It can be called again when they end. Go on without it.", n, tool)
	}
	if g.total >= maxAbandoned {
		return fmt.Sprintf("Not run: %d earlier calls never came to an end and still run. Tools can be called again when they end. Answer with what is there.", g.total)
	}
	return ""
}

// abandon counts a call as abandoned, unless its tool has returned.
func (g *abandonedCalls) abandon(f *goroutineState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.returned || f.abandoned {
		return
	}
	f.abandoned = true
	if g.still == nil {
		g.still = map[string]int{}
	}
	g.still[f.tool]++
	g.total++
	f.grace = time.AfterFunc(leakGrace, func() {
		g.mu.Lock()
		ended, still := f.returned, g.total
		g.mu.Unlock()
		if !ended {
			g.leaked(cmp.Or(f.tool, "(model)"), still)
		}
	})
}

// returned records that a tool has returned. It returns false if its call was given up before: then the outcome is not wanted, and the call
// no longer counts as running.
func (g *abandonedCalls) returned(f *goroutineState) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	f.returned = true
	if !f.abandoned {
		return true
	}
	f.grace.Stop()
	g.late++
	g.total--
	if g.still[f.tool]--; g.still[f.tool] == 0 {
		delete(g.still, f.tool)
	}
	return false
}

// counts returns how many abandoned calls have returned after all, and how many still run.
func (g *abandonedCalls) counts() (late, leaked int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.late, int64(g.total)
}
