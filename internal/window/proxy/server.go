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
	"net/http/httputil"
	pathpkg "path"
	"slices"
	"strconv"
	"strings"
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

// sockets are the paths below an upstream at which clients open WebSockets, by their last elements, as patterns of [path.Match]. Behind a switch of
// protocols nothing is looked at any more, and the first request may carry a key that the client does not have: what no client opens stays
// closed.
var sockets = []string{
	"realtime",                       // OpenAI's, Azure's and Codex's (developers.openai.com/api/docs/guides/realtime-websocket, 2026-11-27)
	"ws/speech_to_text/voice_stream", // the voice of Claude Code 2.1.197
	// Gemini Live (ai.google.dev/gemini-api/docs/live-api/get-started-websocket, 2026-11-27)
	"ws/google.ai.generativelanguage.*.GenerativeService.BidiGenerateContent",
	"ws/google.ai.generativelanguage.*.GenerativeService.BidiGenerateContentConstrained",
}

// wantsSocket reports whether a request asks for a WebSocket. A request for another protocol (Java's clients ask for h2c with each one) may
// be ignored (RFC 9110, section 7.8) and is answered as it is.
func wantsSocket(h http.Header) bool {
	return hasToken(h["Connection"], "upgrade") && len(h["Upgrade"]) == 1 && strings.EqualFold(strings.TrimSpace(h["Upgrade"][0]), "websocket")
}

// isSocket reports whether a path below an upstream matches one of sockets.
func isSocket(below string) bool {
	elements := strings.Split(strings.TrimSuffix(below, "/"), "/")
	return slices.ContainsFunc(sockets, func(pattern string) bool {
		last := elements[max(0, len(elements)-1-strings.Count(pattern, "/")):]
		ok, _ := pathpkg.Match(pattern, strings.Join(last, "/"))
		return ok
	})
}

// answerUpgrade answers requests for a WebSocket. A model stream over one cannot be counted or cut: it is answered 426, on which clients
// fall back to HTTP. Those at known paths of other services are relayed; any other is answered 403.
func (p *Proxy) answerUpgrade(w http.ResponseWriter, r *http.Request, rt *route) {
	if _, last := cutLast(strings.TrimSuffix(rt.below, "/")); last == "responses" && p.o.Mode != Off {
		w.Header()["Upgrade"] = []string{"HTTP/2.0, HTTP/1.1"}
		p.answerRefusal(w, rt, &refusal{
			status: http.StatusUpgradeRequired, reason: "websocket",
			text: "this proxy takes responses over HTTP only: a WebSocket session could not be kept within its window",
		})
		return
	}
	if !isSocket(rt.below) {
		p.answerRefusal(w, rt, &refusal{
			status: http.StatusForbidden, reason: "websocket",
			text: "no WebSocket is opened at this path: this proxy passes those of realtime, Gemini Live and Claude Code's voice; ask over HTTP, or ask the provider directly",
		})
		return
	}
	p.journalPassed(rt, "path", "upgrade")
	target, err := rt.up.target(rt.below, r.URL.RawQuery, r.URL.ForceQuery)
	if err != nil {
		p.answerRefusal(w, rt, badPath(err))
		return
	}
	relay := &httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL, pr.Out.Host = target, target.Host
			for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
				if v, ok := pr.In.Header[name]; ok {
					pr.Out.Header[name] = v
				}
			}
			p.dropToken(pr.Out.Header, target)
			rt.up.injectKey(pr.Out.Header, target)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { p.upstreamFailed(w, r, rt, err) },
		ErrorLog:     silent,
	}
	relay.ServeHTTP(w, r)
}
