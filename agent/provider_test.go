package agent_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/agent/gemini"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// Over the wire: the adapters, and a provider that is as strict as theirs.
func adapters(t *testing.T, o scripted.Options) (map[string]agent.Model, *scripted.Provider) {
	t.Helper()
	provider := scripted.New(o)
	server := httptest.NewServer(provider)
	t.Cleanup(server.Close)
	chat, err := openai.New(openai.Options{BaseURL: server.URL + "/v1", Key: "key", Model: "gpt-5.1"})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := anthropic.New(anthropic.Options{BaseURL: server.URL, Key: "key", Model: "claude-sonnet-4-5"})
	if err != nil {
		t.Fatal(err)
	}
	google, err := gemini.New(gemini.Options{BaseURL: server.URL, Key: "key", Model: "gemini-2.5-pro"})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]agent.Model{"openai": chat, "anthropic": messages, "gemini": google}, provider
}

// script calls until it has results enough, then answers.
func script(turn int, r *scripted.Request) scripted.Reply {
	if turn%4 == 3 {
		return scripted.Reply{Text: "It is done."}
	}
	return scripted.Reply{Thinking: "hm", Text: "I look. ", Calls: []scripted.Call{
		{Tool: "echo", Args: map[string]int{"n": turn}}, {Tool: "fail", Args: map[string]int{"n": turn}},
	}}
}

func wireTools() toolFuncs {
	return toolFuncs{"echo": echo, "fail": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
		return agent.Output{}, fmt.Errorf("no such thing")
	}}
}

func TestOverTheWire(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openai", "anthropic", "gemini"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			models, provider := adapters(t, scripted.Options{Script: script, Key: "key"})
			shelf, events := newFakeStore(), &log{}
			a := start(t, agent.Options{Model: models[name], Tools: wireTools(), Conversations: shelf, System: "be brief"})
			for range 3 {
				got := ask(t, a, agent.Query{Session: "s", Events: events.add})
				if got.Outcome != agent.Completed || got.Answer != "It is done." || got.Calls != 6 || got.Usage.Input == 0 || got.Usage.Output == 0 {
					t.Fatalf("ended with %+v", got)
				}
			}
			// What one provider wrote the other takes too.
			for other, model := range models {
				if got := ask(t, start(t, agent.Options{Model: model, Tools: wireTools(), Conversations: shelf}), agent.Query{Session: "s"}); got.Outcome != agent.Completed {
					t.Errorf("at %s: %+v", other, got)
				}
			}
			// The last step is without tools, behind steps that have some.
			last := start(t, agent.Options{Model: models[name], Tools: wireTools(), Conversations: shelf, Limits: agent.Limits{MaxSteps: 2}})
			if got := ask(t, last, agent.Query{Session: "s"}); got.Outcome != agent.StepLimit || got.Answer == "" {
				t.Errorf("with two steps: %+v", got)
			}
			paired(t, shelf.get("s"))
			if provider.Refused() != 0 {
				t.Errorf("%d requests were refused", provider.Refused())
			}
			if text := events.text(agent.EventText); strings.Count(text, "It is done.") != 3 {
				t.Errorf("streamed were %q", text)
			}
		})
	}
}

func TestEndpointsThatAreWrong(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	for name, c := range map[string]struct {
		options scripted.Options
		url     string
		want    agent.Failure
	}{
		"down":       {scripted.Options{}, down.URL, agent.Unreachable},
		"wrong key":  {scripted.Options{Key: "another"}, "", agent.Key},
		"a web page": {scripted.Options{Fault: func(*scripted.Request) scripted.Fault { return scripted.Fault{Kind: scripted.HTML, Status: 200} }}, "", agent.NotAnAPI},
		"cut off":    {scripted.Options{Fault: func(*scripted.Request) scripted.Fault { return scripted.Fault{Kind: scripted.Cut, Events: 1} }}, "", agent.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(scripted.New(c.options))
			t.Cleanup(server.Close)
			url := server.URL
			if c.url != "" {
				url = c.url
			}
			model, err := openai.New(openai.Options{BaseURL: url + "/v1", Key: "secret-of-mine", Model: "gpt-5.1"})
			if err != nil {
				t.Fatal(err)
			}
			got := ask(t, start(t, agent.Options{Model: model, Limits: agent.Limits{MaxTries: 1}}), agent.Query{})
			e, ok := got.Err.(*agent.ModelError)
			if got.Outcome != agent.ModelFailed || !ok || e.Failure != c.want || !strings.Contains(got.Detail, url) || strings.Contains(got.Detail, "secret") {
				t.Errorf("ended with %+v", got)
			}
		})
	}
}

// A real process is killed while its tools run, and another one takes the session up.
func TestAProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	const marker = "PLIMSOLL_TEST_KILLED"
	if dir := os.Getenv(marker); dir != "" {
		store, err := conversation.Open(conversation.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		model := newScriptedModel(t, replies(call("echo", "{}", "hang", "{}", "echo", `{"n":1}`)))
		a, err := agent.New(agent.Options{Model: model, Conversations: store, Tools: toolFuncs{"echo": echo, "hang": func(context.Context, agent.Call, func(string)) (agent.Output, error) {
			fmt.Println("it hangs")
			_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
			return agent.Output{}, nil
		}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Ask(t.Context(), agent.Query{Text: "q", Session: "s"})
		t.Fatalf("it was not killed: %+v, %v", got, err)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAProcessThatIsKilled$", "-test.v")
	cmd.Env = append(os.Environ(), marker+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	hangs := false
	for !hangs && lines.Scan() {
		hangs = strings.Contains(lines.Text(), "it hangs")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	if !hangs {
		t.Fatal("the tool was not called")
	}
	store, err := conversation.Open(conversation.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	next(t, store)
	conv, err := store.Open(t.Context(), "s", true)
	if err != nil {
		t.Fatal(err)
	}
	defer conv.Close()
	ms := conv.Messages()
	paired(t, ms)
	// The first result may have come before the kill or not; the second did not.
	if got := roles(ms); got != "uatttua" || !ms[3].Failed || !strings.Contains(ms[3].Text, "may have run") {
		t.Errorf("kept are %s: %+v", got, ms)
	}
}
