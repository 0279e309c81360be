package compact

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// pinDeclaring marks the units that must stay because a part of them declares tools or settles how the model works (see
// [wire.Part].Declares): without the result that declared a tool, a call of it is refused or not understood. A unit may go if all its tools
// are declared again later. On the last level the oldest of these units may go too.
func (l *layout) pinDeclaring(r *wire.Request) {
	var later map[string]bool // what is declared behind a unit
	for u := len(l.units) - 1; u >= 0; u-- {
		unit := l.units[u]
		fresh, where := false, -1
		for i := unit.From; i < unit.To; i++ {
			for j := range r.Messages[i].Parts {
				p := &r.Messages[i].Parts[j]
				if !p.Declares {
					continue
				}
				where = i
				if later == nil {
					later = map[string]bool{}
				}
				for _, key := range declaredKeys(r, p) {
					fresh = fresh || !later[key]
					later[key] = true
				}
			}
		}
		if !fresh {
			continue
		}
		l.pinUnit(u)
		if r.Dialect.Rules().SystemBetween && r.Messages[where].Role == wire.RoleSystem {
			// Anthropic takes a system message only between a user's and an assistant's: these come along.
			l.pinUnit(u - 1)
			l.pinUnit(u + 1)
			l.between = append(l.between, u)
		}
	}
	slices.Reverse(l.between)
}

// pinUnit marks unit u as one that must stay. A number out of range is ignored.
func (l *layout) pinUnit(u int) {
	if l.stays == nil {
		l.stays = make([]bool, len(l.units))
	}
	if u >= 0 && u < len(l.stays) {
		l.stays[u] = true
	}
}

// pinned reports whether unit u must stay on a level.
func (l *layout) pinned(u int, at level) bool {
	return l.stays != nil && l.stays[u] && at < levelOpen
}

// declaredKeys returns keys for what a part declares: for each tool the path of names that leads to it, for each setting its name. A part
// without such names, an instruction or an update of earlier tools, gets a key that no other part has.
func declaredKeys(r *wire.Request, p *wire.Part) (keys []string) {
	raw := r.Raw(p.Span)
	switch {
	case strings.HasSuffix(p.Type, "_update"):
		for m, err := range rawjson.Members(raw, 0) {
			if err != nil {
				break
			}
			if key := string(m.Key); key != "type" && key != "id" {
				keys = append(keys, p.Type+"."+key)
			}
		}
	case p.Kind == wire.Result, p.End == wire.Closes, rawjson.Get(raw, "tools") != rawjson.Span{}:
		keys = appendToolKeys(nil, raw, "", 0)
	}
	if len(keys) == 0 {
		keys = append(keys, strconv.Itoa(p.Span.Start))
	}
	return keys
}

// toolDepth bounds the nesting in which names of tools are looked for: a tool in a namespace in a list of an item has depth 4.
const toolDepth = 8

// appendToolKeys appends to keys the names of the tools in a JSON value, each behind path. It does not look into descriptions of arguments,
// nor deeper than toolDepth.
func appendToolKeys(keys []string, raw []byte, path string, depth int) []string {
	if depth > toolDepth || len(raw) == 0 {
		return keys
	}
	switch raw[0] {
	case '[':
		for at, err := range rawjson.Elements(raw, 0) {
			if err != nil {
				break
			}
			keys = appendToolKeys(keys, at.Of(raw), path, depth+1)
		}
	case '{':
		name, kind := "", ""
		for m, err := range rawjson.Members(raw, 0) {
			if err != nil {
				return keys
			}
			switch key := string(m.Key); {
			case raw[m.Value.Start] != '"':
			case strings.HasSuffix(key, "name"), strings.HasSuffix(key, "label"):
				name += "/" + string(m.Value.Of(raw))
			case key == "type":
				kind = string(m.Value.Of(raw))
			}
		}
		switch {
		case name != "":
			path += name
			keys = append(keys, path)
		case depth > 0 && kind != `"text"`: // the provider's own tools have no name but their type
			keys = append(keys, path+kind)
		}
		for m, err := range rawjson.Members(raw, 0) {
			if key := string(m.Key); err == nil && key != "parameters" && !strings.HasSuffix(key, "schema") {
				keys = appendToolKeys(keys, m.Value.Of(raw), path, depth+1)
			}
		}
	}
	return keys
}
