package toolserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

const resourceCount = 5

func (x *exchange) listResources() (body, error) {
	return x.complete(60_000, func(w *bufio.Writer) error {
		w.WriteString(`"resources":[`)
		for n := range resourceCount {
			fmt.Fprintf(w, `{"uri":"test://small/%d","name":"small-%d","mimeType":"text/plain"},`, n+1, n+1)
		}
		w.WriteString(`{"uri":"test://blob","name":"blob","mimeType":"image/png"}]`)
		return nil
	}), nil
}

func (x *exchange) listTemplates() (body, error) {
	return x.complete(60_000, raw(`"resourceTemplates":[{"uriTemplate":"test://large/{bytes}","name":"large","mimeType":"text/plain"},{"uriTemplate":"test://small/{n}","name":"small","mimeType":"text/plain"}]`)), nil
}

func (x *exchange) readResource() (body, error) {
	var p struct{ URI string }
	if err := json.Unmarshal(x.params, &p); err != nil || p.URI == "" {
		return nil, badParams("Invalid params: uri is missing")
	}
	rest, ok := strings.CutPrefix(p.URI, "test://")
	if !ok {
		return nil, x.notFound(p.URI)
	}
	what, number, _ := strings.Cut(rest, "/")
	n, err := strconv.ParseInt(number, 10, 64)
	head := func(mime string) string {
		return fmt.Sprintf(`"contents":[{"uri":%q,"mimeType":%q,`, p.URI, mime)
	}
	switch {
	case what == "blob":
		return x.complete(0, func(w *bufio.Writer) error {
			w.WriteString(head("image/png") + `"blob":"`)
			if err := blob(w, max(n, 64)); err != nil {
				return err
			}
			w.WriteString(`"}]`)
			return nil
		}), nil
	case what == "small" && err == nil && n > 0 && n <= resourceCount:
		return x.complete(0, raw(head("text/plain")+fmt.Sprintf(`"text":"resource %d"}]`, n))), nil
	case what == "large" && err == nil && n > 0:
		return x.complete(0, func(w *bufio.Writer) error {
			w.WriteString(head("text/plain") + `"text":"`)
			if err := (&large{Bytes: n, Kind: "lines"}).document(&escaper{w: w}); err != nil {
				return err
			}
			w.WriteString(`"}]`)
			return nil
		}), nil
	}
	return nil, x.notFound(p.URI)
}

func (x *exchange) listPrompts() (body, error) {
	return x.complete(60_000, raw(`"prompts":[{"name":"greet","description":"Greets.","arguments":[{"name":"name","required":true}]},{"name":"ask","description":"Asks first."},{"name":"large","description":"Is large."}]`)), nil
}

func (x *exchange) getPrompt() (body, error) {
	var p struct {
		Name      string
		Arguments map[string]string
	}
	if err := json.Unmarshal(x.params, &p); err != nil {
		return nil, badParams("Invalid params: %v", err)
	}
	if err := x.openState(); err != nil {
		return nil, err
	}
	message := func(text string) body {
		return x.complete(-1, value(map[string]any{"messages": []any{
			map[string]any{"role": "user", "content": map[string]string{"type": "text", "text": text}},
		}}))
	}
	switch p.Name {
	case "greet":
		return message("Hello, " + p.Arguments["name"] + "!"), nil
	case "large":
		return message(strings.Repeat("a long prompt ", 20_000)), nil
	case "ask":
		answers, err := x.input(question{"elicitation/create", json.RawMessage(`{"mode":"form","message":"Which topic?","requestedSchema":{"type":"object","properties":{"topic":{"type":"string"}}}}`)})
		if err != nil {
			return nil, err
		}
		return message("Answer: " + compact(answers[0])), nil
	}
	return nil, badParams("Unknown prompt: %s", p.Name)
}

func (x *exchange) completion() (body, error) {
	var p struct {
		Argument struct{ Name, Value string }
	}
	if err := json.Unmarshal(x.params, &p); err != nil {
		return nil, badParams("Invalid params: %v", err)
	}
	values := []string{}
	for _, v := range []string{"paris", "park", "party", "london"} {
		if strings.HasPrefix(v, p.Argument.Value) {
			values = append(values, v)
		}
	}
	return x.complete(-1, value(map[string]any{"completion": map[string]any{"values": values, "total": len(values), "hasMore": false}})), nil
}
