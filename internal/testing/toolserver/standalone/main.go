// Command standalone runs the test server of package toolserver: on standard streams, or over
// streamable HTTP with -http ADDR.
//
//	go run ./internal/testing/toolserver/standalone
//	go run ./internal/testing/toolserver/standalone -http 127.0.0.1:0 -ready-file url.txt -answer sse
//
// A tool that is told to kill the server ends it with status 3. It has no state on disk and
// no test of its own: what it serves is tested in its package.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "toolserver:", err)
		if errors.Is(err, toolserver.ErrDied) || errors.Is(err, toolserver.ErrCut) {
			os.Exit(3)
		}
		os.Exit(1)
	}
}

func run() error {
	var o toolserver.Options
	addr := flag.String("http", "", "listen on this address instead of standard streams")
	ready := flag.String("ready-file", "", "write the URL into this file when listening")
	versions := flag.String("versions", "both", "protocol versions: both, legacy (up to 2025-11-25) or modern (2026-07-28)")
	answer := flag.String("answer", "auto", "auto, json or sse")
	flag.IntVar(&o.PageSize, "page", 0, "tools per page of tools/list")
	flag.BoolVar(&o.SilentProbe, "silent-probe", false, "leave what comes before initialize unanswered")
	flag.BoolVar(&o.EventIDs, "event-ids", false, "SSE streams can be resumed")
	flag.StringVar(&o.Name, "name", "", "the server's name")
	flag.Parse()
	choices := map[string]toolserver.Versions{"both": toolserver.Both, "legacy": toolserver.LegacyOnly, "modern": toolserver.ModernOnly}
	answers := map[string]toolserver.Answer{"auto": toolserver.Auto, "json": toolserver.JSON, "sse": toolserver.SSE}
	var known bool
	if o.Versions, known = choices[*versions]; !known {
		return fmt.Errorf("-versions %q: use both, legacy or modern", *versions)
	}
	if o.Answer, known = answers[*answer]; !known {
		return fmt.Errorf("-answer %q: use auto, json or sse", *answer)
	}
	s := toolserver.New(o)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *addr == "" {
		return s.ServeStdio(ctx, os.Stdin, os.Stdout)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	url := "http://" + l.Addr().String() + "/mcp"
	if *ready != "" {
		if err := os.WriteFile(*ready, []byte(url+"\n"), 0o600); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "toolserver: listening on", url)
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
