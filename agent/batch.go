package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/loops"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// batch is the calls of one step. All its methods but [batch.callTool] run on the goroutine of the query. Calls begin in their order and have
// the same time limit, so an earlier call times out first.
type batch struct {
	r         *Run
	calls     []*pending
	mayNudge  bool          // a loop is reported to the model; otherwise it ends the query
	cancelled bool          // the query was ended: loops are not looked for
	maxResult int           // bytes of each result that go to the model, at most
	room      limit.Bytes   // see ResultRoom
	done      chan returned // calls whose tools returned; it has room for all, so sending never blocks
	begun     int
	running   int
	stored    int // results that are in the conversation
	found     string
}

// pending is a call of a batch, from before it begins until its result is stored.
type pending struct {
	call      Call
	started   time.Time
	cancel    context.CancelCauseFunc
	goroutine goroutineState
	silenced  bool        // guarded by the emitter: further output of the tool is dropped
	stored    *StepResult // when the call has ended
	text      string      // for the model
	cut       bool        // text was shortened
	digest    uint64      // of text
	why       string      // what ended the call, if not its tool
}

// returned is a call whose tool returned in time.
type returned struct {
	*pending
	outcome outcome
}

// outcome is the result of a tool, within its bounds.
type outcome struct {
	text, stored string
	size         int64
	failed       bool
	truncated    bool
	cut          bool
	why          string
	digest       string // of what the tool said; "" is that of text
}

// newBatch returns the batch for the calls of one step, each with an equal share of the room that the last request left for results.
func (r *Run) newBatch(calls []Call) *batch {
	b := &batch{r: r, done: make(chan returned, len(calls))}
	for _, c := range calls {
		b.calls = append(b.calls, &pending{call: c, goroutine: goroutineState{tool: c.Name}})
	}
	b.maxResult = shareOf(len(calls), r.lastFit.Limit)
	b.room = roomOf(len(calls), r.lastFit.Free)
	return b
}

// check validates the first MaxCalls calls before any of them runs, and refuses the others. If one is malformed, none runs, because the
// others may depend on it: every call gets a result that says so. stop is why the model's message ended.
func (b *batch) check(stop Stop) {
	maxCalls := b.r.a.o.Limits.MaxCalls
	var wrong []string
	for i, p := range b.calls {
		if i >= maxCalls {
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
		case i >= maxCalls:
			b.refuse(p, "refused", fmt.Sprintf("Not run: one step has at most %d calls, and this is number %d. Make it in a later step.", maxCalls, i+1))
		case len(wrong) > 0:
			b.refuse(p, "malformed", fmt.Sprintf("Not run: %s of the same step is malformed, so none of the step was run. Make all of them again.", strings.Join(wrong, ", ")))
		}
	}
}

// malformed returns an error that says for the model what is wrong with a call, nil if it is valid.
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

// refuse stores a failed result for a call that is not made. why is for the records, text for the model.
func (b *batch) refuse(p *pending, why, text string) {
	b.r.events.emit(Event{Kind: EventCall, Step: b.r.steps, Call: &p.call})
	stored, truncated := capText(text, int(b.r.a.o.Limits.MaxStepResult))
	b.finish(p, outcome{text: text, stored: stored, truncated: truncated, size: int64(len(text)), failed: true, why: why})
}

// finish stores the result of a call, counts it and emits an event. It does nothing if the call has a result. Later output of the tool is
// dropped.
func (b *batch) finish(p *pending, o outcome) {
	if p.stored != nil {
		return
	}
	b.r.events.silence(&p.silenced)
	p.text, p.cut, p.why, p.digest = o.text, o.cut, o.why, loops.Digest(cmp.Or(o.digest, o.text))
	p.stored = &StepResult{
		CallID: p.call.ID, Name: p.call.Name, Text: o.stored, Size: o.size,
		Truncated: o.truncated, Failed: o.failed, Took: duration(p.started),
	}
	if !p.started.IsZero() {
		b.running--
	}
	b.r.state.store(p.stored)
	b.r.journalCall(p)
	shown := *p.stored
	b.r.events.emit(Event{Kind: EventResult, Step: b.r.steps, Call: &p.call, Result: &shown})
}

// run makes the calls, and returns when all results are in the conversation, or with the cause when the query ends.
func (b *batch) run() error {
	defer b.cancelAll(errToolOver)
	for {
		if b.r.ctx.Err() != nil {
			return b.stop()
		}
		if err := b.storeResults(); err != nil {
			return err
		}
		if b.stored == len(b.calls) {
			return nil
		}
		b.begin()
		late := b.nextDeadline()
		select {
		case p := <-b.done:
			b.finish(p.pending, p.outcome)
		case <-late.C:
			if err := b.abandonLate(); err != nil {
				late.Stop()
				return err
			}
		case <-b.r.ctx.Done():
		}
		late.Stop()
	}
}

// begin starts the next calls, as many as may run at once, and refuses those that the gate or calls that were given up forbid.
func (b *batch) begin() {
	for b.begun < len(b.calls) && b.running < b.r.a.o.Limits.MaxParallel {
		p := b.calls[b.begun]
		b.begun++
		if p.stored != nil {
			continue
		}
		if refusal := b.r.a.abandoned.refusal(p.call.Name); refusal != "" {
			b.refuse(p, "refused", refusal)
			continue
		}
		if b.r.gate != nil {
			if text := b.r.gate(p.call); text != "" {
				b.refuse(p, "refused", text)
				continue
			}
		}
		b.running++
		b.r.calls++
		b.r.a.countCall()
		p.started = time.Now()
		// The tool does not get the context of the query itself: when that ends, the call's result is stored first, and
		// only then is the tool told.
		var ctx context.Context
		ctx, p.cancel = context.WithCancelCause(context.WithValue(context.WithoutCancel(b.r.ctx), roomKey{}, b.room))
		b.r.events.emit(Event{Kind: EventCall, Step: b.r.steps, Call: &p.call})
		go b.callTool(ctx, p)
	}
}

// nextDeadline returns a timer that fires when the oldest running call has used up its time; it fires at once if no call runs.
func (b *batch) nextDeadline() *time.Timer {
	for _, p := range b.calls[:b.begun] {
		if p.stored == nil {
			return time.NewTimer(time.Until(p.started.Add(b.r.a.o.Limits.ToolTimeout)))
		}
	}
	return time.NewTimer(0) // all have ended
}

// drain records the results of the calls that have returned by now, without waiting.
func (b *batch) drain() {
	for {
		select {
		case p := <-b.done:
			b.finish(p.pending, p.outcome)
		default:
			return
		}
	}
}

// abandonLate gives calls that have used up their time a failed result, and gives up their tools. The results are stored before the
// contexts of the tools end, so that a late answer cannot replace them.
func (b *batch) abandonLate() error {
	b.drain()
	timeout := b.r.a.o.Limits.ToolTimeout
	var late []*pending
	for _, p := range b.calls[:b.begun] {
		if p.stored == nil && time.Since(p.started) >= timeout {
			b.finishWithout(p, "timeout", fmt.Sprintf("No result: the call took longer than %v and was given up. It may have done its work, or not. Ask for less, or go on without it.", timeout))
			late = append(late, p)
		}
	}
	if err := b.storeResults(); err != nil {
		return err
	}
	for _, p := range late {
		b.r.a.abandoned.abandon(&p.goroutine)
		p.cancel(errToolTimeout)
	}
	return nil
}

// stop ends the batch because the query ends: calls without a result get a failed one, and the contexts of their tools end. It returns the
// cause, or the error of storing the results.
func (b *batch) stop() error {
	b.drain()
	cause := b.r.endCause()
	for _, p := range b.calls {
		if p.stored != nil {
			continue
		}
		text := "Not run: the query was ended before."
		if !p.started.IsZero() {
			text = "No result: the query was ended while the call ran. It may have done its work, or not."
		}
		b.finishWithout(p, "cancelled", text)
	}
	b.cancelled = true
	if err := b.storeResults(); err != nil {
		return err
	}
	b.cancelAll(cause)
	return cause
}

// finishWithout stores a failed result for a call in place of its tool's.
func (b *batch) finishWithout(p *pending, why, text string) {
	stored, truncated := capText(text, int(b.r.a.o.Limits.MaxStepResult))
	b.finish(p, outcome{text: text, stored: stored, truncated: truncated, size: 0, failed: true, why: why})
}

// cancelAll ends the contexts of all tools that were begun, and abandons those that still run.
func (b *batch) cancelAll(cause error) {
	for _, p := range b.calls {
		if p.cancel != nil {
			b.r.events.silence(&p.silenced)
			b.r.a.abandoned.abandon(&p.goroutine)
			p.cancel(cause)
		}
	}
}

// storeResults appends results to the conversation in the order of the calls, up to the first call without one.
func (b *batch) storeResults() error {
	var ms []Message
	for b.stored+len(ms) < len(b.calls) {
		p := b.calls[b.stored+len(ms)]
		if p.stored == nil {
			break
		}
		ms = append(ms, Message{Role: RoleTool, CallID: p.call.ID, Name: p.call.Name, Text: p.text, Failed: p.stored.Failed})
	}
	if len(ms) == 0 {
		return nil
	}
	if b.stored+len(ms) == len(b.calls) && !b.cancelled {
		b.detectLoop(&ms[len(ms)-1])
	}
	if err := b.r.appendMessages(ms...); err != nil {
		return err
	}
	for i := range ms {
		b.calls[b.stored+i].text = "" // it is in the conversation now
	}
	b.stored += len(ms)
	return nil
}

// detectLoop looks for repetition once all calls have ended, and notes a loop in found and in the journal. If mayNudge is set, it also
// tells the model, at the end of the last result, where every provider accepts text.
func (b *batch) detectLoop(last *Message) {
	step := make([]loops.Call, len(b.calls))
	for i, p := range b.calls {
		step[i] = loops.Call{Name: p.call.Name, Arguments: p.call.Arguments, Failed: p.stored.Failed, Result: p.digest}
	}
	found, loop := b.r.state.observeCalls(step)
	if !loop {
		return
	}
	b.found = found.Detail
	b.r.a.note(journal.AgentLoop{Agent: clip(b.r.a.o.Name), Rule: string(found.Kind), Ended: !b.mayNudge})
	if b.mayNudge {
		last.Text += "\n\n" + found.Nudge
		b.r.events.emit(Event{Kind: EventNudge, Step: b.r.steps, Text: limit.Clip(found.Nudge, int(maxPiece))})
	}
}
