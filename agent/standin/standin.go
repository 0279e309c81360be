package standin

import (
	"context"
	"net/http"
	"time"
)

// Model is the name of the only model there is.
const Model = "standin-planner"

// Options configure the stand-in. The zero value is one that answers at once.
type Options struct {
	// Window is the largest request in tokens; 0 means DefaultWindow, below 0 has no limit.
	Window int
	// Delay is kept between the pieces of an answer that is streamed.
	Delay time.Duration
	// Token must come as a bearer token. New demands none when it is ""; Listen makes one.
	Token string
	Misbehave
}

// Misbehave is what goes wrong, for tests.
type Misbehave struct {
	Loop bool
}

// New returns the stand-in.
func New(o Options) http.Handler { return http.NotFoundHandler() }

// Server is a stand-in that listens on the loopback interface.
type Server struct{}

// Listen starts a stand-in on a free port of 127.0.0.1.
func Listen(ctx context.Context, o Options) (*Server, error) { return &Server{}, nil }

// URL is where it listens, as clients want it: it ends in /v1.
func (s *Server) URL() string { return "" }

// Token is what clients have to send as their key.
func (s *Server) Token() string { return "" }

// Close ends it.
func (s *Server) Close() error { return nil }
