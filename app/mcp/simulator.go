package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/argocd"
	"github.com/plimsoll/plimsoll/argocd/simulator"
	"github.com/plimsoll/plimsoll/limit"
)

// SimulatorOptions describe a simulated Argo CD.
type SimulatorOptions struct {
	Size   string // "819,236,287,13"; "" is that
	Faults string // "latency=200ms,cut=100000"; "" is none
}

// Simulation is a simulated Argo CD that listens on a loopback address.
type Simulation struct {
	*simulator.Simulator
	URL, Token string
	Server     *http.Server
}

// Simulate starts one. The token is a new one: nobody else on this machine is let in.
func Simulate(ctx context.Context, o SimulatorOptions) (*Simulation, error) {
	options, err := simulator.ParseSize(o.Size)
	if err != nil {
		return nil, fmt.Errorf("--simulator: %w", err)
	}
	if options.Faults, err = simulator.ParseFaults(o.Faults); err != nil {
		return nil, fmt.Errorf("--faults: %w", err)
	}
	options.Token = rand.Text()
	sim, err := simulator.New(options)
	if err != nil {
		return nil, fmt.Errorf("--simulator: %w", err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the simulated Argo CD: %w", err)
	}
	s := &Simulation{
		Simulator: sim, URL: "http://" + l.Addr().String(), Token: options.Token,
		Server: &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { _ = s.Server.Serve(l) }()
	return s, nil
}

// client returns a way to it.
func (s *Simulation) client() (*argocd.Client, error) {
	return argocd.New(argocd.Options{
		Name: "simulator", URL: s.URL, Token: func(context.Context) (string, error) { return s.Token, nil },
	})
}

// Close ends it at once, whoever reads.
func (s *Simulation) Close() error { return s.Server.Close() }

// simulate starts a simulated Argo CD for as long as the plane is open.
func (p *Plane) simulate(ctx context.Context, o SimulatorOptions, say io.Writer) (*argocd.Client, error) {
	s, err := Simulate(ctx, o)
	if err != nil {
		return nil, err
	}
	p.cleanup = append(p.cleanup, s.Close)
	c, err := s.client()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	p.cleanup = append(p.cleanup, func() error { c.Close(); return nil })
	n := s.Counts()
	if say != nil {
		fmt.Fprintf(say, "plimsoll: a simulated Argo CD with %s, %s, %s and %s; nothing of it is real\n",
			limit.Count(n.Applications, "application"), limit.Count(n.Projects, "project"), limit.Count(n.ApplicationSets, "application set"), limit.Count(n.Clusters, "cluster"))
	}
	return c, nil
}
