package toolbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
)

// The pauses between attempts to reach a server that has not answered yet.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

const (
	// staleWait bounds the wait of List for a list that has changed, before it returns the one
	// that it has.
	staleWait = 5 * time.Second
	// staleAfter is the age at which a list is asked for again: not every server reports
	// its changes.
	staleAfter = 10 * time.Minute
)

// Bounds of the instructions of one server and of all, in bytes: they are part of every request.
const (
	maxInstructions    = 2 << 10
	maxAllInstructions = 8 << 10
)

// serverSession is an MCP client session with one server, through the gateway. When the server's process ends, the gateway starts it again
// within the same session.
type serverSession struct {
	b         *Toolbox
	name      string
	prefix    string // of its tools; "" is none
	functions bool   // the server has Options.Functions
	queries   bool   // kept results can be queried
	gateway   *gateway.Server
	own       bool // the gateway was made here

	serial  atomic.Int64
	calls   atomic.Int64
	replies chan struct{} // a slot for each answer to a request of the server

	mu           sync.Mutex
	peer         transport.Peer // nil until the server has answered initialize
	instructions string         // what the server says about the use of its tools
	tools        []tool
	names        result.Names // of the tools that read kept results
	reads        bool         // the server has such tools
	hidden       int          // tools that were left out
	listedAt     time.Time
	stale        bool // the server has announced a change of its list
	err          error
	pause        time.Duration
	retryAt      time.Time // the earliest time of the next attempt
	listing      *listAttempt
	closed       bool
}

// listAttempt is an attempt to list the tools of a server. Several callers may wait for it.
type listAttempt struct {
	done chan struct{}
	err  error // valid when done is closed
}

func newServerSession(b *Toolbox, name string) *serverSession {
	return &serverSession{b: b, name: name, replies: make(chan struct{}, maxReplies)}
}

// useOwnGateway makes the gateway of this session, which close closes.
func (l *serverSession) useOwnGateway(o gateway.ServerOptions) {
	l.gateway, l.own, l.queries = gateway.NewServer(o), true, len(o.Query) > 0
}

// refresh lists the tools again if that is due. With wait set it waits for the list until ctx ends; otherwise it returns at once. The error
// is why there is no current list; without wait it is nil while an attempt is under way.
func (l *serverSession) refresh(ctx context.Context, wait bool) error {
	l.mu.Lock()
	fresh := l.peer != nil && l.err == nil && !l.stale && time.Since(l.listedAt) < staleAfter
	switch {
	case l.closed:
		l.mu.Unlock()
		return ErrClosed
	case fresh, l.listing == nil && time.Now().Before(l.retryAt):
		err := l.err
		l.mu.Unlock()
		return err
	case l.listing == nil:
		l.listing = &listAttempt{done: make(chan struct{})}
		go l.connectAndList(l.listing)
	}
	t := l.listing
	l.mu.Unlock()
	if !wait {
		return nil
	}
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// connectAndList connects, unless there is a connection, lists the tools, and ends t with the outcome.
func (l *serverSession) connectAndList(t *listAttempt) {
	ctx, cancel := context.WithTimeout(l.b.ctx, l.b.o.Start)
	defer cancel()
	l.mu.Lock()
	p := l.peer
	l.stale = false // what changes from now on counts anew
	l.mu.Unlock()
	var err error
	if p == nil {
		p, err = l.connect(ctx)
	}
	var tools []tool
	hidden := 0
	if err == nil {
		tools, hidden, err = l.fetchTools(ctx, p)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the MCP server %s did not answer within %v: check that it speaks MCP, or allow more time (Start)", l.name, l.b.o.Start)
	}
	l.mu.Lock()
	l.listing = nil
	if l.err = err; err != nil {
		l.pause = min(max(2*l.pause, firstPause), lastPause)
		l.retryAt = time.Now().Add(l.pause)
	} else {
		l.pause, l.retryAt, l.listedAt = 0, time.Time{}, time.Now()
		l.setTools(tools, hidden)
	}
	var unused transport.Peer
	if l.peer == nil && p != nil {
		if err == nil && !l.closed {
			l.peer = p
		} else {
			unused = p
		}
	}
	l.mu.Unlock()
	if unused != nil {
		_ = unused.Close()
	}
	if err == nil {
		l.b.buildCatalogue()
	}
	t.err = err
	close(t.done)
}

// setTools sets a new list of tools. If the list has only the tools that the gateway adds, the server behind it is down: then its old tools
// stay in the list, and calls of them fail. The caller holds mu.
func (l *serverSession) setTools(tools []tool, hidden int) {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].name
	}
	l.names, l.reads = addedNames(names)
	own := tools[:0:0]
	for _, t := range tools {
		if role := roleOf(l.names, t.name); !l.reads || role == noRole {
			own = append(own, t)
		}
	}
	added := tools[:0:0]
	for _, t := range tools {
		if role := roleOf(l.names, t.name); l.reads && role != noRole {
			t.role = role
			added = append(added, t)
		}
	}
	if len(own) == 0 {
		for _, t := range l.tools {
			if t.role == noRole {
				own = append(own, t)
			}
		}
	}
	l.tools, l.hidden = append(own, added...), hidden
}

// connect opens an MCP session with the server through the gateway and keeps its instructions.
func (l *serverSession) connect(ctx context.Context) (_ transport.Peer, err error) {
	p := l.gateway.Local()
	hearing, deaf := context.WithCancel(l.b.ctx)
	defer func() {
		if err != nil {
			deaf()
			_ = p.Close()
		}
	}()
	go func() {
		defer deaf()
		p.Listen(hearing, nil, &notificationReceiver{l: l, p: p})
	}()
	// The newest of the versions with sessions: the gateway speaks it with servers of any.
	params := `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"plimsoll-agent","version":"1"}}`
	answer, err := l.request(ctx, p, "initialize", []byte(params))
	if err == nil && rawjson.Get(answer, "result").IsZero() {
		err = fmt.Errorf("the MCP server %s refused initialize: %s", l.name, errorMessage(answer))
	}
	if err != nil {
		return nil, err
	}
	told, _ := rawjson.Text(answer, "result", "instructions")
	l.mu.Lock()
	l.instructions = clip(strings.ToValidUTF8(strings.TrimSpace(told), "\uFFFD"), maxInstructions)
	l.mu.Unlock()
	raw := jsonrpc.NewRequest("", "notifications/initialized", nil)
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return nil, err
	}
	p.Send(ctx, transport.Message{Raw: raw, Head: head, Principal: l.b.principal}, transport.Funcs{})
	return p, nil
}

// request sends a request and returns its answer, which may have at most maxList bytes.
func (l *serverSession) request(ctx context.Context, p transport.Peer, method string, params []byte) ([]byte, error) {
	raw := jsonrpc.NewRequest(l.id(), method, params)
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return nil, err
	}
	return ask(ctx, p, transport.Message{Raw: raw, Head: head, Principal: l.b.principal})
}

// ask calls transport.Ask, but also returns when ctx ends while the message is being sent.
func ask(ctx context.Context, p transport.Peer, m transport.Message) ([]byte, error) {
	type answer struct {
		raw []byte
		err error
	}
	got := make(chan answer, 1)
	go func() {
		raw, err := transport.Ask(ctx, p, m, maxList)
		got <- answer{raw, err}
	}()
	select {
	case a := <-got:
		return a.raw, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// id returns a new id for a request.
func (l *serverSession) id() jsonrpc.ID { return jsonrpc.ID(strconv.FormatInt(l.serial.Add(1), 10)) }

// errorMessage returns the message of a JSON-RPC error, cut; words that it has none if it is empty.
func errorMessage(answer []byte) string {
	text, _ := rawjson.Text(answer, "error", "message")
	if text == "" {
		return "it did not say why"
	}
	return clip(text, 300)
}

// failure returns the error of the last attempt to connect, or one that says that the server has not answered yet; nil if there is a
// connection.
func (l *serverSession) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.peer != nil:
		return nil
	case l.err != nil:
		return l.err
	}
	return fmt.Errorf("the MCP server %s has not answered yet", l.name)
}

// currentPeer returns the connection of the session; nil if there is none.
func (l *serverSession) currentPeer() transport.Peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peer
}

// markStale makes the next refresh list the tools again, because the server announced a change.
func (l *serverSession) markStale() {
	l.mu.Lock()
	l.stale = true
	l.mu.Unlock()
}

// close ends the session: it waits for a listing that is under way, and closes the connection and the gateway if that was made here.
func (l *serverSession) close() error {
	l.mu.Lock()
	p, t := l.peer, l.listing
	l.closed, l.peer = true, nil
	l.mu.Unlock()
	if t != nil {
		<-t.done // its context has ended
	}
	var err error
	if p != nil {
		err = p.Close()
	}
	if l.own {
		err = errors.Join(err, l.gateway.Close())
	}
	return err
}

// Instructions returns the servers' instructions for their tools, for a prompt: at most 2 KiB of each and 8 KiB in all, beyond which those of a
// server are left out. They are the servers' words, and no more to be trusted than the servers.
func (b *Toolbox) Instructions() string {
	var all strings.Builder
	for _, l := range b.sessions {
		l.mu.Lock()
		told := l.instructions
		l.mu.Unlock()
		if told == "" || all.Len()+len(told)+len(l.name)+4 > maxAllInstructions {
			continue
		}
		if l.prefix != "" {
			all.WriteString(l.name + ": ")
		}
		all.WriteString(told + "\n")
	}
	return all.String()
}

const (
	// maxReplies bounds the answers to requests of one server that are being sent at once.
	maxReplies = 16
	// replyWait bounds the sending of one.
	replyWait = 10 * time.Second
)

// notificationReceiver receives the notifications and requests that a server sends by itself. It implements [transport.Receiver].
type notificationReceiver struct {
	l *serverSession
	p transport.Peer
}

func (r *notificationReceiver) Open(transport.Answer) {}

// Receive implements [transport.Receiver]. It answers requests of the server and notes that the server's list of tools has changed.
func (r *notificationReceiver) Receive(f *transport.Frame) {
	h := jsonrpc.ScanStart(f.Head).Head
	switch {
	case h.Kind == jsonrpc.Request:
		r.l.refuse(r.p, h)
	case h.Method == "notifications/tools/list_changed":
		r.l.markStale()
	}
}

func (r *notificationReceiver) Done(error) {}

// refuse answers a request of the server with an error, and a ping with a result. This client has declared no capabilities: it has no user to ask, no
// model to lend and no files to list. Beyond maxReplies at once it answers nothing.
func (l *serverSession) refuse(p transport.Peer, h jsonrpc.Head) {
	select {
	case l.replies <- struct{}{}:
	default: // it floods; what it asks for is not to be had anyway
		l.b.count.unanswered.Add(1)
		return
	}
	raw := jsonrpc.ResultResponse(h.ID, []byte("{}"))
	if h.Method != "ping" {
		l.b.count.refused.Add(1)
		raw = jsonrpc.ErrorResponse(h.ID, jsonrpc.CodeMethod, fmt.Sprintf(
			"this client is an agent without %s: nobody is here to answer; go on with what the call has, or fail it and say what is missing", clip(h.Method, 64)), nil)
	}
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		<-l.replies
		return
	}
	go func() { // who receives must not wait for the server to take something
		defer func() { <-l.replies }()
		ctx, cancel := context.WithTimeout(l.b.ctx, replyWait)
		defer cancel()
		p.Send(ctx, transport.Message{Raw: raw, Head: head, Principal: l.b.principal}, transport.Funcs{})
	}()
}
