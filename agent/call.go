package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// work calls the tool, in a goroutine of its own, and sends the outcome on done exactly once, whatever the tool does, unless the call was
// abandoned before.
func (b *batch) work(ctx context.Context, p *pending) {
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
	o.text = forModel(text, b.r.a.o.Room.resultBytes(b.maxResult, &out))
	o.cut = len(o.text) < len(text)
	o.stored, o.truncated = capText(text, int(b.r.a.o.Limits.MaxStepResult))
	return o
}
