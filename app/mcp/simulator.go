package app

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
)

// SimulatorOptions are what a simulated Argo CD is asked to be.
type SimulatorOptions struct {
	Size   string // "819,236,287,13"; "" is that
	Faults string // "latency=200ms,cut=100000"; "" is none
}

// simulation is a simulated Argo CD that listens on a loopback address.
type simulation struct {
	*simulator.Simulator
	url, token string
	server     *http.Server
}

// simulated starts one. The token is a new one: nobody else on this machine is let in.
func simulated(ctx context.Context, o SimulatorOptions) (*simulation, error) {
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
	s := &simulation{
		Simulator: sim, url: "http://" + l.Addr().String(), token: options.Token,
		server: &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// client is a way to it.
func (s *simulation) client() (*argocd.Client, error) {
	return argocd.New(argocd.Options{
		Name: "simulator", URL: s.url, Token: func(context.Context) (string, error) { return s.token, nil },
	})
}

// Close ends it at once, whoever reads.
func (s *simulation) Close() error { return s.server.Close() }

// simulate starts a simulated Argo CD for as long as the plane is open.
func (p *toolsPlane) simulate(ctx context.Context, o SimulatorOptions, say io.Writer) (*argocd.Client, error) {
	s, err := simulated(ctx, o)
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
		fmt.Fprintf(say, "plimsoll: a simulated Argo CD with %d applications, %d projects, %d application sets and %d clusters; nothing of it is real\n",
			n.Applications, n.Projects, n.ApplicationSets, n.Clusters)
	}
	return c, nil
}
