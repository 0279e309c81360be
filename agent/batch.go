package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/agent/internal/repeat"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// batch is the calls of one step. All of it but [batch.work] belongs to the goroutine of the
// query. Calls begin in their order and have the same time, so the earlier one is over first.
type batch struct {
	r       *Run
	calls   []*pending
	tell    bool          // the model may be told of a loop
	over    bool          // the query was ended: what its calls came to is no loop
	most    int           // bytes of each result that go to the model
	done    chan returned // what tools returned; it never blocks one
	begun   int
	running int
	kept    int // results that are in the conversation
	found   string
}

// pending is a call on its way to its result.
type pending struct {
	call   Call
	began  time.Time
	cancel context.CancelCauseFunc
	fate   fate
	over   bool        // guarded by the emitter: its pieces are nobody's any more
	stored *StepResult // when the call has ended
	text   string      // for the model
	cut    bool        // text is not all there was
	digest uint64      // of text
	why    string      // what ended the call, if not its tool
}

// returned is a call whose tool returned in time.
type returned struct {
	*pending
	came outcome
}

// outcome is what came of a tool, within its bounds.
type outcome struct {
	text, stored string
	size         int64
	failed       bool
	truncated    bool
	cut          bool
	why          string
}

func (r *Run) batch(calls []Call) *batch {
	b := &batch{r: r, done: make(chan returned, len(calls))}
	for _, c := range calls {
		b.calls = append(b.calls, &pending{call: c, fate: fate{tool: c.Name}})
	}
	// What goes to the model need not be more than its window takes, of which a token is
	// about four bytes; and not more than a conversation takes.
	room := int(maxStep)
	if r.room.Limit > 0 {
		room = min(room, 4*r.room.Limit)
	}
	b.most = max(room/len(calls), int(minResult))
	return b
}

// check looks at all calls before one of them runs. When something is wrong with one none
// runs: what the others do may build on it.
func (b *batch) check(stop Stop) {
	most := b.r.a.o.Limits.MaxCalls
	var wrong []string
	for i, p := range b.calls {
		if i >= most {
			break
		}
		if err := b.r.malformed(p.call); err != nil {
			text := limit.Clip(err.Error(), 2000)
			if stop == StopLength {
				text += " (The message was cut at the output limit: make fewer calls at once, with shorter arguments.)"
			}
			b.refuse(p, "malformed", fmt.Sprintf("Not run: %s. Make the call again, with arguments that are one JSON object as the tool's schema has it.", strings.TrimSuffix(text, ".")))
			if len(wrong) < 5 {
				wrong = append(wrong, fmt.Sprintf("call %d (%s)", i+1, p.call.Name))
			}
		}
	}
	for i, p := range b.calls {
		switch {
		case p.stored != nil:
		case i >= most:
			b.refuse(p, "refused", fmt.Sprintf("Not run: one step has at most %d calls, and this is number %d. Make it in a later step.", most, i+1))
		case len(wrong) > 0:
			b.refuse(p, "malformed", fmt.Sprintf("Not run: %s of the same step is malformed, so none of the step was run. Make all of them again.", strings.Join(wrong, ", ")))
		}
	}
}

// malformed says what is wrong with a call.
func (r *Run) malformed(c Call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the check of the call panicked: %s", limit.Clip(fmt.Sprint(p), 200))
		}
	}()
	if c.Name == "" {
		return errors.New("the call names no tool")
	}
	if r.q.Tools == nil {
		return fmt.Errorf("there is no tool %q: there are none at all", c.Name)
	}
	args := strings.TrimSpace(c.Arguments)
	if !strings.HasPrefix(args, "{") || !json.Valid([]byte(args)) {
		return fmt.Errorf("the arguments are no JSON object: %q", limit.Clip(args, 200))
	}
	return r.q.Tools.Check(c)
}

// refuse ends a call that is not begun.
func (b *batch) refuse(p *pending, why, text string) {
	b.r.events.emit(Event{Kind: EventCall, Step: b.r.steps, Call: &p.call})
	stored, truncated := capText(text, int(b.r.a.o.Limits.MaxStepResult))
	b.settle(p, outcome{text: text, stored: stored, truncated: truncated, size: int64(len(text)), failed: true, why: why})
}

// settle takes in how a call ended. From here on nothing of its tool is heard.
func (b *batch) settle(p *pending, o outcome) {
	if p.stored != nil {
		return
	}
	b.r.events.end(&p.over)
	p.text, p.cut, p.why, p.digest = o.text, o.cut, o.why, repeat.Digest(o.text)
	p.stored = &StepResult{
		CallID: p.call.ID, Name: p.call.Name, Text: o.stored, Size: o.size,
		Truncated: o.truncated, Failed: o.failed, Took: took(p.began),
	}
	if !p.began.IsZero() {
		b.running--
	}
	b.r.held.store(p.stored)
	b.r.noteCall(p)
	shown := *p.stored
	b.r.events.emit(Event{Kind: EventResult, Step: b.r.steps, Call: &p.call, Result: &shown})
}

// run makes the calls, and returns when each result is in the conversation.
func (b *batch) run() error {
	defer b.release(errToolOver)
	for {
		if b.r.ctx.Err() != nil {
			return b.stop()
		}
		if err := b.keep(); err != nil {
			return err
		}
		if b.kept == len(b.calls) {
			return nil
		}
		b.begin()
		late := b.deadline()
		select {
		case p := <-b.done:
			b.settle(p.pending, p.came)
		case <-late.C:
			if err := b.giveUp(); err != nil {
				late.Stop()
				return err
			}
		case <-b.r.ctx.Done():
		}
		late.Stop()
	}
}

// begin begins as many calls as may run at once.
func (b *batch) begin() {
	for b.begun < len(b.calls) && b.running < b.r.a.o.Limits.MaxParallel {
		p := b.calls[b.begun]
		b.begun++
		if p.stored != nil {
			continue
		}
		if no := b.r.a.given.admits(p.call.Name); no != "" {
			b.refuse(p, "refused", no)
			continue
		}
		b.running++
		b.r.calls++
		b.r.a.called()
		p.began = time.Now()
		// The context of the query must not reach the tool by itself: what it ends has its
		// result first.
		var ctx context.Context
		ctx, p.cancel = context.WithCancelCause(context.WithoutCancel(b.r.ctx))
		b.r.events.emit(Event{Kind: EventCall, Step: b.r.steps, Call: &p.call})
		go b.work(ctx, p)
	}
}

// deadline is the moment at which the earliest call has had its time.
func (b *batch) deadline() *time.Timer {
	for _, p := range b.calls[:b.begun] {
		if p.stored == nil {
			return time.NewTimer(time.Until(p.began.Add(b.r.a.o.Limits.ToolTimeout)))
		}
	}
	return time.NewTimer(0) // all have ended
}

// drain takes in what has come by now.
func (b *batch) drain() {
	for {
		select {
		case p := <-b.done:
			b.settle(p.pending, p.came)
		default:
			return
		}
	}
}

// giveUp ends the calls that had their time: their results are in the conversation before
// their tools are told.
func (b *batch) giveUp() error {
	b.drain()
	timeout := b.r.a.o.Limits.ToolTimeout
	var late []*pending
	for _, p := range b.calls[:b.begun] {
		if p.stored == nil && time.Since(p.began) >= timeout {
			b.end(p, "timeout", fmt.Sprintf("No result: the call took longer than %v and was given up. It may have done its work, or not. Ask for less, or go on without it.", timeout))
			late = append(late, p)
		}
	}
	if err := b.keep(); err != nil {
		return err
	}
	for _, p := range late {
		b.r.a.given.giveUp(&p.fate)
		p.cancel(errToolTimeout)
	}
	return nil
}

// stop ends all calls because the query ends.
func (b *batch) stop() error {
	b.drain()
	cause := b.r.ended()
	for _, p := range b.calls {
		if p.stored != nil {
			continue
		}
		text := "Not run: the query was ended before."
		if !p.began.IsZero() {
			text = "No result: the query was ended while the call ran. It may have done its work, or not."
		}
		b.end(p, "cancelled", text)
	}
	b.over = true
	if err := b.keep(); err != nil {
		return err
	}
	b.release(cause)
	return cause
}

// end ends a call in the place of its tool.
func (b *batch) end(p *pending, why, text string) {
	stored, truncated := capText(text, int(b.r.a.o.Limits.MaxStepResult))
	b.settle(p, outcome{text: text, stored: stored, truncated: truncated, size: 0, failed: true, why: why})
}

// release ends the contexts of all tools that run. It comes last, whatever happened.
func (b *batch) release(cause error) {
	for _, p := range b.calls {
		if p.cancel != nil {
			b.r.events.end(&p.over)
			b.r.a.given.giveUp(&p.fate)
			p.cancel(cause)
		}
	}
}

// keep puts the results into the conversation, in the order of the calls, as far as there
// are some.
func (b *batch) keep() error {
	var ms []Message
	for b.kept+len(ms) < len(b.calls) {
		p := b.calls[b.kept+len(ms)]
		if p.stored == nil {
			break
		}
		ms = append(ms, Message{Role: RoleTool, CallID: p.call.ID, Name: p.call.Name, Text: p.text, Failed: p.stored.Failed})
	}
	if len(ms) == 0 {
		return nil
	}
	if b.kept+len(ms) == len(b.calls) && !b.over {
		b.look(&ms[len(ms)-1])
	}
	if err := b.r.keep(ms...); err != nil {
		return err
	}
	for i := range ms {
		b.calls[b.kept+i].text = "" // it is in the conversation now
	}
	b.kept += len(ms)
	return nil
}

// look looks for loops when all calls have ended. The words about one go to the model behind
// the last result: every provider takes them there.
func (b *batch) look(last *Message) {
	step := make([]repeat.Call, len(b.calls))
	for i, p := range b.calls {
		step[i] = repeat.Call{Name: p.call.Name, Arguments: p.call.Arguments, Failed: p.stored.Failed, Result: p.digest}
	}
	found, loop := b.r.held.observe(step)
	if !loop {
		return
	}
	b.found = found.Detail
	b.r.a.note(journal.AgentLoop{Agent: clip(b.r.a.o.Name), Rule: string(found.Kind), Ended: !b.tell})
	if b.tell {
		last.Text += "\n\n" + found.Nudge
		b.r.events.emit(Event{Kind: EventNudge, Step: b.r.steps, Text: limit.Clip(found.Nudge, int(maxPiece))})
	}
}
