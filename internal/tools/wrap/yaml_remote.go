package wrap

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

const (
	whyRequestOptions = "its requestOptions are Continue's alone: put `plimsoll mcp --name NAME --url URL` with the headers in env in its place by hand"
	whyFilled         = "only its client can fill in what its headers or its address name"
	whySSE            = "it speaks HTTP+SSE, which MCP has given up: name its address for streamable HTTP"
)

// variables returns the key of the environment variables of a server that is started.
func (e *yamlEntry) variables() string {
	if e.client == goose {
		return "envs"
	}
	return "env"
}

// leaf is a member of a mapping whose key and value are texts on one line.
type leaf struct {
	name, value string
	key, text   span
}

// leaves returns the members of the mapping n; ok is false if n is not a mapping, or a member is not a leaf.
func (e *yamlEntry) leaves(n *yaml.Node) (all []leaf, ok bool) {
	if n.Kind != yaml.MappingNode {
		return nil, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		l, ok := e.leaf(pair{n.Content[i], n.Content[i+1]})
		if !ok {
			return nil, false
		}
		all = append(all, l)
	}
	return all, true
}

// leaf returns a member whose key and value are strings on one line, with their places; ok is false for any other member.
func (e *yamlEntry) leaf(p pair) (l leaf, ok bool) {
	if p.value == nil || p.value.Kind != yaml.ScalarNode || p.value.ShortTag() != "!!str" {
		return l, false
	}
	key, ok1 := e.span(p.key)
	text, ok2 := e.span(p.value)
	// A name without quotes needs the space behind its colon, and an explicit key ("? a") has no colon there.
	if !ok1 || !ok2 || key.End >= text.Start || len(strings.TrimLeft(string(e.d.data[key.End:text.Start]), " ")) < 2 ||
		strings.Trim(string(e.d.data[key.End:text.Start]), " \t") != ":" {
		return l, false
	}
	return leaf{name: p.key.Value, value: p.value.Value, key: key, text: text}, true
}

// isSet reports whether one of the keys has a value that is not empty.
func (e *yamlEntry) isSet(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		n := yamlGet(e.node, key).value
		return n != nil && n.ShortTag() != "!!null" && (n.Kind == yaml.ScalarNode && n.Value != "" || len(n.Content) > 0)
	})
}

// wrapRemote returns the edits that replace an address and its headers by a command that starts Plimsoll with them; nil and the reason if the
// entry must be left. at is the member with the address.
func (e *yamlEntry) wrapRemote(o Options, at pair) ([]rawjson.Edit, string) {
	switch {
	case e.isSet("auth", "oauth"):
		return nil, whyOAuth
	case e.isSet("requestOptions"):
		return nil, whyRequestOptions
	case e.isSet("env_keys"):
		return nil, whyFilled
	case yamlGet(e.node, "args").value != nil:
		return nil, whyForm
	}
	url, ok := e.leaf(at)
	if !ok || url.value == "" {
		return nil, whyForm
	}
	r := remote{url: url.value}
	var edits []rawjson.Edit
	for _, key := range []string{"type", "transport"} {
		p := yamlGet(e.node, key)
		if p.value == nil {
			continue
		}
		kind, ok := e.leaf(p)
		if kind.value == "sse" {
			return nil, whySSE
		}
		if !ok || key == "transport" {
			return nil, whyForm
		}
		edits = append(edits, rawjson.Edit{Span: kind.text, With: []byte("stdio")})
	}
	var headers []leaf
	inFlow := false
	if h := yamlGet(e.node, "headers"); h.value != nil && len(h.value.Content) > 0 {
		name, ok1 := e.span(h.key)
		headers, ok = e.leaves(h.value)
		if !ok || !ok1 {
			return nil, whyForm
		}
		inFlow = h.value.Style&yaml.FlowStyle != 0
		edits = append(edits, rawjson.Edit{Span: name, With: []byte(e.variables())})
	}
	for _, h := range headers {
		if e.client == goose && strings.Contains(h.value+r.url, "$") {
			return nil, whyFilled
		}
		r.headers = append(r.headers, header{h.name, h.value})
	}
	if len(headers) == 0 && !o.Remote {
		return nil, whyLogin
	}
	if p := yamlGet(e.node, e.variables()); p.value != nil && len(headers) > 0 || e.isSet(e.variables()) {
		empty, ok := e.removeEmptyMapping(p)
		if !ok {
			return nil, whyForm
		}
		edits = append(edits, empty)
	} else if p.value != nil && !isDisplayable(r.url) {
		return nil, whyForm
	}
	between, ok := e.separator(url.key.Start)
	if !ok {
		return nil, whyForm
	}
	args, env := r.arguments(o, e.server().Name)
	front := append(append([]byte("args: "), yamlArray(args)...), between...)
	hidden := env[:len(env)-len(headers)] // the address, if it may contain a secret
	if len(hidden) > 0 && len(headers) == 0 {
		front = fmt.Appendf(front, "%s: {%s: %s}%s", e.variables(), hidden[0].name, quoteYAML(hidden[0].value), between)
	}
	edits = append(edits, rawjson.Edit{Span: url.key, With: append(front, e.key...)}, rawjson.Edit{Span: url.text, With: quoteYAML(o.command())})
	for i, h := range headers {
		var name []byte
		if i == 0 && len(hidden) > 0 {
			behind := ", "
			if !inFlow {
				indent, ok := e.indent(h.key.Start)
				if !ok {
					return nil, whyForm
				}
				behind = e.newline() + indent
			}
			name = fmt.Appendf(name, "%s: %s%s", hidden[0].name, quoteYAML(hidden[0].value), behind)
		}
		v := env[len(hidden)+i]
		edits = append(edits, rawjson.Edit{Span: h.key, With: append(name, v.name...)}, rawjson.Edit{Span: h.text, With: quoteYAML(v.value)})
	}
	return edits, ""
}

// removeEmptyMapping returns the edit that removes `key: {}` with its line; ok is false if the member has another form.
func (e *yamlEntry) removeEmptyMapping(p pair) (edit rawjson.Edit, ok bool) {
	key, ok := e.span(p.key)
	if !ok || p.value.Kind != yaml.MappingNode || len(p.value.Content) > 0 || e.node.Style&yaml.FlowStyle != 0 {
		return edit, false
	}
	data := e.d.data
	begin := bytes.LastIndexByte(data[:key.Start], '\n') + 1
	end := bytes.IndexByte(data[key.End:], '\n') + key.End + 1
	if end == key.End || len(bytes.Trim(data[begin:key.Start], " ")) > 0 || strings.TrimSpace(string(data[key.End:end])) != ": {}" {
		return edit, false
	}
	return rawjson.Edit{Span: span{Start: begin, End: end}}, true
}

// unwrapRemote returns the edits that undo wrapRemote. It only undoes exactly what wrapRemote writes: for anything else it returns no
// edits, and whyForm as the reason.
func (e *yamlEntry) unwrapRemote() ([]rawjson.Edit, string) {
	command, ok := e.leaf(pair{yamlGet(e.node, e.key).key, yamlGet(e.node, e.key).value})
	name, ok1 := e.span(yamlGet(e.node, "args").key)
	between, ok2 := e.separator(command.key.Start)
	if !ok || !ok1 || !ok2 || name.Start > command.key.Start {
		return nil, whyForm
	}
	var set []leaf
	variables := yamlGet(e.node, e.variables())
	if variables.value != nil {
		if set, ok = e.leaves(variables.value); !ok {
			return nil, whyForm
		}
	}
	values := map[string]string{}
	for _, v := range set {
		values[v.name] = v.value
	}
	r, ok := parseRemote(e.arguments(), values)
	if !ok || r.bearer != "" || len(r.fromEnv) > 0 {
		return nil, whyForm
	}
	made := "args: " + string(yamlArray(e.arguments())) + between
	if len(r.headers) == 0 && len(set) == 1 && set[0].name == URLVariable {
		made += fmt.Sprintf("%s: {%s: %s}%s", e.variables(), URLVariable, quoteYAML(r.url), between)
		set = nil
	}
	if string(e.d.data[name.Start:command.key.Start]) != made {
		return nil, whyForm
	}
	urlKey, kind := "url", "streamable-http"
	if e.client == goose {
		urlKey, kind = "uri", "streamable_http"
	}
	edits := []rawjson.Edit{{Span: span{Start: name.Start, End: command.key.End}, With: []byte(urlKey)}, {Span: command.text, With: textYAML(r.url)}}
	if p := yamlGet(e.node, "type"); p.value != nil {
		l, ok := e.leaf(p)
		if !ok {
			return nil, whyForm
		}
		edits = append(edits, rawjson.Edit{Span: l.text, With: []byte(kind)})
	}
	if len(r.headers) == 0 {
		return edits, ""
	}
	key, ok := e.span(variables.key)
	if !ok {
		return nil, whyForm
	}
	edits = append(edits, rawjson.Edit{Span: key, With: []byte("headers")})
	for i, v := range set {
		name, value, ok := strings.Cut(v.value, ": ")
		switch {
		case v.name == URLVariable && i+1 < len(set):
			edits = append(edits, rawjson.Edit{Span: span{Start: v.key.Start, End: set[i+1].key.Start}})
		case !ok || !strings.HasPrefix(v.name, HeaderVariable):
			return nil, whyForm
		default:
			edits = append(edits, rawjson.Edit{Span: v.key, With: textYAML(name)}, rawjson.Edit{Span: v.text, With: textYAML(value)})
		}
	}
	return edits, ""
}
