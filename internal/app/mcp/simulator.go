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

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
	"github.com/plimsoll/plimsoll/limit"
)

// SimulatorOptions describe a simulated Argo CD.
type SimulatorOptions struct {
	Size   string // of applications, projects, …; "" means "819,236,287,13"
	Faults string // as "latency=200ms,cut=100000"; "" means none
}

// Simulation is a simulated Argo CD that listens on a loopback address.
type Simulation struct {
	*simulator.Simulator
	URL, Token string
	Server     *http.Server
}

// Simulate starts a simulated Argo CD. Its token is random, so nobody else on this machine has access.
func Simulate(ctx context.Context, o SimulatorOptions) (*Simulation, error) {
	options, err := simulator.ParseSize(o.Size)
	if err != nil {
		return nil, fmt.Errorf("the simulated Argo CD: %w", err)
	}
	if options.Faults, err = simulator.ParseFaults(o.Faults); err != nil {
		return nil, fmt.Errorf("--faults: %w", err)
	}
	options.Token = rand.Text()
	sim, err := simulator.New(options)
	if err != nil {
		return nil, fmt.Errorf("the simulated Argo CD: %w", err)
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

// client returns a client for the simulation.
func (s *Simulation) client() (*argocd.Client, error) {
	return argocd.New(argocd.Options{
		Name: "simulator", URL: s.URL, Token: func(context.Context) (string, error) { return s.Token, nil },
	})
}

// Close ends the simulation at once, even if clients are connected.
func (s *Simulation) Close() error { return s.Server.Close() }

// simulate starts a simulated Argo CD, which ends with the plane, and returns a client for it. say, unless nil, gets a line about it.
func (p *Plane) simulate(ctx context.Context, o SimulatorOptions, say io.Writer) (*argocd.Client, error) {
	s, err := Simulate(ctx, o)
	if err != nil {
		return nil, err
	}
	p.closer.Add(s.Close)
	c, err := s.client()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	p.closer.Do(c.Close)
	n := s.Counts()
	if say != nil {
		fmt.Fprintf(say, "plimsoll: a simulated Argo CD with %s, %s, %s and %s; nothing of it is real\n",
			limit.Count(n.Applications, "application"), limit.Count(n.Projects, "project"), limit.Count(n.ApplicationSets, "application set"), limit.Count(n.Clusters, "cluster"))
	}
	return c, nil
}
