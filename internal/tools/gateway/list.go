package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// askTimeout bounds the time for a list of tools that the gateway requests itself. After it the tools count as unknown.
const askTimeout = 15 * time.Second

// refetchPause is the shortest time between two requests for a list because the server reported a change.
const refetchPause = 5 * time.Second

// handleList answers tools/list with the server's tools, all pages in one, and the added tools. A server without tools is not asked.
func (s *Session) handleList(ctx context.Context, m transport.Message, p params, x *exchange) {
	if s.o.Catalogue.hasNoTools() {
		if s.o.Bare {
			x.reply(jsonrpc.ResultResponse(m.Head.ID, []byte(`{"tools":[]}`)))
			return
		}
		x.reply(jsonrpc.ResultResponse(m.Head.ID, emptyList(s.o.Names, p.modern())))
		return
	}
	l := &lister{s: s, ctx: ctx, m: m, p: p, x: x, version: s.o.Catalogue.currentVersion()}
	_, l.later = rawjson.Text(m.Raw, "params", "cursor")
	s.o.Next.Send(ctx, m, s.watchedReceiver(ctx, m, l))
}

// lister is the receiver of the first page of a list that a client asked for.
type lister struct {
	s       *Session
	ctx     context.Context
	m       transport.Message
	p       params
	x       *exchange
	version uint64
	later   bool // the client's request has a cursor

	first []byte // the response with the first page, while more pages are to be asked for
	event transport.Event
	pages pages
}

// Open passes the answer's status on.
func (l *lister) Open(a transport.Answer) { l.x.Open(a) }

// Receive implements [transport.Receiver]: it keeps the first page, or answers at once if there are no more. A page that cannot be read is passed
// on as it is, unless some tools are forbidden.
func (l *lister) Receive(f *transport.Frame) {
	defer l.x.recover()
	if f.Bare() || f.Start().Head.Kind != jsonrpc.Response || l.first != nil {
		l.x.Receive(f)
		return
	}
	if err := f.ReadAll(MaxListBytes); err != nil {
		l.deliverCut(f, err)
		return
	}
	head, err := jsonrpc.Scan(f.Head)
	if err != nil || head.Result.IsZero() {
		l.x.Receive(f) // an error of the server, or what its client must judge
		return
	}
	if err := l.pages.add(head.Result.Of(f.Head)); err != nil {
		if l.s.o.Settings.restrictsTools() {
			l.x.Receive(l.errorFrame(err))
			return
		}
		l.x.Receive(f)
		return
	}
	l.event = f.Event
	if !l.pages.wantsMore() {
		l.deliver(f.Head)
		return
	}
	l.first = append([]byte(nil), f.Head...)
	l.pages.reparse(l.first, head.Result) // the frame ends with this call
}

// Done requests the other pages in a new goroutine and then answers. If there are none, it passes err on.
func (l *lister) Done(err error) {
	if l.first == nil || err != nil {
		l.x.Done(err)
		return
	}
	go func() {
		defer l.x.recover()
		ctx, cancel := l.s.cancellable(l.ctx, l.m.Head.ID)
		defer cancel()
		l.s.morePages(ctx, l.m, l.p, &l.pages)
		if ctx.Err() == nil {
			l.deliver(l.first)
		}
		l.x.Done(ctx.Err())
	}()
}

// deliver answers the client with the list made of the pages so far, stores the tools in the catalogue, unless the client asked for a later
// page, and writes the event. first is the server's response with the first page.
func (l *lister) deliver(first []byte) {
	head, err := jsonrpc.Scan(first)
	if err != nil {
		l.x.Receive(&transport.Frame{Head: first, Event: l.event})
		return
	}
	s := l.s
	var added [][]byte
	var whole map[string]bool
	rest := l.pages.next
	if !l.later { // else it is a part of a list, of which nothing follows
		k := s.storeList(l.m.Principal, l.version, l.pages.tools)
		if !s.o.Bare {
			added = addedTools(k.names)
		}
		if s.shortens(l.p) {
			var finder [][]byte
			if whole, finder = s.chooseFull(k, added); finder != nil {
				added, rest = append(added, finder...), ""
			}
		}
	}
	e := editList(l.pages.tools, &s.o.Settings, added, s.o.through != nil, whole)
	listed := journal.ToolsListed{Server: s.o.Name, Tools: e.shown, Hidden: e.hidden, Deferred: e.deferred, Long: e.long, Bytes: int64(len(e.array)), Rest: l.pages.next != ""}
	if s.o.Definitions.Count != nil {
		listed.Tokens, listed.Defers = s.o.Definitions.Count(e.array), s.profile(l.p).Defers
	}
	s.event(listed)
	out, err := listResponse(first, head.Result, e.array, rest, l.p.modern())
	if err != nil {
		l.x.Receive(l.errorFrame(err))
		return
	}
	l.x.Receive(&transport.Frame{Head: out, Event: l.event})
}

// deliverCut answers if a page is larger than MaxListBytes: with the tools that are complete within the bound and no cursor, or with an error if
// there are none. The rest of the page is not read.
func (l *lister) deliverCut(f *transport.Frame, err error) {
	tools := toolsBefore(f.Head)
	if errors.Is(err, transport.ErrTooLarge) {
		l.s.event(journal.ToolNoise{Server: l.s.o.Name, What: tooLargeList, Bytes: int64(len(f.Head))})
	}
	if !errors.Is(err, transport.ErrTooLarge) || len(tools) == 0 {
		l.x.Receive(l.errorFrame(fmt.Errorf("the list of tools of %s could not be read (at most %s are): %w", quoteName(l.s.o.Name), limit.Bytes(MaxListBytes).Human(), err)))
		return
	}
	l.pages.tools, l.event = tools, f.Event
	l.deliver(jsonrpc.ResultResponse(l.m.Head.ID, []byte(`{"tools":[]}`)))
}

// tooLargeList is the What of the event for a server whose list of tools is larger than [MaxListBytes].
const tooLargeList = "list"

// errorFrame returns an error response with err's text.
func (l *lister) errorFrame(err error) *transport.Frame {
	return &transport.Frame{Head: jsonrpc.ErrorResponse(l.m.Head.ID, jsonrpc.CodeInternal, err.Error(), nil), Event: l.event}
}

// pages gathers the pages of a list, within MaxListPages, MaxListBytes and MaxListTools.
type pages struct {
	tools []listed
	next  string // where the server goes on; "" at the end
	seen  map[string]bool
	count int
	bytes int
}

// add adds the tools of one page, whose raw result this is. A cursor that was seen before counts as the end, as the server goes in circles.
func (p *pages) add(raw []byte) error {
	tools, next, err := parseTools(raw)
	if err != nil {
		return err
	}
	p.tools = append(p.tools, tools...)
	p.count++
	p.bytes += len(raw)
	p.next = next
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	if p.seen[next] { // the server goes in circles
		p.next = ""
	}
	p.seen[next] = true
	return nil
}

// reparse parses the tools of the first page again from message, so that they stay valid; at is the span of the result in it.
func (p *pages) reparse(message []byte, at rawjson.Span) {
	p.tools, _, _ = parseTools(at.Of(message))
}

// wantsMore reports whether there is a further page and none of the bounds is reached.
func (p *pages) wantsMore() bool {
	return p.next != "" && p.count < MaxListPages && p.bytes < MaxListBytes && len(p.tools) < MaxListTools
}

// morePages requests the pages after the first and adds them to to. It stops at a page that fails; to.next is the cursor of that page then, so
// that the client can request it itself.
func (s *Session) morePages(ctx context.Context, m transport.Message, p params, to *pages) {
	for to.wantsMore() {
		raw, err := s.askPage(ctx, m, p, to.next, MaxListBytes-int64(to.bytes))
		if err != nil || to.add(raw) != nil {
			return
		}
	}
}

// askPage requests one page of the list, the first if cursor is "", and returns the raw result. More than maxBytes are an error.
func (s *Session) askPage(ctx context.Context, m transport.Message, p params, cursor string, maxBytes int64) ([]byte, error) {
	var members []byte
	if cursor != "" {
		members = append([]byte(`"cursor":`), rawjson.Quote(nil, cursor)...)
	}
	question, err := newRequest(m, p, s.newID(), "tools/list", members)
	if err != nil {
		return nil, err
	}
	answer, err := transport.Ask(ctx, s.o.Next, question, maxBytes)
	if err != nil {
		return nil, err
	}
	head, err := jsonrpc.Scan(answer)
	if err != nil {
		return nil, err
	}
	if head.Result.IsZero() {
		return nil, errors.New("the server answers tools/list with an error")
	}
	return head.Result.Of(answer), nil
}

// storeList stores a list of tools in the catalogue, with the names that the added tools get, and returns the stored list. version is the
// catalogue's at the time when the list was requested.
func (s *Session) storeList(principal string, version uint64, tools []listed) *toolList {
	k := &toolList{traits: traitsOf(tools, &s.o.Settings), version: version, at: time.Now()}
	h := sha256.New()
	for _, t := range tools {
		h.Write(t.raw)
		h.Write([]byte{'\n'})
	}
	h.Sum(k.sum[:0])
	owned := func(name string) bool { _, ok := k.traits[name]; return ok }
	k.names, k.finder = namesFor(owned), finderNamesFor(owned)
	if s.o.Definitions.Max > 0 {
		k.tools = permittedTools(tools, &s.o.Settings, s.o.through != nil)
	}
	if s.o.Bare {
		k.names = s.o.Names
	}
	return s.o.Catalogue.put(principal, k)
}

// retryPause is the pause before a server that gave no list is asked for it again.
const retryPause = 30 * time.Second

// listRequest is a list under way that several calls wait for.
type listRequest struct{ done chan struct{} }

// knownTools returns the principal's list of tools. If there is none, or an outdated one older than refetchPause, it requests the list and
// waits; calls of one principal share that request. The result is nil, or the outdated list, if ctx ends first. Nothing is requested of a
// server that has said that it has no tools.
func (s *Session) knownTools(ctx context.Context, m transport.Message, p params) *toolList {
	k, stale := s.o.Catalogue.get(m.Principal)
	if k != nil && (!stale || time.Since(k.at) < refetchPause) || s.o.Catalogue.hasNoTools() {
		return k
	}
	s.mu.Lock()
	a := s.asking[m.Principal]
	mine := a == nil
	if mine {
		a = &listRequest{done: make(chan struct{})}
		if s.asking == nil {
			s.asking = map[string]*listRequest{}
		}
		s.asking[m.Principal] = a
	}
	s.mu.Unlock()
	if mine {
		go s.requestList(m, p, a)
	}
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	k, _ = s.o.Catalogue.get(m.Principal)
	return k
}

// requestList requests all pages of the principal's list, stores it in the catalogue, and closes a.done. If that fails, an empty list that is
// marked as failed is stored.
func (s *Session) requestList(m transport.Message, p params, a *listRequest) {
	defer func() {
		_ = recover() // it costs this list; the calls go on without it
		s.mu.Lock()
		delete(s.asking, m.Principal)
		s.mu.Unlock()
		close(a.done)
	}()
	ctx, cancel := context.WithTimeout(s.ctx, askTimeout)
	defer cancel()
	version := s.o.Catalogue.currentVersion()
	var all pages
	raw, err := s.askPage(ctx, m, p, "", MaxListBytes)
	if err != nil || all.add(raw) != nil {
		s.o.Catalogue.put(m.Principal, &toolList{version: version, at: time.Now(), names: s.names(m.Principal), failed: true})
		return
	}
	s.morePages(ctx, m, p, &all)
	s.storeList(m.Principal, version, all.tools)
}
