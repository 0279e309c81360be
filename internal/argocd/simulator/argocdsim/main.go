// Command argocdsim is a simulated Argo CD that listens by itself, for tests that measure
// somebody else's process and for a look at it with curl.
//
//	go run ./internal/argocd/simulator/argocdsim -size 100000 -listen 127.0.0.1:8080
//	curl -s 127.0.0.1:8080/api/v1/applications | head -c 1000
//
// Beside Argo CD's paths it has /-/requests: how often each list was asked for, as JSON. It has
// no state on disk and no test of its own: what it serves is tested in its package.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "argocdsim:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	size := flag.String("size", "", "APPS,PROJECTS,APPSETS,CLUSTERS")
	faults := flag.String("faults", "", "what goes wrong, as latency=200ms,cut=100000")
	version := flag.String("version", "", "version of Argo CD")
	token := flag.String("token-env", "", "environment variable with the token that is wanted (default: none is)")
	ready := flag.String("ready-file", "", "write the URL into this file when listening")
	flag.Parse()
	o, err := simulator.ParseSize(*size)
	if err != nil {
		return err
	}
	if o.Faults, err = simulator.ParseFaults(*faults); err != nil {
		return err
	}
	o.Version = *version
	if *token != "" {
		if o.Token = os.Getenv(*token); o.Token == "" {
			return fmt.Errorf("-token-env: the variable %s is empty; set it", *token)
		}
	}
	s, err := simulator.New(o)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.HandleFunc("GET /-/requests", func(w http.ResponseWriter, _ *http.Request) {
		counts := map[string]int64{}
		for _, kind := range []string{"applications", "projects", "applicationsets", "clusters"} {
			counts[kind] = s.Requests(kind)
		}
		_ = json.NewEncoder(w).Encode(counts)
	})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("-listen %s: %w", *listen, err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	url := "http://" + l.Addr().String()
	if *ready != "" {
		if err := os.WriteFile(*ready, []byte(url+"\n"), 0o600); err != nil {
			return errors.Join(err, server.Close())
		}
	}
	fmt.Fprintln(os.Stderr, "argocdsim:", url)
	select {
	case <-ctx.Done():
		return server.Close()
	case err := <-ended:
		return err
	}
}
