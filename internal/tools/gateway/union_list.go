package gateway

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// listTimeout bounds the time that one server may delay a list of all servers.
const listTimeout = 30 * time.Second

// The shortest and the longest pause between attempts to reach a server that is gone.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// listEntries requests all pages of a list from one server and returns its raw entries, within the bounds of a list of tools. ok is false if a
// request failed. A server that answers without the list, such as with an error, has no entries, and ok is true.
func (u *union) listEntries(ctx context.Context, c *part, m transport.Message, method, member string) (entries [][]byte, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	p := parseParams(m)
	cursor, size := "", 0
	for range MaxListPages {
		var members []byte
		if cursor != "" {
			members = append([]byte(`"cursor":`), rawjson.Quote(nil, cursor)...)
		}
		question, err := newRequest(m, p, c.session.newID(), method, members)
		if err != nil {
			return entries, false
		}
		answer, err := transport.Ask(ctx, c.session, question, MaxListBytes-int64(size))
		if err != nil {
			return entries, false
		}
		list := rawjson.Get(answer, "result", member)
		if list.IsZero() {
			return entries, true // it has none: an error says so
		}
		for v, err := range rawjson.Elements(answer, list.Start) {
			if err != nil || len(entries) == MaxListTools {
				break
			}
			entries = append(entries, v.Of(answer))
		}
		size += len(answer)
		next, _ := rawjson.Text(answer, "result", "nextCursor")
		if next == "" || next == cursor || size >= MaxListBytes {
			break
		}
		cursor = next
	}
	return entries, true
}

// handleList answers with the entries of all servers that live, with merged names if prefixed is set; else it notes from which server each
// entry came. A server that fails is left out and marked as lost, one that answers as found. If ctx ends first, that ends the call without
// an answer.
func (u *union) handleList(ctx context.Context, m transport.Message, to transport.Receiver, member string, prefixed bool) {
	lists := make([][][]byte, len(u.parts))
	u.forEach(func(c *part) {
		if !u.isReachable(c) && !u.modern {
			return
		}
		entries, ok := u.listEntries(ctx, c, m, m.Head.Method, member)
		if !ok && ctx.Err() == nil {
			u.markLost(c)
			return
		}
		u.markFound(c)
		lists[c.index] = entries
	})
	if ctx.Err() != nil {
		to.Done(ctx.Err())
		return
	}
	b := []byte(`{"` + member + `":[`)
	for i, entries := range lists {
		c := u.parts[i]
		for _, raw := range entries {
			if prefixed {
				raw = withMergedName(raw, c)
			} else {
				u.m.paths.addEntry(raw, i)
			}
			if b[len(b)-1] != '[' {
				b = append(b, ',')
			}
			b = append(b, raw...)
		}
	}
	b = append(b, ']')
	if u.modern {
		b = append(b, `,"resultType":"complete","ttlMs":0,"cacheScope":"private"`...)
	}
	transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, append(b, '}')))
}

// withMergedName returns an entry of c's list with its name in the merged form; unchanged if it has no name.
func withMergedName(raw []byte, c *part) []byte {
	at := rawjson.Get(raw, "name")
	if at.IsZero() || raw[at.Start] != '"' {
		return raw
	}
	name := string(rawjson.Unquote(nil, at.Of(raw)))
	out, err := rawjson.Splice(raw, []rawjson.Edit{{Span: at, With: rawjson.Quote(nil, c.mergedName(name))}})
	if err != nil {
		return raw
	}
	return out
}

// sendByResource sends a request to the server that has listed the resource, or has a template that fits it; path leads to the URI in params. If
// there is none, all servers are asked for their lists. Then, if there is still none, the only server that has any resources gets the request;
// otherwise it is refused.
func (u *union) sendByResource(ctx context.Context, m transport.Message, to transport.Receiver, path ...string) {
	uri, _ := rawjson.Text(m.Raw, append([]string{"params"}, path...)...)
	if i, ok := u.m.paths.find(uri); ok && i < len(u.parts) {
		u.forwardTo(ctx, m, to, u.parts[i])
		return
	}
	go func() { // nobody has listed it yet
		var mu sync.Mutex
		var able []*part
		u.forEach(func(c *part) {
			n := 0
			for method, member := range map[string]string{"resources/list": "resources", "resources/templates/list": "resourceTemplates"} {
				entries, _ := u.listEntries(ctx, c, m, method, member)
				for _, raw := range entries {
					u.m.paths.addEntry(raw, c.index)
				}
				n += len(entries)
			}
			if n > 0 {
				mu.Lock()
				able = append(able, c)
				mu.Unlock()
			}
		})
		i, ok := u.m.paths.find(uri)
		switch {
		case ok:
			u.forwardTo(ctx, m, to, u.parts[i])
		case len(able) == 1:
			u.forwardTo(ctx, m, to, able[0])
		default:
			code := -32002 // resource not found, as the version with sessions has it
			if u.modern {
				code = jsonrpc.CodeParams
			}
			u.refuse(m, to, code, "Unknown resource: no server has listed it and no template fits it.")
		}
	}()
}

// Bounds of what is remembered of resources, for all clients of a merged endpoint together.
const (
	maxPaths     = 16 << 10
	maxTemplates = 1024
)

// resourceMap remembers which server listed a resource or template, by the server's index.
type resourceMap struct {
	mu        sync.Mutex
	by        map[string]int
	order     []string
	templates []template
}

// template holds a URI template as the literal texts before, between and behind its variables.
type template struct {
	literals    []string
	serverIndex int
}

// addEntry records which server has listed a resource or a template. The oldest of more than maxPaths resources is dropped; templates beyond
// maxTemplates are not recorded.
func (r *resourceMap) addEntry(raw []byte, serverIndex int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if uri, ok := rawjson.Text(raw, "uri"); ok && len(uri) <= 4<<10 {
		if r.by == nil {
			r.by = map[string]int{}
		}
		if _, ok := r.by[uri]; !ok {
			if len(r.order) >= maxPaths {
				delete(r.by, r.order[0])
				r.order = r.order[1:]
			}
			r.order = append(r.order, uri)
		}
		r.by[uri] = serverIndex
	}
	if t, ok := rawjson.Text(raw, "uriTemplate"); ok && len(t) <= 4<<10 {
		literals := literalsOf(t)
		same := func(o template) bool { return o.serverIndex == serverIndex && slices.Equal(o.literals, literals) }
		if len(r.templates) < maxTemplates && !slices.ContainsFunc(r.templates, same) {
			r.templates = append(r.templates, template{literals, serverIndex})
		}
	}
}

// literalsOf returns the literal texts of a URI template, around its {expressions}.
func literalsOf(t string) []string {
	var out []string
	for {
		before, rest, ok := strings.Cut(t, "{")
		out = append(out, before)
		if !ok {
			return out
		}
		_, t, _ = strings.Cut(rest, "}")
	}
}

// fits reports whether a URI has the template's literal texts, in their order, at its beginning and end.
func (t template) fits(uri string) bool {
	if len(t.literals) == 1 {
		return uri == t.literals[0]
	}
	if !strings.HasPrefix(uri, t.literals[0]) {
		return false
	}
	uri = uri[len(t.literals[0]):]
	for _, l := range t.literals[1 : len(t.literals)-1] {
		i := strings.Index(uri, l)
		if i < 0 {
			return false
		}
		uri = uri[i+len(l):]
	}
	return strings.HasSuffix(uri, t.literals[len(t.literals)-1])
}

// find returns the index of the server that has listed the resource, or else of the one with the fitting template that has the most literal text;
// ok is false if there is none.
func (r *resourceMap) find(uri string) (serverIndex int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, ok := r.by[uri]; ok {
		return i, true
	}
	best := -1
	for _, t := range r.templates {
		if n := len(strings.Join(t.literals, "")); n > best && t.fits(uri) {
			best, serverIndex = n, t.serverIndex
		}
	}
	return serverIndex, best >= 0
}

// isReachable reports whether a server is not marked as lost.
func (u *union) isReachable(c *part) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !c.down
}

// markLost marks a server as one that cannot be reached: its lists are left out, the client is told of the change, and retries begin.
func (u *union) markLost(c *part) {
	u.mu.Lock()
	was := c.down
	c.down = true
	start := !u.retrying
	u.retrying = true
	u.mu.Unlock()
	if !was {
		u.notifyChanged()
	}
	if start {
		go u.retryLost()
	}
}

// markFound marks a server as reachable; if it was not, the client is told that the lists have changed.
func (u *union) markFound(c *part) {
	u.mu.Lock()
	was := c.down
	c.down = false
	u.mu.Unlock()
	if was {
		u.notifyChanged()
	}
}

// retryLost tries to reach the servers that are marked as lost, with growing pauses, until all are back or the union is closed.
func (u *union) retryLost() {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-u.ctx.Done():
			t.Stop()
			return
		}
		u.forEach(func(c *part) {
			if !u.isReachable(c) && u.reconnect(c) {
				u.markFound(c)
			}
		})
		u.mu.Lock()
		done := !slices.ContainsFunc(u.parts, func(c *part) bool { return c.down })
		if done {
			u.retrying = false
		}
		u.mu.Unlock()
		if done {
			return
		}
	}
}

// notifyChanged tells every client that listens that the lists of tools, prompts and resources have changed.
func (u *union) notifyChanged() {
	for _, what := range []string{"tools", "prompts", "resources"} {
		u.notifyAll(jsonrpc.NewRequest("", "notifications/"+what+"/list_changed", nil))
	}
}
