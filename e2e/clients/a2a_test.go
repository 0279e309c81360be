package clients_test

import (
	"net/http"
	"strings"
	"testing"

	a2a03 "github.com/a2aproject/a2a-go/a2a"
	client03 "github.com/a2aproject/a2a-go/a2aclient"
	card03 "github.com/a2aproject/a2a-go/a2aclient/agentcard"
	a2a10 "github.com/a2aproject/a2a-go/v2/a2a"
	client10 "github.com/a2aproject/a2a-go/v2/a2aclient"
	card10 "github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// serveAgent starts the agent for a simulated Argo CD on the stand-in for a model.
func serveAgent(t *testing.T) string {
	t.Helper()
	return start(t, []string{"PLIMSOLL_MCP_ARGOCD_SIMULATOR=on"}, "agent", "serve", "--model", "standin")
}

// The official client of A2A 0.3 finds the card, sends, streams, gets, and keeps webhooks, but none on this machine.
func TestA2A03(t *testing.T) {
	t.Parallel()
	base := serveAgent(t)
	card, err := card03.NewResolver(http.DefaultClient).Resolve(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	if card.ProtocolVersion != "0.3" || card.PreferredTransport != a2a03.TransportProtocolJSONRPC || !card.Capabilities.Streaming {
		t.Errorf("the card is %+v", card)
	}
	client, err := client03.NewFromCard(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string) *a2a03.MessageSendParams {
		return &a2a03.MessageSendParams{Message: a2a03.NewMessage(a2a03.MessageRoleUser, a2a03.TextPart{Text: text})}
	}
	first := ask("list all applications")
	blocking := true
	first.Config = &a2a03.MessageSendConfig{Blocking: &blocking}
	got, err := client.SendMessage(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	task, ok := got.(*a2a03.Task)
	if !ok || task.Status.State != a2a03.TaskStateCompleted || len(task.Artifacts) == 0 {
		t.Fatalf("the answer is %+v", got)
	}
	states, words := "", ""
	for event, err := range client.SendStreamingMessage(t.Context(), ask("how many projects?")) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case *a2a03.TaskStatusUpdateEvent:
			states += string(e.Status.State) + " "
		case *a2a03.TaskArtifactUpdateEvent:
			for _, p := range e.Artifact.Parts {
				if text, ok := p.(a2a03.TextPart); ok {
					words += text.Text
				}
			}
		}
	}
	if !strings.HasSuffix(states, "completed ") || !strings.Contains(words, "236 projects") {
		t.Errorf("the stream had the states %q and said %q", states, words)
	}

	length := 1
	again, err := client.GetTask(t.Context(), &a2a03.TaskQueryParams{ID: task.ID, HistoryLength: &length})
	if err != nil || again.ID != task.ID || len(again.History) > 1 {
		t.Errorf("the task is %+v, %v", again, err)
	}
	if _, err := client.CancelTask(t.Context(), &a2a03.TaskIDParams{ID: task.ID}); err == nil {
		t.Error("a task that has ended was cancelled")
	}
	// A task that has ended notifies nobody, so this address is never asked.
	const webhook = "https://93.184.215.14/hook"
	if _, err := client.SetTaskPushConfig(t.Context(), &a2a03.TaskPushConfig{TaskID: task.ID, Config: a2a03.PushConfig{URL: "http://127.0.0.1:9/hook"}}); err == nil {
		t.Error("a webhook on this machine was taken")
	}
	set, err := client.SetTaskPushConfig(t.Context(), &a2a03.TaskPushConfig{TaskID: task.ID, Config: a2a03.PushConfig{ID: "mine", URL: webhook}})
	if err != nil || set.Config.ID != "mine" {
		t.Errorf("set: %+v, %v", set, err)
	}
	if one, err := client.GetTaskPushConfig(t.Context(), &a2a03.GetTaskPushConfigParams{TaskID: task.ID, ConfigID: "mine"}); err != nil || one.Config.URL != webhook {
		t.Errorf("get: %+v, %v", one, err)
	}
	if list, err := client.ListTaskPushConfig(t.Context(), &a2a03.ListTaskPushConfigParams{TaskID: task.ID}); err != nil || len(list) != 1 {
		t.Errorf("list: %+v, %v", list, err)
	}
	if err := client.DeleteTaskPushConfig(t.Context(), &a2a03.DeleteTaskPushConfigParams{TaskID: task.ID, ConfigID: "mine"}); err != nil {
		t.Errorf("delete: %v", err)
	}
	for _, err := range client.ResubscribeToTask(t.Context(), &a2a03.TaskIDParams{ID: task.ID}) {
		if err == nil {
			t.Error("a task that has ended has more to come")
		}
	}
}

// The official client of A2A 1.0, over both bindings.
func TestA2A10(t *testing.T) {
	t.Parallel()
	base := serveAgent(t)
	card, err := card10.NewResolver(http.DefaultClient).Resolve(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range []a2a10.TransportProtocol{a2a10.TransportProtocolJSONRPC, a2a10.TransportProtocolHTTPJSON} {
		client, err := client10.NewFromCard(t.Context(), card, client10.WithConfig(client10.Config{PreferredTransports: []a2a10.TransportProtocol{binding}}))
		if err != nil {
			t.Fatal(err)
		}
		ask := func(text string) *a2a10.SendMessageRequest {
			return &a2a10.SendMessageRequest{Message: a2a10.NewMessage(a2a10.MessageRoleUser, a2a10.NewTextPart(text))}
		}
		got, err := client.SendMessage(t.Context(), ask("list all clusters"))
		if err != nil {
			t.Fatal(binding, err)
		}
		task, ok := got.(*a2a10.Task)
		if !ok || task.Status.State != a2a10.TaskStateCompleted {
			t.Fatalf("%s: the answer is %+v", binding, got)
		}
		last, words := a2a10.TaskState(""), ""
		for event, err := range client.SendStreamingMessage(t.Context(), ask("how many projects?")) {
			if err != nil {
				t.Fatal(binding, err)
			}
			switch e := event.(type) {
			case *a2a10.TaskStatusUpdateEvent:
				last = e.Status.State
			case *a2a10.TaskArtifactUpdateEvent:
				for _, p := range e.Artifact.Parts {
					words += p.Text()
				}
			}
		}
		if last != a2a10.TaskStateCompleted || !strings.Contains(words, "236 projects") {
			t.Errorf("%s: the stream ended with %q and said %q", binding, last, words)
		}
		if again, err := client.GetTask(t.Context(), &a2a10.GetTaskRequest{ID: task.ID}); err != nil || again.ID != task.ID {
			t.Errorf("%s: the task is %+v, %v", binding, again, err)
		}
		if page, err := client.ListTasks(t.Context(), &a2a10.ListTasksRequest{PageSize: 1}); err != nil || len(page.Tasks) != 1 {
			t.Errorf("%s: the list is %+v, %v", binding, page, err)
		}
	}
}
