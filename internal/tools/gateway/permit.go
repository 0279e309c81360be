package gateway

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// callTool answers a call of a tool that the gateway has added. Any other call is sent to the server, or refused if the settings do not allow the
// tool.
func (s *Session) callTool(ctx context.Context, m transport.Message, p params, x *exchange) {
	if !s.o.Bare {
		switch n := s.names(m.Principal); p.name {
		case n.Page, n.Search, n.Query:
			s.handleRead(ctx, m, p, x, n)
			return
		}
		if s.o.Definitions.Max > 0 && isFinder(p.name) {
			s.handleFinder(ctx, m, p, x)
			return
		}
	}
	s.callNamed(ctx, m, p, x)
}

// callNamed sends a call to the server, or refuses it if the tool's name is not allowed.
func (s *Session) callNamed(ctx context.Context, m transport.Message, p params, x *exchange) {
	if s.o.through != nil {
		s.o.Next.Send(ctx, m, s.watchedReceiver(ctx, m, x))
		return
	}
	set := &s.o.Settings
	c := &call{method: result.CallTool, tool: p.name, limits: set.limitsOf(p.name)}
	if set.restrictsTools() && !set.allows(p.name) {
		s.refuse(x, p.name, "denied", fmt.Sprintf("Unknown tool: %s is not allowed here. tools/list shows the tools that are.", quoteName(p.name)))
		return
	}
	s.callAllowed(ctx, m, p, x, c)
}

// schemaWait bounds the time that a call waits for the list of tools if it only needs the list for the form in which its result is paged.
const schemaWait = 2 * time.Second

// callAllowed goes on with a call whose tool name is allowed. If the list of tools matters for the call and is not known, it first requests the
// list, in a new goroutine.
func (s *Session) callAllowed(ctx context.Context, m transport.Message, p params, x *exchange, c *call) {
	set := &s.o.Settings
	known, stale := s.o.Catalogue.get(m.Principal)
	decides := set.ReadOnly || ctx.Value(refreshing{}) != nil
	// Clients hold structuredContent to a schema that they may have from an earlier session, or ask for afterwards.
	schema := c.limits.paged()
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
			known := s.knownTools(asking, m, p)
			if waiting.Err() != nil {
				x.Done(waiting.Err())
				return
			}
			s.leaveToServer(m.Head.ID)
			s.callIfReadOnly(ctx, m, p, x, c, known)
		}()
		return
	}
	s.callIfReadOnly(ctx, m, p, x, c, known)
}

// callIfReadOnly sends a call to the server. It refuses the call if only tools with readOnlyHint may be called, or this is a refresh, and the tool
// has no such hint. known is the list of tools, nil if it could not be had.
func (s *Session) callIfReadOnly(ctx context.Context, m transport.Message, p params, x *exchange, c *call, known *toolList) {
	t := known.trait(p.name)
	if s.o.Settings.ReadOnly && !t.readOnly {
		s.refuse(x, p.name, "read_only", fmt.Sprintf("Unknown tool: %s is not allowed here, because it does not say that it changes nothing (readOnlyHint) and only such tools may be used. tools/list shows them.", quoteName(p.name)))
		return
	}
	if ctx.Value(refreshing{}) != nil && !t.readOnly {
		// The result may be of another server that is called the same.
		s.refuse(x, p.name, "read_only", fmt.Sprintf("refresh is not possible: %s does not say here that it changes nothing (readOnlyHint); to run it again, call it yourself.", quoteName(p.name)))
		return
	}
	c.readOnly = t.readOnly
	c.known = known
	s.forward(ctx, m, p, x, c)
}

// refreshing is the context key of a call that result_page repeats (argument refresh), which only tools with readOnlyHint allow.
type refreshing struct{}

// refuse answers a call that is not passed on with an error; why is the reason in the event.
func (s *Session) refuse(x *exchange, tool, why, text string) {
	s.event(journal.ToolRefused{Server: s.o.Name, Tool: clip(tool), Why: why})
	x.reply(jsonrpc.ErrorResponse(x.id, jsonrpc.CodeParams, text, nil))
}

// quoteName returns a name in quotation marks for an error text, cut if it is long.
func quoteName(name string) string {
	return strconv.Quote(limit.Cut(name, 128, func(int) string { return "…" }))
}
