package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/a2a"
)

// serve serves the agent over A2A until ctx ends. Whoever reaches the address may ask: listen
// on loopback, or put what asks for a key before it.
func serve(ctx context.Context, a *agent.Agent, addr string, log io.Writer) error {
	server, err := a2a.New(a2a.Options{
		Name: "files", Executor: a2a.AgentExecutor(a), Path: "/a2a/files/",
		Card: a2a.Card{Description: "Answers questions about the files of a folder."},
	})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/a2a/files/", server)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(log, "http://%s/a2a/files/.well-known/agent-card.json\n", l.Addr())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	// The tasks end first: each of their streams has its last event then, and the connections
	// become idle.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, server.Close(last), web.Shutdown(last))
}
