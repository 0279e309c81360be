package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// scripted is a server that gives fixed results by method, to show what a real one seldom does.
type scripted struct {
	answers map[string]string
	panics  string
	silent  bool
	gone    bool

	mu     sync.Mutex
	counts map[string]int
	change string
	sent   map[string][]byte
	order  []string // the methods that came
}

// came gives the methods that came since it was asked last.
func (s *scripted) came() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	order := s.order
	s.order = nil
	return order
}

// last is the last message of a method.
func (s *scripted) last(method string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent[method]
}

// revive lets a server that is gone answer.
func (s *scripted) revive(answers map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone, s.answers = false, answers
}

func (s *scripted) asked(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[method]
}

// say changes the tools and announces it to whoever listens.
func (s *scripted) say(tools string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers["tools/list"] = tools
	s.change = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
}

func (s *scripted) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	s.mu.Lock()
	if s.counts == nil {
		s.counts, s.sent = map[string]int{}, map[string][]byte{}
	}
	gone := s.gone
	s.sent[m.Head.Method] = m.Raw
	s.counts[m.Head.Method]++
	s.order = append(s.order, m.Head.Method)
	result, ok := s.answers[m.Head.Method]
	s.mu.Unlock()
	switch {
	case gone:
		to.Done(errors.New("the server is gone"))
	case m.Head.Method == s.panics:
		panic("as asked")
	case m.Head.Kind != jsonrpc.Request:
		to.Done(nil)
	case s.silent:
		go func() { <-ctx.Done(); to.Done(ctx.Err()) }()
	case !ok:
		transport.Reply(to, jsonrpc.ErrorResponse(m.Head.ID, jsonrpc.CodeMethod, "no such method", nil))
	default:
		transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, []byte(result)))
	}
}

func (s *scripted) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	s.mu.Lock()
	change := s.change
	s.mu.Unlock()
	if change != "" {
		to.Receive(&transport.Frame{Head: []byte(change)})
	}
	<-ctx.Done()
	to.Done(nil)
}

func (s *scripted) Close() error { return nil }
