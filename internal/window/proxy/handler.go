package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// ServeHTTP checks who asks, finds the upstream that the path names, and relays or refuses the request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, e := p.admitRequest(r)
	if e != nil {
		p.answerRefusal(w, nil, e)
		return
	}
	up, below, ok := p.findUpstream(path)
	if !ok {
		p.answerNoUpstream(w, r, path)
		return
	}
	rt := &route{up: up, below: below}
	rt.classify(r.Method)
	if wantsSocket(r.Header) {
		p.answerUpgrade(w, r, rt)
		return
	}
	switch {
	case !rt.model:
		p.passUnread(w, r, rt, "path", "")
	case p.o.Mode == Off:
		p.passUnread(w, r, rt, "mode", "")
	default:
		p.serveModel(w, r, rt)
	}
}

// admitRequest checks that the sender may use the proxy, and returns the path without the token, or a refusal. The checks are ordered so
// that a page in a browser and another local user learn nothing but that they may not.
func (p *Proxy) admitRequest(r *http.Request) (string, *refusal) {
	if e := p.checkOutside(r); e != nil {
		return "", e
	}
	if r.Method == http.MethodConnect {
		return "", &refusal{
			status: http.StatusMethodNotAllowed, reason: "path",
			text: "this is no proxy for CONNECT: it takes requests to model providers at the addresses that it prints when it starts",
		}
	}
	if hasDotSegment(rawPath(r)) {
		return "", &refusal{
			status: http.StatusBadRequest, reason: "path",
			text: "the path has . or .. as an element, which could lead out of the upstream's base address; send the path without them",
		}
	}
	return p.checkToken(r)
}

// checkOutside makes the checks that hold for every request whatever its path, and returns a refusal, or nil: its Host, the web page on
// whose behalf it comes, and the user of the connection.
func (p *Proxy) checkOutside(r *http.Request) *refusal {
	if e := p.checkHost(r); e != nil {
		return e
	}
	if e := p.checkOrigin(r); e != nil {
		return e
	}
	return p.checkPeer(r)
}

// findUpstream returns the upstream that a path without a token names by its first element, and the path below it; false if it names none.
func (p *Proxy) findUpstream(path string) (*upstream, string, bool) {
	name, below, ok := cutElement(path)
	if !ok {
		return nil, "", false
	}
	// Azure's own client takes an endpoint without a path and adds /openai/deployments/….
	if azure := p.upstreams["azure"]; azure != nil && name == "openai" && strings.HasPrefix(below, "/deployments/") {
		return azure, path, true
	}
	up := p.upstreams[name]
	return up, below, up != nil
}

// answerNoUpstream answers 404 to a path that names no upstream, but 200 to the root, by which some clients see whether the proxy runs.
func (p *Proxy) answerNoUpstream(w http.ResponseWriter, r *http.Request, path string) {
	if (path == "" || path == "/") && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		h := w.Header()
		h["Content-Type"] = []string{"text/plain; charset=utf-8"}
		_, _ = io.WriteString(w, "plimsoll: the window plane is listening\n")
		return
	}
	// The path is not repeated: what looks like a name may be the token of another run.
	p.answerRefusal(w, nil, &refusal{
		status: http.StatusNotFound, reason: "upstream",
		text: "the path begins with no upstream's name; there are: " + strings.Join(slices.Sorted(maps.Keys(p.upstreams)), ", "),
	})
}

// passUnread relays a request without parsing it, and journals the reason with a detail. It refuses one that costs money which a limit on
// spending could not count. The body streams through, unless the request has to be signed.
func (p *Proxy) passUnread(w http.ResponseWriter, r *http.Request, rt *route, reason, detail string) {
	if e := p.checkUncounted(r, rt); e != nil {
		p.answerRefusal(w, rt, e)
		return
	}
	p.journalPassed(rt, reason, detail)
	if r.ContentLength > p.o.MaxBody {
		p.answerRefusal(w, rt, p.tooLarge())
		return
	}
	if rt.up.mustSign(r.Header) { // the signature covers the body
		p.passSigned(w, r, rt)
		return
	}
	p.passBody(w, r, rt, r.Body)
}

// journalPassed journals that a request was relayed unchanged, with the reason and a detail.
func (p *Proxy) journalPassed(rt *route, reason, detail string) {
	p.journalEvent(journal.WindowPassed{Upstream: rt.up.Name, Path: clip(rt.below, 256), Reason: reason, Detail: clip(detail, 256)})
}

// clip returns at most n bytes of the beginning of s, in memory of its own: an event must not keep a whole request alive.
func clip(s string, n int) string { return strings.Clone(limit.Clip(s, n)) }

// passBody sends the request with body, which streams through and may have at most MaxBody bytes, and relays the answer.
func (p *Proxy) passBody(w http.ResponseWriter, r *http.Request, rt *route, body io.ReadCloser) {
	req, err := p.outgoingRequest(r, rt)
	if err != nil {
		_ = body.Close()
		p.answerRefusal(w, rt, badPath(err))
		return
	}
	if r.ContentLength != 0 {
		req.Body = &boundedBody{ReadCloser: body, left: p.o.MaxBody}
		req.ContentLength = r.ContentLength
		req.Trailer = r.Trailer // filled in by the server when the body has been read
	}
	p.relay(w, r, rt, req)
}

// relay sends req to the upstream and the answer to the client.
func (p *Proxy) relay(w http.ResponseWriter, r *http.Request, rt *route, req *http.Request) {
	res, err := p.sendRequest(w, req)
	p.relayAnswer(w, r, rt, res, err)
}

// relayAnswer sends an upstream's answer to the client, or an error answer if err is not nil. It reads a list of models as it passes, for
// their windows, and ends a model's stream that has stalled.
func (p *Proxy) relayAnswer(w http.ResponseWriter, r *http.Request, rt *route, res *http.Response, err error) {
	if err != nil {
		p.upstreamFailed(w, r, rt, err)
		return
	}
	defer res.Body.Close()
	var list *listTap
	if p.o.Mode != Off && rt.isModelList(r.Method) {
		list = newListTap(res)
	}
	writeHead(w, res)
	if list == nil {
		var see func([]byte)
		watch := p.watchStall(rt, res, res.Body, rt.up.modelsName(), false, false)
		defer watch.stop()
		if watch != nil {
			see = watch.see
		}
		e := relayBody(w, res, nil, watch, see)
		if errors.Is(e.err, errStalled) {
			watch.end(p, w, res, rt, &e)
		}
		abortIfCut(e)
		return
	}
	e := relayBody(w, res, nil, nil, list.add)
	if e.how == "complete" {
		p.o.Resolver.Tell(rt.up.modelsName(), readList(list.text()))
	}
	abortIfCut(e)
}

// outgoingRequest returns the request to the upstream without its body: what the client sent, less the proxy's token and what belongs to the one
// connection, with the upstream's key where one is configured. The error is a path with a broken escape.
func (p *Proxy) outgoingRequest(r *http.Request, rt *route) (*http.Request, error) {
	target, err := rt.up.target(rt.below, r.URL.RawQuery, r.URL.ForceQuery)
	if err != nil {
		return nil, err
	}
	h := make(http.Header, len(r.Header)+2)
	maps.Copy(h, r.Header)
	dropHopByHop(h)
	if hasToken(r.Header["Te"], "trailers") {
		h["Te"] = []string{"trailers"}
	}
	p.dropToken(h, target)
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = nil // net/http would add its own
	}
	rt.up.injectKey(h, target)
	req := &http.Request{
		Method: r.Method, URL: target, Host: target.Host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
	}
	return req.WithContext(r.Context()), nil
}

// hopByHop are the headers that belong to one connection (RFC 9110, 7.6.1), and the older
// ones that proxies have always taken off.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// dropHopByHop removes the headers that belong to one connection alone, and those that Connection names.
func dropHopByHop(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				h.Del(name)
			}
		}
	}
	for _, name := range hopByHop {
		delete(h, name)
	}
}

// hasToken reports whether a comma-separated header, of one line or several, has an item, in upper or lower case.
func hasToken(lines []string, token string) bool {
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(item), token) {
				return true
			}
		}
	}
	return false
}

// sendRequest sends req and returns the upstream's answer. It forwards to w the 1xx statuses that arrive before, but not 100, which
// net/http sends itself. A 1xx as the final status and a refusal by the forward proxy are errors.
func (p *Proxy) sendRequest(w http.ResponseWriter, req *http.Request) (*http.Response, error) {
	var mu sync.Mutex
	over := false // w is the handler's again: a request that was given up may still hear a 1xx
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
		mu.Lock()
		defer mu.Unlock()
		if over || code == http.StatusContinue {
			return nil
		}
		h := w.Header()
		maps.Copy(h, header)
		w.WriteHeader(code)
		clear(h)
		return nil
	}}
	res, err := p.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	mu.Lock()
	over = true
	mu.Unlock()
	if err == nil && (res.StatusCode < 200 || res.StatusCode > 999) { // 101 to a request that asked for no other protocol
		_ = res.Body.Close()
		return nil, fmt.Errorf("its status is %d, which ends no request", res.StatusCode)
	}
	if err == nil {
		if err = forwardproxy.Refused(req, res); err != nil {
			_ = res.Body.Close()
			return nil, err
		}
	}
	return res, err
}

// upstreamFailed answers 502, or 504 after a timeout, when the upstream could not be asked or sent no answer. It panics with
// http.ErrAbortHandler when the client is gone.
func (p *Proxy) upstreamFailed(w http.ResponseWriter, r *http.Request, rt *route, err error) {
	if r.Context().Err() != nil { // the client is gone, nobody reads an answer
		p.journalEvent(journal.WindowResponse{Upstream: rt.up.Name, Dialect: rt.dialect.String(), Request: rt.request, Ended: "client_gone"})
		panic(http.ErrAbortHandler)
	}
	if errors.Is(err, errBodyTooLarge) {
		p.answerRefusal(w, rt, p.tooLarge())
		return
	}
	e := &refusal{status: http.StatusBadGateway, reason: "upstream"}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		e.status = http.StatusGatewayTimeout
	}
	// The error of net/http names the URL, whose query may hold a key.
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	e.text = fmt.Sprintf("upstream %s at %s gave no answer: %v", rt.up.Name, rt.up.base.Host, err)
	p.answerRefusal(w, rt, e)
}

// badPath returns the refusal of a request whose path cannot be forwarded because of err.
func badPath(err error) *refusal {
	return &refusal{status: http.StatusBadRequest, reason: "upstream", text: "the request cannot be forwarded: " + err.Error()}
}

// tooLarge returns the refusal of a body that is larger than MaxBody.
func (p *Proxy) tooLarge() *refusal {
	return &refusal{
		status: http.StatusRequestEntityTooLarge, reason: "too_large",
		text: fmt.Sprintf("the body is larger than %d bytes, the most this proxy lets through", p.o.MaxBody),
	}
}

var errBodyTooLarge = errors.New("the body is larger than this proxy lets through")

// A boundedBody is a body whose Read fails with errBodyTooLarge once more than left bytes were read.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read reads from the body, and fails with errBodyTooLarge once more than the limit was read.
func (b *boundedBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	if b.left -= int64(n); b.left < 0 {
		return 0, errBodyTooLarge
	}
	return n, err
}
