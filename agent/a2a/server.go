package a2a

import (
	"context"
	"errors"
	"net/http"
)

// Server serves one agent over A2A. It is an http.Handler.
type Server struct{ o Options }

// New makes a server.
func New(o Options) (*Server, error) { return nil, errors.New("a2a: not yet") }

// ServeHTTP serves the agent card, JSON-RPC and REST.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

// Close ends all tasks.
func (s *Server) Close(ctx context.Context) error { return nil }

// Stats counts.
type Stats struct{}

// Stats tells the counts since New.
func (s *Server) Stats() Stats { return Stats{} }
