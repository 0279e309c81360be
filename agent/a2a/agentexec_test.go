package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent"
)

// model answers by what it is asked.
type model func(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error)

func (model) Info() agent.ModelInfo {
	return agent.ModelInfo{Provider: "openai", Name: "test", Window: 100_000, MaxOutput: 1000}
}

func (m model) Generate(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	return m(ctx, r, text)
}

func says(text func(string), words string) *agent.Reply {
	for _, w := range strings.SplitAfter(words, " ") {
		text(w)
	}
	return &agent.Reply{Message: agent.Message{Role: agent.RoleAssistant, Text: words}, Stop: agent.StopEnd}
}

// tools has one tool.
type tools struct {
	call func(ctx context.Context, chunk func(string)) (agent.Output, error)
}

func (tools) List(context.Context) ([]agent.ToolSpec, error) {
	return []agent.ToolSpec{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}}, nil
}
func (tools) Check(agent.Call) error { return nil }
func (t tools) Call(ctx context.Context, _ agent.Call, chunk func(string)) (agent.Output, error) {
	return t.call(ctx, chunk)
}

func serveAgent(t *testing.T, m model, tool tools) *served {
	t.Helper()
	a, err := agent.New(agent.Options{Name: "tested", Model: m, Tools: tool})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, AgentExecutor(a).Execute)
	t.Cleanup(func() { _ = a.Close() })
	return s
}

func asks(r *agent.Request) string { return r.Messages[len(r.Messages)-1].Text }

func TestAnAgentAnswers(t *testing.T) {
	t.Parallel()
	const answer = "There are three applications, all of them in good health. Ask for one of them to hear more of it."
	s := serveAgent(t, func(_ context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
		if r.Messages[len(r.Messages)-1].Role == agent.RoleTool {
			return says(text, answer), nil
		}
		reply := says(text, "I am going to look. ")
		reply.Stop = agent.StopCalls
		reply.Message.Calls = []agent.Call{{ID: "c1", Name: "look", Arguments: `{"q":"x"}`}}
		return reply, nil
	}, tools{call: func(_ context.Context, chunk func(string)) (agent.Output, error) {
		for range 20 {
			chunk(strings.Repeat("y", 4096))
		}
		return agent.Output{Text: "three"}, nil
	}})
	task := (*sdk.Task)(nil)
	text, last, chunked := "", false, 0
	kinds := map[string]int{}
	for _, f := range s.stream("SendStreamingMessage", message("how many?")).all() {
		switch e := f.event.(type) {
		case *sdk.Task:
			task = e
		case *sdk.TaskArtifactUpdateEvent:
			if !e.Append {
				text = ""
			}
			text += e.Artifact.Parts[0].Text()
			last = e.LastChunk
		case *sdk.TaskStatusUpdateEvent:
			kind, _ := e.Metadata[metadataEvent].(string)
			kinds[kind]++
			if kind == string(agent.EventChunk) {
				piece, _ := e.Metadata[metadataText].(string)
				chunked += len(piece)
			}
		}
	}
	if text != answer || !last {
		t.Errorf("the stream says %q, closed %v", text, last)
	}
	if kinds["call"] != 1 || kinds["result"] != 1 || kinds["step"] != 2 || chunked > maxOutput+100 || chunked < maxOutput {
		t.Errorf("the statuses are %v, with %d bytes of output", kinds, chunked)
	}
	task = s.get(task.ID)
	if len(task.Artifacts) != 1 || textOf(task) != answer || len(task.Artifacts[0].Parts) != 1 {
		t.Errorf("the task has %+v", task.Artifacts)
	}
	if task.Status.State != sdk.TaskStateCompleted || task.Metadata[metadataOutcome] != string(agent.Completed) || task.Metadata[metadataCalls] != 1.0 {
		t.Errorf("the task is %s, %v", task.Status.State, task.Metadata)
	}
}

func TestASessionIsTheContext(t *testing.T) {
	t.Parallel()
	s := serveAgent(t, func(_ context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
		var all []string
		for _, m := range r.Messages {
			all = append(all, m.Text)
		}
		return says(text, strings.Join(all, "|")), nil
	}, tools{})
	one := s.send("a")
	two := s.send("b", func(m *sdk.Message) { m.ContextID = one.ContextID })
	other := s.send("c")
	if got := textOf(two); got != "a|a|b" {
		t.Errorf("the second task of the context says %q", got)
	}
	if got := textOf(other); got != "c" {
		t.Errorf("one of another context says %q", got)
	}
}

func TestOutcomesOfAnAgent(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 1)
	s := serveAgent(t, func(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
		switch asks(r) {
		case "fail":
			return nil, &agent.ModelError{Failure: agent.Key, Status: 401, Text: "who are you", Err: errors.New("no")}
		case "hang":
			text("half of ")
			begun <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		case "loop":
		}
		return &agent.Reply{
			Message: agent.Message{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "c", Name: "look", Arguments: "{}"}}},
			Stop:    agent.StopCalls,
		}, nil
	}, tools{call: func(context.Context, func(string)) (agent.Output, error) { return agent.Output{Text: "same"}, nil }})
	failed := s.send("fail")
	if failed.Status.State != sdk.TaskStateFailed || failed.Metadata[metadataOutcome] != string(agent.ModelFailed) || failed.Status.Message == nil {
		t.Errorf("without a key the task is %+v, %v", failed.Status, failed.Metadata)
	}
	looped := s.send("loop")
	if looped.Status.State != sdk.TaskStateFailed || looped.Metadata[metadataOutcome] != string(agent.LoopDetected) {
		t.Errorf("in a loop the task is %+v, %v", looped.Status, looped.Metadata)
	}
	empty := s.send("  ")
	if empty.Status.State != sdk.TaskStateRejected {
		t.Errorf("without a question the task is %+v", empty.Status)
	}
	f := s.stream("SendStreamingMessage", message("hang"))
	first, _ := f.next()
	<-begun
	var task sdk.Task
	if e := s.rpc("CancelTask", map[string]any{"id": first.event.(*sdk.Task).ID}, &task); e != nil {
		t.Fatal(e.Message)
	}
	if task.Status.State != sdk.TaskStateCanceled || task.Metadata[metadataOutcome] != string(agent.Cancelled) {
		t.Errorf("a cancelled task is %+v, %v", task.Status, task.Metadata)
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	got := question(&sdk.Message{Parts: sdk.ContentParts{
		sdk.NewTextPart("What is this?"),
		{Content: sdk.Raw("a,b\n"), Filename: "x.csv", MediaType: "text/csv"},
		{Content: sdk.Raw{0, 1, 2}, MediaType: "image/png"},
		sdk.NewDataPart(map[string]any{"n": 1.0}),
		sdk.NewFileURLPart("https://example.com/f", "text/plain"),
	}})
	for _, want := range []string{"What is this?", "the file \"x.csv\":\na,b\n", "image/png, 3 bytes", `{"n":1}`, "https://example.com/f"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in %q", want, got)
		}
	}
}
