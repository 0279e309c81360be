// Command serve runs the scripted provider for trying clients by hand.
//
//	go run ./internal/testing/scripted/serve --listen 127.0.0.1:8099 --window 40000 \
//		--shell 'cat big.txt' --turns 20 --record /tmp/requests
//
// The base URL for Anthropic and Gemini clients is http://127.0.0.1:8099, for OpenAI
// clients http://127.0.0.1:8099/v1. On an interrupt it writes the requests it got into
// --record and ends. With --ready-file it writes its base URL there once it listens.
//
//	go run ./internal/testing/scripted/serve --bound --strict --marked --turns 40
//
// plays what reasoning is bound to by the published table, for the model that a request names:
// claude-fable-5-1 is bound to everything before it, claude-opus-5 to the model, any other name to
// nothing. GET /scripted/stats tells the totals so far, and --record keeps of every request what
// became of its reasoning and why it was refused.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:8099", "address")
	window := flag.Int("window", 0, "largest input in tokens; 0 has no limit")
	form := flag.String("form", "", "how a longer input is refused: "+strings.Join(scripted.Forms(), ", "))
	fault := flag.String("fault", "none", "what goes wrong with every answer")
	shell := flag.String("shell", "date", "the command the model asks for, once per turn; %d is the turn")
	turns := flag.Int("turns", 3, "turns before the model is done")
	end := flag.String("end", "The task is done.", "what the model says in the end")
	record := flag.String("record", "", "directory for the requests")
	ready := flag.String("ready-file", "", "file for the base URL")
	tokenizer := flag.String("tokenizer", "simple", "simple, o200k, or claude: o200k with factors that depend on the content")
	think := flag.Bool("think", false, "think ahead of every answer, and refuse thinking that comes back changed")
	bound := flag.Bool("bound", false, "--think, with reasoning bound as the table of models has it: see scripted.RuleOf; compaction on demand")
	old := flag.Bool("old-account", false, "with --bound: an account for which a changed prefix is only recorded")
	strict := flag.Bool("strict", false, "refuse empty content, images out of bounds, prefill and the like")
	marked := flag.Bool("marked", false, "Messages: cache only what cache_control marks")
	cacheTTL := flag.Duration("cache-ttl", scripted.DefaultCacheTTL, "how long a prefix stays in the cache after it was read")
	lenient := flag.Bool("lenient", false, "accept orphaned calls and results")
	flag.Parse()

	f, err := scripted.ParseFault(*fault)
	if err != nil {
		return err
	}
	if *form != "" && !slices.Contains(scripted.Forms(), *form) {
		return fmt.Errorf("no form %q; there are %s", *form, strings.Join(scripted.Forms(), ", "))
	}
	var commands []string
	for i := range *turns {
		commands = append(commands, strings.ReplaceAll(*shell, "%d", fmt.Sprint(i)))
	}
	script := scripted.Shells(*end, commands...)
	if *think || *bound {
		script = scripted.Thoughtful(script)
	}
	o := scripted.Options{
		Window: *window, Form: *form, Lenient: *lenient, Script: script, CheckSignatures: *think,
		Fault:  func(*scripted.Request) scripted.Fault { return f },
		Strict: *strict, OldAccount: *old, Marked: *marked, CacheTTL: *cacheTTL,
	}
	if *bound {
		o.Reasoning = scripted.RuleOf
	}
	switch *tokenizer {
	case "simple":
	case "o200k":
		o.Tokenizer = scripted.O200K
	case "claude":
		o.Tokenizer = scripted.Claude(scripted.O200K)
	default:
		return fmt.Errorf("no tokenizer %q", *tokenizer)
	}
	p := scripted.New(o)
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	url := "http://" + l.Addr().String()
	fmt.Fprintln(os.Stderr, url)
	if *ready != "" {
		if err := os.WriteFile(*ready, []byte(url), 0o600); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	mux := http.NewServeMux()
	mux.Handle("/", p)
	mux.HandleFunc("GET /scripted/stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(p.Stats()); err != nil {
			fmt.Fprintln(os.Stderr, "serve:", err)
		}
	})
	server := &http.Server{Handler: mux}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	for i, k := range p.Requests() {
		fmt.Fprintf(os.Stderr, "%3d %-4s %-40s %3d turn %2d input %7d %7d bytes %s\n", i, k.Method, k.Path, k.Status, k.Turn, k.Input, len(k.Body), k.Note)
	}
	fmt.Fprintf(os.Stderr, "%+v\n", p.Stats())
	if *record != "" {
		return p.Dump(*record)
	}
	return nil
}
