package gateway

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/result"
)

// callTool answers tools/call.
func (s *Session) callTool(ctx context.Context, m transport.Message, p params, x *exchange) {
	if !s.o.Bare {
		switch n := s.names(m.Principal); p.name {
		case n.Page, n.Search, n.Query:
			s.read(ctx, m, p, x, n)
			return
		}
		if s.o.Definitions.Max > 0 && isFinder(p.name) {
			s.found(ctx, m, p, x)
			return
		}
	}
	s.callNamed(ctx, m, p, x)
}

// callNamed sends a call of a tool of the server's on its way.
func (s *Session) callNamed(ctx context.Context, m transport.Message, p params, x *exchange) {
	if s.o.through != nil {
		s.o.Next.Send(ctx, m, s.watched(ctx, m, x))
		return
	}
	set := &s.o.Settings
	c := &call{method: result.CallTool, tool: p.name, limits: set.limitsOf(p.name)}
	if set.restrictsTools() && !set.allows(p.name) {
		s.refuse(x, p.name, "denied", fmt.Sprintf("Unknown tool: %s is not allowed here. tools/list shows the tools that are.", quoted(p.name)))
		return
	}
	s.allowed(ctx, m, p, x, c)
}

// schemaWait is how long a call waits for a list that says no more than how a page of its result may look.
const schemaWait = 2 * time.Second

// allowed continues a call whose tool name is permitted.
func (s *Session) allowed(ctx context.Context, m transport.Message, p params, x *exchange, c *call) {
	set := &s.o.Settings
	known, stale := s.o.Catalogue.get(m.Principal)
	decides := set.ReadOnly || c.limits.Augment || c.limits.Schema == KeepSchema || ctx.Value(skipReuse{}) != nil
	// Clients hold structuredContent to a schema that they may have from an earlier session, or ask for afterwards.
	schema := c.limits.pages() && c.limits.Schema != StripSchema
	if known == nil && (decides || schema) || stale && decides {
		// What the policy says of this call depends on the list. Nobody else waits for it.
		go func() {
			defer x.recover()
			waiting, cancel := s.cancellable(ctx, m.Head.ID)
			defer cancel()
			asking := waiting
			if !decides {
				var done context.CancelFunc
				asking, done = context.WithTimeout(waiting, schemaWait)
				defer done()
			}
			known := s.learn(asking, m, p)
			if waiting.Err() != nil {
				x.Done(waiting.Err())
				return
			}
			s.uncancellable(m.Head.ID)
			s.permitted(ctx, m, p, x, c, known)
		}()
		return
	}
	if known == nil && c.limits.Reuse > 0 {
		go s.learn(s.ctx, cloned(m), p) // for the next call; this one goes on as one of an unknown tool
	}
	s.permitted(ctx, m, p, x, c, known)
}

// permitted continues a call once the tool's definition is known, or known to be unavailable.
func (s *Session) permitted(ctx context.Context, m transport.Message, p params, x *exchange, c *call, known *toolList) {
	t := known.trait(p.name)
	if s.o.Settings.ReadOnly && !t.readOnly {
		s.refuse(x, p.name, "read_only", fmt.Sprintf("Unknown tool: %s is not allowed here, because it does not say that it changes nothing (readOnlyHint) and only such tools may be used. tools/list shows them.", quoted(p.name)))
		return
	}
	if ctx.Value(skipReuse{}) != nil && !t.readOnly {
		// The result may be of another server that is called the same.
		s.refuse(x, p.name, "read_only", fmt.Sprintf("refresh is not possible: %s does not say here that it changes nothing (readOnlyHint); to run it again, call it yourself.", quoted(p.name)))
		return
	}
	c.readOnly = t.readOnly
	c.known = known
	if t.paged {
		if !s.takePageArguments(&m, &p, c, x) {
			return
		}
	}
	if !t.readOnly {
		s.forgetReusable()
	} else if c.limits.Reuse > 0 && c.requested == nil && ctx.Value(skipReuse{}) == nil {
		if d, ok := callDigest(m.Principal, m.Head.Params.Of(m.Raw)); ok {
			s.mu.Lock()
			handle, age, ok := s.reuse.take(d, c.limits.Reuse, time.Now())
			c.writes = s.reuse.writes
			s.mu.Unlock()
			if ok && s.answerFromSpool(ctx, m, p, x, c, handle, age) {
				return
			}
			c.digest, c.reusable = d, true
		}
	}
	s.forward(ctx, m, p, x, c)
}

// forgetReusable drops remembered results, because a call began or ended that may have changed them.
func (s *Session) forgetReusable() {
	s.mu.Lock()
	s.reuse.clear()
	s.mu.Unlock()
}

// takePageArguments removes the arguments that the gateway added to the tool's schema.
func (s *Session) takePageArguments(m *transport.Message, p *params, c *call, x *exchange) bool {
	raw, requested, found, err := stripped(m.Head.Params.Of(m.Raw))
	if err == nil && found {
		var out []byte
		if out, err = rawjson.Splice(m.Raw, []rawjson.Edit{{Span: m.Head.Params, With: raw}}); err == nil {
			m.Raw = out
			m.Head, err = jsonrpc.Scan(out)
			*p = paramsOf(*m)
			c.requested = &requested
		}
	}
	if err != nil {
		x.reply(result.TextResult(m.Head.ID, err.Error(), true, p.modern()))
		return false
	}
	return true
}

// skipReuse marks the context of a call that must not be answered from the spool.
type skipReuse struct{}

// refuse answers a call that is not passed on.
func (s *Session) refuse(x *exchange, tool, why, text string) {
	s.event(journal.ToolRefused{Server: s.o.Name, Tool: clip(tool), Why: why})
	x.reply(jsonrpc.ErrorResponse(x.id, jsonrpc.CodeParams, text, nil))
}

func quoted(name string) string {
	return strconv.Quote(limit.Cut(name, 128, func(int) string { return "…" }))
}
