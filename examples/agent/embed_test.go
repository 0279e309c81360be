package main

//lint:file-ignore SA4006 the guide leaves out how errors are handled
//lint:file-ignore SA5001 the guide leaves out how errors are handled

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/a2a"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/agent/prompt"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// The functions below hold the code of docs/embed.md, so the compiler reads it; what stands around it are a page's given
// names. The test holds that it is the same text.

func TestTheGuideShowsWhatCompiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/embed.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("embed_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) < 7 {
		t.Fatalf("%d blocks of Go in docs/embed.md", len(blocks))
	}
	for _, b := range blocks {
		var code strings.Builder
		for line := range strings.Lines(string(b[1])) {
			if line != "\n" {
				line = "\t" + line
			}
			code.WriteString(line)
		}
		if !strings.Contains(string(source), "{\n"+code.String()+"\treturn ") {
			t.Errorf("docs/embed.md has a block that is not in embed_test.go, where it would be compiled:\n%s", b[1])
		}
	}
}

var _ = []any{guideAgent, guideModels, guideFunctions, guideServers, guideConversations, guideWatching, guideServing}

func guideAgent(ctx context.Context, key string, servers []toolbox.Server, functions []builtin.Tool) error {
	model, err := openai.New(openai.Options{Key: key, Model: "gpt-5.2"})
	tools, err := toolbox.New(ctx, toolbox.Options{Servers: servers, Functions: functions})
	defer tools.Close()

	a, err := agent.New(agent.Options{
		Name: "files", Model: model, Tools: tools,
		Compose: prompt.Compose(prompt.Options{Intro: "You answer questions about the files of a folder."}),
		Limits:  agent.Limits{MaxSteps: 12},
	})
	defer a.Close()

	result, err := a.Ask(ctx, agent.Query{Text: "What is out of sync?", Session: "monday"})
	fmt.Println(result.Outcome, result.Answer)
	return err
}

func guideModels(key string) (agent.Model, agent.Model, error) {
	m, err := anthropic.New(anthropic.Options{Key: key, Model: "claude-sonnet-5"})
	local, err := openai.New(openai.Options{BaseURL: "http://127.0.0.1:11434/v1", Model: "qwen3:32b", Window: 32768})
	return m, local, err
}

func guideFunctions() builtin.Tool {
	type sum struct {
		A int `json:"a"`
		B int `json:"b" jsonschema:"The second number"`
	}
	add := builtin.Typed(builtin.Tool{Name: "add", Description: "Adds two numbers.", Hints: builtin.Hints{ReadOnly: true}},
		func(ctx context.Context, c *builtin.Call, in sum) (*builtin.Result, error) {
			return &builtin.Result{Text: fmt.Sprint(in.A + in.B)}, nil
		})
	return add
}

func guideServers(header http.Header) []toolbox.Server {
	files := toolbox.Server{Name: "files", Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "."}, Env: []string{"PATH=" + os.Getenv("PATH")}}
	wiki := toolbox.Server{Name: "wiki", URL: "https://wiki.example.com/mcp", Header: header}
	return []toolbox.Server{files, wiki}
}

func guideConversations(dir string, model agent.Model) (*agent.Agent, error) {
	kept, err := conversation.Open(conversation.Options{Dir: dir})
	defer kept.Close()
	a, err := agent.New(agent.Options{Model: model, Conversations: kept})
	return a, err
}

func guideWatching(ctx context.Context, a *agent.Agent, question string) (agent.Result, error) {
	r, err := a.Start(ctx, agent.Query{Text: question, Events: func(e agent.Event) {
		switch e.Kind {
		case agent.EventText:
			fmt.Print(e.Text) // a piece of the answer
		case agent.EventDiscarded:
			// what was printed since EventStep was no answer: it is asked for again
		case agent.EventCall:
			fmt.Println("→", e.Call.Name, e.Call.Arguments)
		}
	}})
	r.Cancel(errors.New("the user has closed the window")) // the cause is in Detail
	result := r.Wait()
	return result, err
}

func guideServing(ctx context.Context, a *agent.Agent, mux *http.ServeMux, web *http.Server, dir string) error {
	server, err := a2a.New(a2a.Options{Name: "files", Executor: a2a.AgentExecutor(a), Path: "/a2a/files/", Dir: dir})
	mux.Handle("/a2a/files/", server)
	// … the program runs …
	err = errors.Join(server.Close(ctx), web.Shutdown(ctx)) // in this order: Close ends the streams
	return err
}
