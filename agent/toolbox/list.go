package toolbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/nearest"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

const (
	// maxList bounds one page of a list of tools in bytes, and maxPages the pages: the gateway
	// joins a server's pages into one, and leaves the rest of a larger list behind a cursor.
	maxList  = gateway.MaxListBytes + 64<<10
	maxPages = 8
	// MaxTools bounds the tools of a toolbox, and MaxToolBytes their descriptions and schemas together.
	MaxTools     = 1024
	MaxToolBytes = 4 << 20
)

// tool is a tool as its server lists it.
type tool struct {
	name        string
	description string
	schema      []byte // what models are shown
	full        []byte // what arguments are checked against; nil allows anything
	readOnly    bool
	role        int // pageRole, … of a tool that the gateway added, else noRole
}

func (t *tool) size() int { return len(t.name) + len(t.description) + len(t.schema) + len(t.full) }

// fetchTools asks the server for its list of tools. hidden is the number of tools that are left out: invalid ones, and those for which
// there is no room.
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
			return nil, 0, fmt.Errorf("the MCP server %s lists no tools: %s", l.name, errorMessage(answer))
		}
		at := rawjson.Get(answer, "result", "tools")
		if at.IsZero() || answer[at.Start] != '[' {
			return nil, 0, fmt.Errorf("the MCP server %s lists no tools: its answer to tools/list has none; check that it is an MCP server", l.name)
		}
		for v, err := range rawjson.Elements(answer, at.Start) {
			if err != nil {
				return nil, 0, fmt.Errorf("the list of tools of the MCP server %s cannot be read: %w", l.name, err)
			}
			t, ok := l.parseTool(v.Of(answer))
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

// parseTool parses one entry of a list. ok is false if it has no usable name.
func (l *serverSession) parseTool(raw []byte) (t tool, ok bool) {
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
		t.full, t.schema = readSchema(at.Of(raw))
	}
	if t.full == nil {
		l.b.count.badSchemas.Add(1)
		t.schema = []byte(anyObject)
	}
	return t, true
}

// anyObject is shown to models in place of an unusable schema.
const anyObject = `{"type":"object","properties":{}}`

// readSchema returns a server's schema in two forms: full, to check arguments against, and shown, for models, without what makes providers
// refuse a whole request: it says that it is of type object, and has no alternatives at its top. Both are nil if the schema is unusable.
func readSchema(raw []byte) (full, shown []byte) {
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

// isObject reports whether a schema says that it is of the type object.
func isObject(schema []byte) bool {
	text, ok := rawjson.Text(schema, "type")
	return ok && text == "object"
}

// List implements [agent.Tools]: functions first, then the servers in the order of Options, the tools of each by name, and last those that
// read kept results. It returns the lists that are known and refreshes old ones in the background; for a list that its server says has
// changed, or that is being read, it waits up to 5 seconds.
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

// clip returns a text cut to at most maxBytes, between characters, and marked if it was cut.
func clip(text string, maxBytes int) string { return limit.Short(text, maxBytes) }

// toolName returns a name in which every character but letters, digits, "_" and "-" is "_", because providers of models take no others. A
// name longer than gateway.MaxName ends in a digest of the original, so that it is the same every time.
func toolName(name string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r == '_', r == '-', '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
			return r
		}
		return '_'
	}, name)
	if len(out) > gateway.MaxName {
		return withDigest(out, name)
	}
	return out
}

// withDigest returns out, shortened, with a digest of name at its end.
func withDigest(out, name string) string {
	sum := sha256.Sum256([]byte(name))
	const tail = 9
	return out[:min(len(out), gateway.MaxName-tail)] + "_" + hex.EncodeToString(sum[:4])
}

// Roles of the tools that read kept results.
const (
	noRole = iota
	pageRole
	searchRole
	queryRole
)

// addedNames returns the names that the gateway gave to the tools that it added to a list; false if there are none. They begin with
// plimsoll_ if the server has tools of the usual names itself.
func addedNames(names []string) (result.Names, bool) {
	n := result.DefaultNames
	found, ok := n, false
	for range 9 {
		if slices.Contains(names, n.Page) && slices.Contains(names, n.Search) && slices.Contains(names, n.Query) {
			found, ok = n, true
		}
		n.Page, n.Search, n.Query = "plimsoll_"+n.Page, "plimsoll_"+n.Search, "plimsoll_"+n.Query
	}
	return found, ok
}

func roleOf(n result.Names, name string) int {
	switch name {
	case n.Page:
		return pageRole
	case n.Search:
		return searchRole
	case n.Query:
		return queryRole
	}
	return noRole
}

func nameOfRole(n result.Names, role int) string {
	return [...]string{"", n.Page, n.Search, n.Query}[role]
}

// suggestion returns ` (did you mean "x"?)` with the known names that are nearest to name, "" if none is near.
func suggestion(name string, known []string) string {
	near := nearest.Names(name, known, 3)
	if len(near) == 0 {
		return ""
	}
	for i, n := range near {
		near[i] = fmt.Sprintf("%q", n)
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
}
