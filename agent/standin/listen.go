package standin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// closeTimeout bounds the wait of Close for answers to end.
const closeTimeout = 2 * time.Second

// Server is a stand-in that listens on the loopback interface.
type Server struct {
	*Standin
	address string
	http    *http.Server
	once    sync.Once
	served  chan struct{}
	err     error
}

// Listen starts a stand-in on a free port of 127.0.0.1. It ends with ctx, or with Close.
// Without Options.Token it makes one that is as good as a key.
func Listen(ctx context.Context, o Options) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.Token == "" {
		o.Token = "standin-" + rand.Text()
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the stand-in model finds no free port of 127.0.0.1: %w", err)
	}
	s := &Server{Standin: New(o), address: l.Addr().String(), served: make(chan struct{})}
	s.http = &http.Server{Handler: s.Standin, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // it says that it was closed, or what Accept could not
	}()
	go func() {
		select {
		case <-ctx.Done():
			_ = s.Close()
		case <-s.served:
		}
	}()
	return s, nil
}

// URL returns its address, as clients want it: http://127.0.0.1:PORT/v1.
func (s *Server) URL() string { return "http://" + s.address + "/v1" }

// Token returns the key that clients have to send.
func (s *Server) Token() string { return s.o.Token }

// Close ends it. Answers that take longer than two seconds are broken off.
func (s *Server) Close() error {
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if s.err = s.http.Shutdown(ctx); errors.Is(s.err, context.DeadlineExceeded) {
			s.err = s.http.Close()
		}
		<-s.served
	})
	return s.err
}
