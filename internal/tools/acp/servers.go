package acp

import (
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// Gateway returns the gateway's command for an MCP server of this name, and the words that go in front of the server's own command in the
// arguments; "" leaves the server as it is.
type Gateway func(name, command string, args []string) (gateway string, front []string)

// behindGateway returns the line with its MCP servers that have a command put behind the gateway, and how many these are. The line is
// unchanged if there are none, or if it does not have the form of the protocol.
func behindGateway(line []byte, h jsonrpc.Head, gateway Gateway) ([]byte, int64) {
	if gateway == nil || h.Kind != jsonrpc.Request || !beginsSession(h.Method) || h.Params.IsZero() {
		return line, 0
	}
	servers := rawjson.Get(h.Params.Of(line), "mcpServers")
	if servers.IsZero() || line[h.Params.Start+servers.Start] != '[' {
		return line, 0
	}
	var edits []rawjson.Edit
	var wrapped int64
	for server, err := range rawjson.Elements(line, h.Params.Start+servers.Start) {
		if err != nil {
			return line, 0
		}
		if e := serverEdits(line, server, gateway); e != nil {
			edits = append(edits, e...)
			wrapped++
		}
	}
	changed, err := rawjson.Splice(line, edits)
	if err != nil || wrapped == 0 {
		return line, 0
	}
	return changed, wrapped
}

// serverEdits returns the edits for one server, in their order; nil if it has no command, an unexpected form, or the gateway leaves it.
func serverEdits(line []byte, server rawjson.Span, gateway Gateway) []rawjson.Edit {
	if line[server.Start] != '{' {
		return nil
	}
	var name, command, args rawjson.Span
	for m, err := range rawjson.Members(line, server.Start) {
		if err != nil {
			return nil
		}
		var at *rawjson.Span
		switch string(m.Key) {
		case "name":
			at = &name
		case "command":
			at = &command
		case "args":
			at = &args
		case "url":
			return nil
		default:
			continue
		}
		if !at.IsZero() {
			return nil // twice: readers differ in which one they take
		}
		*at = m.Value
	}
	if command.Len() < 3 || line[command.Start] != '"' || !args.IsZero() && line[args.Start] != '[' {
		return nil
	}
	var given []string
	if !args.IsZero() {
		for a, err := range rawjson.Elements(line, args.Start) {
			if err != nil || line[a.Start] != '"' {
				return nil
			}
			given = append(given, string(rawjson.Unquote(nil, a.Of(line))))
		}
	}
	called := ""
	if name.Len() >= 2 && line[name.Start] == '"' {
		called = string(rawjson.Unquote(nil, name.Of(line)))
	}
	path, front := gateway(called, string(rawjson.Unquote(nil, command.Of(line))), given)
	if path == "" {
		return nil
	}
	var words []byte
	for i, w := range front {
		if i > 0 {
			words = append(words, ',')
		}
		words = rawjson.Quote(words, w)
	}
	words = append(append(words, ','), command.Of(line)...)
	first := rawjson.Edit{Span: command, With: rawjson.Quote(nil, path)}
	if args.IsZero() {
		first.With = append(append(append(first.With, `,"args":[`...), words...), ']')
		return []rawjson.Edit{first}
	}
	if len(given) > 0 {
		words = append(words, ',')
	}
	second := rawjson.Edit{Span: rawjson.Span{Start: args.Start + 1, End: args.Start + 1}, With: words}
	if second.Span.Start < first.Span.Start {
		first, second = second, first
	}
	return []rawjson.Edit{first, second}
}
