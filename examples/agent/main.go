// Command agent shows how a Go program embeds Plimsoll's agent: a model, tools made of Go
// functions and of an MCP server, conversations on disk, what happens as it happens, an end
// with Ctrl-C, and the same agent served over A2A.
//
//	go run ./examples/agent -folder docs "list all files"
//	OPENAI_API_KEY=… go run ./examples/agent -folder docs -keep ~/talks -session monday "what is there about metrics?"
//	go run ./examples/agent -mcp "plimsoll mcp argocd --simulator" "how many applications are there?"
//	go run ./examples/agent -serve 127.0.0.1:7100
//
// It answers questions about the files of a folder, which it can only read. Without a key it
// asks the built-in stand-in, which is no model and goes by keywords.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/agent/prompt"
	"github.com/plimsoll/plimsoll/agent/standin"
	"github.com/plimsoll/plimsoll/agent/toolbox"
)

type options struct {
	folder, keep, session, mcp, serve string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.StringVar(&o.folder, "folder", ".", "whose files may be read")
	flag.StringVar(&o.keep, "keep", "", "folder that keeps the conversations; empty keeps them in memory")
	flag.StringVar(&o.session, "session", "", "conversation to begin or to go on with")
	flag.StringVar(&o.mcp, "mcp", "", "command of an MCP server whose tools may be used too")
	flag.StringVar(&o.serve, "serve", "", "address to serve the agent at over A2A, in the place of a question")
	flag.Parse()
	if err := run(ctx, o, strings.Join(flag.Args(), " "), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, question string, out, log io.Writer) (err error) {
	model, done, err := open(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()

	folder, err := os.OpenRoot(o.folder)
	if err != nil {
		return err
	}
	defer folder.Close()
	to := toolbox.Options{Functions: functions(folder)}
	if o.mcp != "" {
		to.Servers = []toolbox.Server{{
			Name: "more", Command: strings.Fields(o.mcp),
			Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, // and no key
		}}
	}
	tools, err := toolbox.New(ctx, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tools.Close()) }()
	for _, s := range tools.Stats().Servers {
		if s.Err != nil {
			fmt.Fprintf(log, "without the tools of %s for now: %v\n", s.Name, s.Err)
		}
	}

	ao := agent.Options{
		Name: "files", Model: model, Tools: tools,
		Compose: prompt.Compose(prompt.Options{Intro: "You answer questions about the files of a folder.", Extra: tools.Instructions()}),
		// What is not said here has its default: agent.Limits lists them all.
		Limits: agent.Limits{MaxSteps: 12},
	}
	if o.keep != "" {
		kept, err := conversation.Open(conversation.Options{Dir: o.keep})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, kept.Close()) }()
		ao.Conversations = kept
	}
	a, err := agent.New(ao)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }() // before what it uses

	if o.serve != "" {
		return serve(ctx, a, o.serve, log)
	}
	return ask(ctx, a, agent.Query{Text: question, Session: o.session}, out, log)
}

// open makes the model that there is a key for. done ends it.
func open(ctx context.Context, log io.Writer) (_ agent.Model, done func() error, err error) {
	done = func() error { return nil }
	if key := os.Getenv("ANTHROPIC_API_KEY"); key != "" {
		m, err := anthropic.New(anthropic.Options{Key: key, Model: "claude-sonnet-5"})
		return m, done, err
	}
	if key := os.Getenv("OPENAI_API_KEY"); key != "" {
		m, err := openai.New(openai.Options{BaseURL: os.Getenv("OPENAI_BASE_URL"), Key: key, Model: "gpt-5.2"})
		return m, done, err
	}
	fmt.Fprintln(log, "no key: this is the stand-in, which is no model and goes by keywords")
	s, err := standin.Listen(ctx, standin.Options{})
	if err != nil {
		return nil, nil, err
	}
	m, err := openai.New(openai.Options{BaseURL: s.URL(), Key: s.Token(), Model: standin.Model, Standin: true})
	return m, s.Close, err
}

// ask asks one question, prints the answer, and says on log what happens meanwhile.
func ask(ctx context.Context, a *agent.Agent, q agent.Query, out, log io.Writer) error {
	q.Events = func(e agent.Event) {
		switch e.Kind {
		case agent.EventCall:
			fmt.Fprintf(log, "→ %s %s\n", e.Call.Name, e.Call.Arguments)
		case agent.EventResult:
			fmt.Fprintf(log, "← %d bytes, failed: %t\n", e.Result.Size, e.Result.Failed)
		case agent.EventRetry, agent.EventRoom, agent.EventNudge, agent.EventWarning:
			fmt.Fprintf(log, "%s %s%s\n", e.Kind, e.Text, e.Err)
		}
	}
	// The end of ctx cancels the query; so would r.Cancel.
	r, err := a.Start(ctx, q)
	if err != nil {
		return err // nothing was begun: no question, too many at once, no such session
	}
	result := r.Wait()
	if result.Answer != "" {
		fmt.Fprintln(out, result.Answer)
	}
	fmt.Fprintf(log, "%s: %d steps, %d calls, %d tokens in; held %d bytes at most\n",
		result.Outcome, result.Steps, result.Calls, result.Usage.Input, result.PeakMemory.Total)
	if result.Outcome != agent.Completed {
		return errors.New(result.Detail)
	}
	return nil
}
