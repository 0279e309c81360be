package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"
)

// ListenOptions configure [Listen].
type ListenOptions struct {
	// Addr is HOST:PORT; "127.0.0.1:0" when empty, where the system picks the port.
	Addr string
	// Listener is used in place of Addr when it is not nil, and closed with the server.
	Listener net.Listener
	// TLS is demanded when Addr is not a loopback address.
	TLS *tls.Config
	// Handler answers in place of the Proxy, and hands it what is the Proxy's (without
	// changing the path). Nil is the Proxy alone.
	Handler http.Handler
}

// Server is a listener with a Proxy behind it.
type Server struct {
	http   *http.Server
	ln     net.Listener
	secure bool
	done   chan struct{}
	err    error
}

const (
	headerTimeout = 30 * time.Second
	idleClient    = 5 * time.Minute
)

// Listen opens the listener and serves in the background until [Server.Shutdown]. Beyond loopback it returns an error without a token and
// TLS: credentials and source code pass through.
func (p *Proxy) Listen(o ListenOptions) (*Server, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	ln := o.Listener
	if ln == nil {
		var err error
		if ln, err = net.Listen("tcp", o.Addr); err != nil {
			return nil, err // it names the address
		}
	}
	if at, ok := ln.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		var err error
		switch {
		case p.token == nil:
			err = fmt.Errorf("%s is not a loopback address: listening there needs a token", o.Addr)
		case o.TLS == nil:
			err = fmt.Errorf("%s is not a loopback address: listening there needs TLS, keys and prompts pass through", o.Addr)
		}
		if err != nil {
			return nil, errors.Join(err, ln.Close())
		}
	}
	s := &Server{ln: ln, secure: o.TLS != nil, done: make(chan struct{})}
	handler := o.Handler
	if handler == nil {
		handler = p
	}
	s.http = &http.Server{
		Handler:           handler,
		ConnContext:       p.ConnContext,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleClient,
		TLSConfig:         o.TLS,
		// What clients do wrong is no news, and its text may hold what they sent.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	// AWS's library for JavaScript asks Bedrock by HTTP/2 only, without TLS too.
	s.http.Protocols = new(http.Protocols)
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetHTTP2(true)
	s.http.Protocols.SetUnencryptedHTTP2(true)
	go func() {
		defer close(s.done)
		var err error
		if s.secure {
			err = s.http.ServeTLS(ln, "", "")
		} else {
			err = s.http.Serve(ln)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
	return s, nil
}

// Addr returns the address that is listened on.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// URL returns http://HOST:PORT, or https. For a listener on all addresses HOST is localhost.
func (s *Server) URL() string {
	scheme := "http://"
	if s.secure {
		scheme = "https://"
	}
	if at, ok := s.ln.Addr().(*net.TCPAddr); ok && at.IP.IsUnspecified() {
		return scheme + net.JoinHostPort("localhost", strconv.Itoa(at.Port))
	}
	return scheme + s.ln.Addr().String()
}

// Done returns a channel that is closed when the server has ended, by Shutdown or by an error, which Err then returns.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns the reason why the server ended by itself; nil before, and after Shutdown.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Shutdown closes the listener, waits for the requests under way, and closes their connections when ctx ends; then it returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.done
	return err
}

// BaseURL returns the base URL for a client of an upstream: root is the URL of the
// server, token may be empty. For OpenAI it ends in /v1 as its clients expect.
func BaseURL(root, token string, u Upstream) string {
	if token != "" {
		root += "/" + token
	}
	root += "/" + u.Name
	if u.Provider == OpenAI || u.Provider == "" && u.Name == string(OpenAI) {
		root += "/v1"
	}
	return root
}
