package toolserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strconv"
)

// tool is one tool of the list.
type tool struct {
	name, description, properties, extra string
	call                                 func(x *exchange, arguments json.RawMessage) (body, error)
}

func (s *Server) tools() []tool {
	all := allTools
	if s.count.extra.Load()%2 == 1 {
		all = append(all[:len(all):len(all)], tool{name: "extra", description: "Came by a change.", call: (*exchange).echo})
	}
	return all
}

var allTools []tool

func init() {
	const (
		readOnly = `,"annotations":{"readOnlyHint":true}`
		size     = `"bytes":{"type":"integer"}`
		big      = size + `,"items":{"type":"integer"},"kind":{"type":"string"},"needle":{"type":"string"},"id_last":{"type":"boolean"},"mark":{"type":"string"}`
		schema   = `,"outputSchema":{"type":"object","properties":{"temperature":{"type":"number"},"sky":{"type":"string"}},"required":["temperature"]}`
	)
	allTools = []tool{
		{"echo", "Gives the text back.", `"text":{"type":"string"}`, "", (*exchange).echo},
		{"params", "Gives its own params back, as they came.", "", "", (*exchange).ownParams},
		{"headers", "Gives the HTTP request's headers back, without credentials.", "", "", (*exchange).headers},
		{"structured", "Gives structured content.", "", schema, (*exchange).structured},
		{"image", "Gives an image.", size, "", (*exchange).image},
		{"bigint", "Gives integers above 2^53.", "", "", (*exchange).bigint},
		{"unknown_fields", "Gives members that no specification knows.", "", "", (*exchange).unknownFields},
		{"error", "Fails.", `"text":{"type":"string"}`, "", (*exchange).toolError},
		{"huge_error", "Fails at length.", size + `,"protocol":{"type":"boolean"}`, "", (*exchange).hugeError},
		{"big", "Gives a large result.", big, "", (*exchange).big},
		{"list", "Gives a list of items.", `"items":{"type":"integer"},"needle":{"type":"string"}`, readOnly, (*exchange).list},
		{"counter", "Counts its calls.", size, readOnly, (*exchange).counter},
		{"write", "Writes, and counts the writes.", `"text":{"type":"string"}`, `,"annotations":{"readOnlyHint":false,"destructiveHint":true}`, (*exchange).write},
		{"stats", "Tells what the server counted.", "", readOnly, (*exchange).stats},
		{"change", "Changes a list or a resource.", `"what":{"type":"string"},"uri":{"type":"string"}`, "", (*exchange).change},
		{"log", "Sends log messages.", `"level":{"type":"string"},"text":{"type":"string"},"count":{"type":"integer"}`, "", (*exchange).log},
		{"slow", "Takes its time and tells its progress.", `"ms":{"type":"integer"},"steps":{"type":"integer"}`, `,"execution":{"taskSupport":"optional"}`, (*exchange).slow},
		{"region", "Has a parameter that is mirrored into a header.", `"region":{"type":"string","x-mcp-header":"Region"}`, "", (*exchange).region},
		{"ask", "Asks the user.", `"message":{"type":"string"},"mode":{"type":"string"},"url":{"type":"string"},"rounds":{"type":"integer"},"several":{"type":"integer"}`, "", (*exchange).ask},
		{"sample", "Asks the client's model.", `"prompt":{"type":"string"}`, "", (*exchange).sample},
		{"roots", "Asks for the client's roots.", "", "", (*exchange).roots},
		{"cut", "Ends the stream in the middle of a result.", big + `,"after":{"type":"integer"}`, "", (*exchange).cutOff},
		{"die", "Ends the server.", `"mid":{"type":"boolean"}`, "", (*exchange).die},
		{"silent", "Never answers.", "", "", (*exchange).silent},
		{"twice", "Answers twice.", "", "", (*exchange).twice},
		{"foreign_id", "Answers an id that nobody used, then its own.", "", "", (*exchange).foreignID},
		{"noise", "Prints what is no message, then answers.", "", "", (*exchange).noise},
		{"noline", "Prints bytes without a newline, then answers.", size, "", (*exchange).noLine},
		{"drop", "Closes the stream; it can be resumed.", `"ms":{"type":"integer"}`, "", (*exchange).drop},
	}
}

func (t tool) write(w *bufio.Writer) {
	fmt.Fprintf(w, `{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{%s}}%s}`, t.name, t.description, t.properties, t.extra)
}

func (x *exchange) listTools() (body, error) {
	all := x.s.tools()
	from, err := x.cursor(len(all))
	if err != nil {
		return nil, err
	}
	to := len(all)
	if size := x.s.o.PageSize; size > 0 {
		to = min(to, from+size)
	}
	return x.complete(60_000, func(w *bufio.Writer) error {
		w.WriteString(`"tools":[`)
		for i, t := range all[from:to] {
			if i > 0 {
				w.WriteByte(',')
			}
			t.write(w)
		}
		w.WriteByte(']')
		if to < len(all) {
			fmt.Fprintf(w, `,"nextCursor":"at-%d"`, to)
		}
		return nil
	}), nil
}

func (x *exchange) cursor(count int) (int, error) {
	var p struct{ Cursor *string }
	if len(x.params) > 0 {
		if err := json.Unmarshal(x.params, &p); err != nil {
			return 0, badParams("Invalid params: %v", err)
		}
	}
	if p.Cursor == nil {
		return 0, nil
	}
	if len(*p.Cursor) > 3 {
		if n, err := strconv.Atoi((*p.Cursor)[3:]); err == nil && n > 0 && n < count {
			return n, nil
		}
	}
	return 0, badParams("Invalid cursor: %s", *p.Cursor)
}

func (x *exchange) callTool() (body, error) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(x.params, &p); err != nil {
		return nil, badParams("Invalid params: %v", err)
	}
	if len(p.Arguments) == 0 {
		p.Arguments = json.RawMessage("{}")
	}
	x.s.count.calls.Add(1)
	for _, t := range x.s.tools() {
		if t.name != p.Name {
			continue
		}
		if err := x.openState(); err != nil {
			return nil, err
		}
		return t.call(x, p.Arguments)
	}
	return nil, badParams("Unknown tool: %s", p.Name)
}

// text returns a result of one block of text.
func (x *exchange) text(s string) body {
	return x.complete(-1, value(map[string]any{"content": []any{map[string]string{"type": "text", "text": s}}}))
}

// failed returns a result that says that the tool failed.
func (x *exchange) failed(s string) body {
	return x.complete(-1, value(map[string]any{"content": []any{map[string]string{"type": "text", "text": s}}, "isError": true}))
}
