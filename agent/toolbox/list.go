package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/gateway"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

const (
	// maxList bounds one page of a list of tools, and maxPages how many there are: the gateway
	// makes one of them, and leaves what is larger behind a cursor.
	maxList  = gateway.MaxListBytes + 64<<10
	maxPages = 8
	// MaxTools bounds the tools of a toolbox, and MaxToolBytes what is kept of them.
	MaxTools     = 1024
	MaxToolBytes = 4 << 20
)

// tool is a tool as its server lists it.
type tool struct {
	name        string
	description string
	schema      []byte // what models are shown
	full        []byte // what arguments are held against; nil is anything
	readOnly    bool
	role        int // of those that the gateway added
}

func (t *tool) size() int { return len(t.name) + len(t.description) + len(t.schema) + len(t.full) }

// fetchTools asks the server for its list of tools.
func (l *serverSession) fetchTools(ctx context.Context, p transport.Peer) (tools []tool, hidden int, err error) {
	cursor, size := "", 0
	for range maxPages {
		var params []byte
		if cursor != "" {
			params = append(rawjson.Quote([]byte(`{"cursor":`), cursor), '}')
		}
		answer, err := l.request(ctx, p, "tools/list", params)
		if err != nil {
			return nil, 0, err
		}
		if rawjson.Get(answer, "result").IsZero() {
			return nil, 0, fmt.Errorf("the MCP server %s lists no tools: %s", l.name, errorOf(answer))
		}
		at := rawjson.Get(answer, "result", "tools")
		if at.IsZero() || answer[at.Start] != '[' {
			return nil, 0, fmt.Errorf("the MCP server %s lists no tools: its answer to tools/list has none; check that it is an MCP server", l.name)
		}
		for v, err := range rawjson.Elements(answer, at.Start) {
			if err != nil {
				return nil, 0, fmt.Errorf("the list of tools of the MCP server %s cannot be read: %w", l.name, err)
			}
			t, ok := l.tool(v.Of(answer))
			if size += t.size(); !ok || len(tools) >= MaxTools || size > MaxToolBytes {
				size -= t.size()
				hidden++
				continue
			}
			tools = append(tools, t)
		}
		next, _ := rawjson.Text(answer, "result", "nextCursor")
		if next == "" || next == cursor {
			return tools, hidden, nil
		}
		cursor = next
	}
	return tools, hidden, nil
}

// tool reads one entry; ok is true when it can be called.
func (l *serverSession) tool(raw []byte) (t tool, ok bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return t, false
	}
	t.name, ok = rawjson.Text(raw, "name")
	if !ok || t.name == "" || len(t.name) > maxSmall {
		return tool{}, false
	}
	t.description, _ = rawjson.Text(raw, "description")
	if t.description == "" {
		t.description, _ = rawjson.Text(raw, "title")
	}
	t.description = clip(string(bytes.ToValidUTF8([]byte(t.description), []byte("\uFFFD"))), builtin.MaxDescription)
	hint := rawjson.Get(raw, "annotations", "readOnlyHint")
	t.readOnly = !hint.IsZero() && string(hint.Of(raw)) == "true"
	if at := rawjson.Get(raw, "inputSchema"); !at.IsZero() {
		t.full, t.schema = schemas(at.Of(raw))
	}
	if t.full == nil {
		l.b.count.badSchemas.Add(1)
		t.schema = []byte(anyObject)
	}
	return t, true
}

// anyObject is shown in the place of a schema that cannot be.
const anyObject = `{"type":"object","properties":{}}`

// schemas makes of a server's schema the one that arguments are held against, and the one that
// models are shown: providers refuse a whole request for a schema that does not say that it is
// of type object, or that has alternatives at its top. nil says that there is none of use.
func schemas(raw []byte) (full, shown []byte) {
	if len(raw) > maxSchema || !json.Valid(raw) || raw[0] != '{' {
		return nil, nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil, nil
	}
	full = bytes.Clone(bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD")))
	shown, err := rawjson.Remove(full, "$schema", "anyOf", "oneOf", "allOf", "not", "enum")
	if err == nil && !isObject(shown) {
		shown, err = rawjson.Set(shown, "type", []byte(`"object"`))
	}
	if at := rawjson.Get(shown, "properties"); err == nil && (at.IsZero() || shown[at.Start] != '{') {
		shown, err = rawjson.Set(shown, "properties", []byte("{}"))
	}
	if err != nil {
		return nil, nil
	}
	if bytes.Equal(shown, full) {
		shown = full
	}
	return full, shown
}

func isObject(schema []byte) bool {
	text, ok := rawjson.Text(schema, "type")
	return ok && text == "object"
}

// List implements [agent.Tools]: functions first, then the servers as Options have them, each
// one's tools by name, and last those that read kept results. It gives what is known, and sees
// to what is not beside; a list that its server says has changed is waited for, for a moment.
func (b *Toolbox) List(ctx context.Context) ([]agent.ToolSpec, error) {
	if b.ctx.Err() != nil {
		return nil, ErrClosed
	}
	waiting, cancel := context.WithTimeout(ctx, staleWait)
	defer cancel()
	for _, l := range b.sessions {
		l.mu.Lock()
		wait := l.stale || l.listing != nil && l.peer != nil
		l.mu.Unlock()
		_ = l.refresh(waiting, wait) // its last list stays; Stats has the error
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	c := b.catalogue.Load()
	if c == nil {
		return nil, nil
	}
	out := make([]agent.ToolSpec, len(c.specs))
	copy(out, c.specs)
	return out, nil
}
