package standin

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/limit"
)

// tool is one that a request declares, as the planner looks at it.
type tool struct {
	name   string
	about  string   // the first sentence of its description
	stems  []string // of the name: what it is about
	title  []string // of the first sentence
	props  []prop
	pager  bool // it reads pages of kept results
	finder bool // it takes something to look for
	lister bool // it needs no argument, and lists
}

// prop is an argument of a tool.
type prop struct {
	name, kind, about string
	values            []string // the only ones it takes
	items             string   // the kind of an array's elements
	required          bool
}

// bareName returns the name without what some servers put in front of it.
func (p *prop) bareName() string { return strings.ToLower(strings.TrimPrefix(p.name, "param_")) }

// takes reports whether values of that kind fit.
func (p *prop) takes(kind string) bool {
	return p.kind == kind || p.kind == "array" && p.items == kind || kind == "integer" && p.kind == "number"
}

var (
	onlyThese = lazy.Regexp(`Only these: ([A-Za-z]+(?:, [A-Za-z]+)+)`)
	sentence  = lazy.Regexp(`[.!?:;](\s|$)`)
	// subjects of no tool: they are in too many names.
	generic = []string{"get", "list", "search", "find", "query", "service", "argocd", "all", "the", "a", "of", "show", "fetch", "read", "tool"}
)

// newTool reads a declared tool: its arguments, the words in its name, and by these what it is for (to list, to search, to page). The error
// is about the schema.
func newTool(name, description string, parameters json.RawMessage) (tool, error) {
	t := tool{name: name}
	t.about = description
	if end := sentence().FindStringIndex(description); end != nil {
		t.about = description[:end[0]]
	}
	t.about = t.about[:min(len(t.about), 300)]
	stems := joinCompounds(stemsOf(name))
	for _, stem := range stems {
		if !slices.Contains(generic, stem) && !slices.Contains(t.stems, stem) {
			t.stems = append(t.stems, stem)
		}
	}
	t.title = joinCompounds(stemsOf(t.about))
	if err := t.readSchema(parameters); err != nil {
		return t, err
	}
	last := name[strings.LastIndex(name, "__")+1:]
	t.pager = strings.Contains(last, "result_page")
	kept := strings.Contains(name, "result_search") || strings.Contains(name, "result_query")
	said := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(stems, w) || len(t.title) > 0 && t.title[0] == w })
	}
	required := 0
	for _, p := range t.props {
		if p.required {
			required++
		}
	}
	t.finder = !kept && !t.pager && said("search", "find", "query", "lookup") && t.queryProp() != nil && required <= 1
	t.lister = !kept && !t.pager && required == 0 && (said("list", "all") || t.prop("page") != nil) && !t.finder
	return t, nil
}

// readSchema sets the arguments of the tool from its JSON schema. No schema means no arguments.
func (t *tool) readSchema(parameters json.RawMessage) error {
	if len(parameters) == 0 || string(parameters) == "null" {
		return nil
	}
	v, _, whole := readValue(string(parameters))
	if !whole || v.kind != '{' {
		return errors.New("schema must be a JSON Schema of 'type: \"object\"'")
	}
	if kind := v.get("type"); kind != nil && kind.text != "object" {
		return errors.New("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"" + limit.Short(kind.text, 40) + "\"'")
	}
	required := map[string]bool{}
	if list := v.get("required"); list != nil {
		for _, one := range list.items {
			required[one.text] = true
		}
	}
	properties := v.get("properties")
	if properties == nil {
		return nil
	}
	for _, m := range properties.members {
		p := prop{name: m.name, kind: m.str("type"), about: m.str("description"), items: m.str("items", "type"), required: required[m.name]}
		enum := m.get("enum")
		if p.kind == "array" {
			enum = m.get("items", "enum")
		}
		if enum != nil {
			for _, one := range enum.items {
				p.values = append(p.values, one.text)
			}
		} else if found := onlyThese().FindStringSubmatch(p.about); found != nil {
			p.values = strings.Split(found[1], ", ")
		}
		t.props = append(t.props, p)
	}
	return nil
}

// prop returns the argument with a name, nil if there is none. A prefix such as "param_" does not count.
func (t *tool) prop(name string) *prop {
	for i := range t.props {
		if t.props[i].bareName() == name {
			return &t.props[i]
		}
	}
	return nil
}

// queryProp returns the argument that takes the text to search for, nil if there is none.
func (t *tool) queryProp() *prop {
	for _, name := range []string{"query", "q", "pattern", "search", "text", "term", "keyword", "keywords"} {
		if p := t.prop(name); p != nil && p.takes("string") {
			return p
		}
	}
	return nil
}

// noun returns a plural noun for the items that the tool returns, made from its name.
func (t *tool) noun() string {
	if t.finder {
		return "matches"
	}
	if len(t.stems) == 0 {
		return "items"
	}
	words := slices.DeleteFunc(slices.Clone(t.stems), func(w string) bool { return w == "tree" && len(t.stems) > 1 })
	if len(words) > 2 {
		words = words[len(words)-2:]
	}
	noun := strings.ReplaceAll(strings.Join(words, " "), "applicationset", "application set")
	switch {
	case strings.HasSuffix(noun, "history"):
		return noun + " entries"
	case strings.HasSuffix(noun, "s"):
		return noun
	case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey"):
		return strings.TrimSuffix(noun, "y") + "ies"
	}
	return noun + "s"
}

// stemsOf returns the words of a text in lower case and singular.
func stemsOf(text string) []string {
	var all []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r < 0x80
	}) {
		all = append(all, singular(word))
	}
	return all
}

// irregular are words that mean another one here.
var irregular = map[string]string{
	"app": "application", "apps": "application", "appset": "applicationset", "appsets": "applicationset", "repo": "repository", "repos": "repository",
	"cert": "certificate", "certs": "certificate", "diff": "managed", "diffs": "managed", "difference": "managed", "differences": "managed", "drift": "managed", "differ": "managed", "differs": "managed",
	"deployments": "history", "deploys": "history", "rollouts": "history", "details": "detail", "info": "detail", "information": "detail",
	"describe": "detail", "proj": "project", "versions": "version", "children": "tree", "gnupg": "gpg",
}

// singular returns the singular of an English word in lower case.
func singular(word string) string {
	if is, ok := irregular[word]; ok {
		return is
	}
	switch {
	case len(word) < 4 || strings.HasSuffix(word, "ss") || strings.HasSuffix(word, "us") || strings.HasSuffix(word, "is"):
		return word
	case strings.HasSuffix(word, "ies"):
		return strings.TrimSuffix(word, "ies") + "y"
	default:
		return strings.TrimSuffix(word, "s")
	}
}

// joinCompounds returns the words with "application set" and "app set" as the one word applicationset.
func joinCompounds(stems []string) []string {
	out := stems[:0:0]
	for _, s := range stems {
		if n := len(out); s == "set" && n > 0 && (out[n-1] == "application" || out[n-1] == "app") {
			out[n-1] = "applicationset"
			continue
		}
		out = append(out, s)
	}
	return out
}
