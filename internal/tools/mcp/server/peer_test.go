package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/testing/streams"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// server is a peer that does what the called tool's name says.
type server struct {
	mu       sync.Mutex
	listener transport.Receiver
	listened chan struct{} // closed once there is a listener
	listens  sync.Once
	asked    map[string]chan []byte // by id of a request of the server
	requests int
	heard    []string // methods
	closed   chan struct{}
	once     sync.Once
	open     sync.WaitGroup
	onSend   func(ctx context.Context, m transport.Message, to transport.Receiver) bool
	onListen func(ctx context.Context, header http.Header, to transport.Receiver) bool
	onEnd    func(header http.Header, to transport.Receiver)
}

func newServer() *server {
	return &server{asked: map[string]chan []byte{}, closed: make(chan struct{}), listened: make(chan struct{})}
}

func frame(format string, args ...any) *transport.Frame {
	return &transport.Frame{Head: fmt.Appendf(nil, format, args...)}
}

func (s *server) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	s.mu.Lock()
	s.heard = append(s.heard, m.Head.Method)
	s.mu.Unlock()
	if s.onSend != nil && s.onSend(ctx, m, to) {
		return
	}
	switch m.Head.Kind {
	case jsonrpc.Notification:
		to.Done(nil)
		return
	case jsonrpc.Response:
		s.mu.Lock()
		waits := s.asked[string(m.Head.ID)]
		delete(s.asked, string(m.Head.ID))
		s.mu.Unlock()
		if waits != nil {
			waits <- m.Raw
		}
		to.Done(nil)
		return
	}
	s.open.Go(func() { to.Done(s.answer(ctx, m, to)) })
}

func (s *server) answer(ctx context.Context, m transport.Message, to transport.Receiver) error {
	id := m.Head.ID
	if m.Head.Method == "initialize" {
		version, _ := rawjson.Text(m.Head.Params.Of(m.Raw), "protocolVersion")
		to.Receive(frame(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"t","version":"1"}}}`, id, version))
		return nil
	}
	if m.Head.Method != "tools/call" {
		to.Receive(&transport.Frame{Head: jsonrpc.ErrorResponse(id, jsonrpc.CodeMethod, "no such method", nil)})
		return nil
	}
	name, _ := rawjson.Text(m.Head.Params.Of(m.Raw), "name")
	tool, arg, _ := strings.Cut(name, ":")
	n, _ := strconv.Atoi(arg)
	switch tool {
	case "echo":
		to.Receive(frame(`{"jsonrpc":"2.0","id":%s,"result":{"big":9007199254740993,"of":%q}}`, id, m.Principal))
	case "notes":
		for i := range n {
			to.Receive(frame(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, i))
		}
		to.Receive(frame(`{"jsonrpc":"2.0","id":%s,"result":{"notes":%d}}`, id, n))
	case "big":
		head := fmt.Appendf(nil, "{\"jsonrpc\":\"2.0\",\n\"id\":%s,\"result\":{\"text\":\"", id)
		to.Receive(&transport.Frame{Head: head, Rest: io.MultiReader(streams.Repeat("x", int64(n)), strings.NewReader("\"}\r\n,\"x\":1\n}"))})
	case "cut":
		head := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"text":"`, id)
		to.Receive(&transport.Frame{Head: head, Rest: io.MultiReader(streams.Repeat("x", int64(n)), failing{})})
	case "ask": // of the client, on no stream that the server knows
		select {
		case <-s.listened: // the endpoint listens beside the first request
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
		s.requests++
		ask := strconv.Itoa(1000 + s.requests)
		waits := make(chan []byte, 1)
		s.asked[ask] = waits
		listener := s.listener
		s.mu.Unlock()
		listener.Receive(frame(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"?"}}`, ask))
		select {
		case raw := <-waits:
			to.Receive(frame(`{"jsonrpc":"2.0","id":%s,"result":{"said":%s}}`, id, raw))
		case <-ctx.Done():
			return ctx.Err()
		}
	case "wait": // until the test says so, or the request is taken back
		to.Receive(frame(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"begun"}}`))
		waits := make(chan []byte, 1)
		s.mu.Lock()
		s.asked[arg] = waits
		s.mu.Unlock()
		select {
		case <-waits:
			to.Receive(frame(`{"jsonrpc":"2.0","id":%s,"result":{"waited":true}}`, id))
		case <-ctx.Done():
			return ctx.Err()
		}
	case "fail":
		return errors.New("the server is gone: status 3")
	case "code":
		to.Receive(&transport.Frame{Head: jsonrpc.ErrorResponse(id, n, "as asked", nil)})
	}
	return nil
}

// release lets a waiting call go on; it reports whether there is one.
func (s *server) release(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits := s.asked[name]
	if waits == nil {
		return false
	}
	delete(s.asked, name)
	waits <- nil
	return true
}

func (s *server) Listen(ctx context.Context, header http.Header, to transport.Receiver) {
	if s.onListen != nil && s.onListen(ctx, header, to) {
		return
	}
	s.mu.Lock()
	s.listener = to
	s.mu.Unlock()
	s.listens.Do(func() { close(s.listened) })
	<-ctx.Done()
	to.Done(nil)
}

func (s *server) End(_ context.Context, header http.Header, to transport.Receiver) {
	if s.onEnd != nil {
		s.onEnd(header, to)
	}
	to.Done(nil)
}

func (s *server) Close() error {
	s.once.Do(func() { close(s.closed) })
	s.open.Wait()
	return nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
