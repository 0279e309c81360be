package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/eventqueue"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/a2a/tasklog"
)

func init() {
	register("agent", "the bounded loop against a loop without bounds, and its event log against the SDK's queue (20 s)", agentBench)
}

const (
	agentQueries = 1000
	agentResult  = 1 << 20 // bytes of every second query's result
)

// benchModel calls a tool in its first step and answers in its second. It costs nothing, so
// that what is measured is the loop.
type benchModel struct{}

func (benchModel) Info() agent.ModelInfo {
	return agent.ModelInfo{Provider: "openai", Name: "bench", Window: 200_000}
}

func (benchModel) Generate(_ context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == agent.RoleUser {
		call := agent.Call{ID: fmt.Sprintf("call_%d", len(r.Messages)), Name: "read", Arguments: `{}`}
		return &agent.Reply{Message: agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{call}}, Stop: agent.StopCalls}, nil
	}
	text("done")
	return &agent.Reply{Message: agent.Message{Role: agent.RoleAssistant, Text: "done"}, Stop: agent.StopEnd}, nil
}

// benchTools answer with size bytes.
type benchTools struct{ size int }

func (benchTools) List(context.Context) ([]agent.ToolSpec, error) {
	return []agent.ToolSpec{{Name: "read", Description: "Reads.", Schema: []byte(`{"type":"object"}`), ReadOnly: true}}, nil
}
func (benchTools) Check(agent.Call) error { return nil }
func (t benchTools) Call(context.Context, agent.Call, func(string)) (agent.Output, error) {
	return agent.Output{Text: strings.Repeat("all work and no play ", t.size/21+1)[:t.size]}, nil
}

// naive is the loop as it is in most examples: a list of messages that grows.
type naive struct {
	messages []agent.Message
	model    benchModel
}

func (n *naive) ask(ctx context.Context, question string, tools benchTools) error {
	n.messages = append(n.messages, agent.Message{Role: agent.RoleUser, Text: question})
	for {
		specs, err := tools.List(ctx)
		if err != nil {
			return err
		}
		reply, err := n.model.Generate(ctx, &agent.Request{Messages: n.messages, Tools: specs}, func(string) {})
		if err != nil {
			return err
		}
		n.messages = append(n.messages, reply.Message)
		if len(reply.Message.Calls) == 0 {
			return nil
		}
		for _, c := range reply.Message.Calls {
			out, err := tools.Call(ctx, c, func(string) {})
			if err != nil {
				return err
			}
			n.messages = append(n.messages, agent.Message{Role: agent.RoleTool, CallID: c.ID, Name: c.Name, Text: out.Text})
		}
	}
}

func agentBench(ctx context.Context, o *Out, _ []string) error {
	if err := loops(ctx, o); err != nil {
		return err
	}
	return queues(ctx, o)
}

// loops asks one conversation again and again, every second time with a large result.
func loops(ctx context.Context, o *Out) error {
	bounded, err := agent.New(agent.Options{Name: "bench", Model: benchModel{}, Tools: benchTools{100}})
	if err != nil {
		return err
	}
	defer bounded.Close()
	free := &naive{}
	ours := func(size int) error {
		r, err := bounded.Ask(ctx, agent.Query{Text: "read it", Session: "one", Tools: benchTools{size}})
		if err == nil && r.Outcome != agent.Completed {
			err = fmt.Errorf("%s: %s", r.Outcome, r.Detail)
		}
		return err
	}
	theirs := func(size int) error { return free.ask(ctx, "read it", benchTools{size}) }

	var took [2]time.Duration
	for i := range 400 { // in turn, so that noise hits both
		for which, ask := range []func(int) error{ours, theirs} {
			began := time.Now()
			if err := ask(100); err != nil {
				return err
			}
			if i >= 40 {
				took[which] += time.Since(began)
			}
		}
	}
	o.Add(Row{Case: "a question with one call", Metric: "time", Value: micros(took[0]) / 360, Unit: "us", Baseline: "a loop without bounds", BaselineValue: micros(took[1]) / 360})

	free.messages = nil
	before := live()
	for i := range agentQueries {
		if err := ours(100 + (i%2)*(agentResult-100)); err != nil {
			return err
		}
	}
	held := live() - before
	before = live()
	for i := range agentQueries {
		if err := theirs(100 + (i%2)*(agentResult-100)); err != nil {
			return err
		}
	}
	loose := live() - before
	o.Add(Row{Case: fmt.Sprintf("%d questions, half with 1 MiB", agentQueries), Metric: "live heap kept", Value: float64(held) / (1 << 20), Unit: "MiB", Baseline: "a loop without bounds", BaselineValue: float64(loose) / (1 << 20)})
	runtime.KeepAlive(free)
	o.Note("The bounds are the defaults: 40 messages of history and a window of 200,000 tokens. The model costs nothing here; a real one takes seconds.")
	return nil
}

// queueBatch is how many events are published in turn to one and to the other.
const queueBatch, queueRounds, queueReaders = 500, 40, 50

// queues publish to clients that read at once, in batches in turn: one that stands still would
// stop the SDK's queue for good.
func queues(ctx context.Context, o *Out) error {
	log, err := tasklog.New(tasklog.Options{MaxReaders: queueReaders}).Open("bench", 0)
	if err != nil {
		return err
	}
	manager := eventqueue.NewInMemoryManager()
	var reading sync.WaitGroup
	for range queueReaders {
		ours, err := log.Read(0)
		if err != nil {
			return err
		}
		theirs, err := manager.CreateReader(ctx, "bench")
		if err != nil {
			return err
		}
		reading.Go(func() {
			for {
				if _, _, err := ours.Next(ctx); err != nil {
					return
				}
			}
		})
		reading.Go(func() {
			for {
				if _, err := theirs.Read(ctx); err != nil {
					return
				}
			}
		})
	}
	w, err := manager.CreateWriter(ctx, "bench")
	if err != nil {
		return err
	}
	payload := []byte(strings.Repeat("x", 200))
	message := &eventqueue.Message{Event: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(string(payload)))}
	var took [2]time.Duration
	for round := range queueRounds {
		began := time.Now()
		for range queueBatch {
			log.Append(payload, false)
		}
		ours := time.Since(began)
		began = time.Now()
		for range queueBatch {
			if err := w.Write(ctx, message); err != nil {
				return err
			}
		}
		if round > 3 {
			took[0] += ours
			took[1] += time.Since(began)
		}
	}
	log.Append(nil, true)
	if err := manager.Destroy(ctx, "bench"); err != nil {
		return err
	}
	reading.Wait()
	n := float64(queueBatch * (queueRounds - 4))
	o.Add(Row{Case: fmt.Sprintf("an event, %d clients", queueReaders), Metric: "time of the publisher", Value: micros(took[0]) / n, Unit: "us", Baseline: "the SDK's in-memory queue", BaselineValue: micros(took[1]) / n})
	o.Note("With one client that reads nothing the log takes the same time; the SDK's queue stands still after 32 events, for all tasks, and so is not measured.")
	return nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// live is the heap that is in use after a collection.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
