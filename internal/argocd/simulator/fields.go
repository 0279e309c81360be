package simulator

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// fieldSection begins the names of the sections that fields= selects.
const fieldSection = "fields/"

// selection lists the paths of the fields that a query asks for of applications.
type selection [][]string

// selectFields reads fields=. ok is false where 3.5.1 fails to build the answer: an
// exclusion, or a path together with one below it.
func (c *call) selectFields(query string) (s selection, all, ok bool) {
	if query == "" {
		return nil, true, true
	}
	if strings.HasPrefix(query, "-") {
		return nil, false, false
	}
	asked := strings.Split(query, ",")
	slices.Sort(asked)
	for _, f := range slices.Compact(asked) {
		path, below := strings.CutPrefix(f, "items.")
		if below && c.sections[fieldSection+path] != nil {
			s = append(s, strings.Split(path, "."))
		}
	}
	for _, f := range s {
		if len(f) > 1 && f[0] == "spec" && slices.ContainsFunc(s, func(x []string) bool { return len(x) == 1 && x[0] == "spec" }) {
			return nil, false, false
		}
	}
	return s, false, true
}

// write writes an object of the selected paths; leaf writes the value of one, false if there
// is none.
func (s selection) write(b []byte, leaf func(b []byte, path string) ([]byte, bool)) []byte {
	b = append(b, '{')
	var open []string
	for _, path := range s {
		mark := len(b)
		above := path[:len(path)-1]
		same := 0
		for same < len(open) && same < len(above) && open[same] == above[same] {
			same++
		}
		for range open[same:] {
			b = append(b, '}')
		}
		for _, key := range above[same:] {
			b = cat(comma(b), `"`, key, `":{`)
		}
		b = cat(comma(b), `"`, path[len(path)-1], `":`)
		var ok bool
		if b, ok = leaf(b, strings.Join(path, ".")); !ok {
			b = b[:mark]
			continue
		}
		open = above
	}
	for range open {
		b = append(b, '}')
	}
	return append(b, '}')
}

func comma(b []byte) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return b
}

// filled reports whether one of the fields is made of what only fill rolls.
func (s selection) filled() bool {
	return slices.ContainsFunc(s, func(path []string) bool {
		return len(path) > 1 && (path[1] == "resources" || path[1] == "operationState" && path[2] != "phase")
	})
}

// leaf writes one field of a generated application.
func (s *Simulator) leaf(a *application, chosen selection) func(b []byte, path string) ([]byte, bool) {
	if chosen.filled() {
		a.fill(s.kinds)
	}
	return func(b []byte, path string) ([]byte, bool) {
		before := len(b)
		b = s.render(b, fieldSection+path, a, int(a.index), dice{})
		return b, len(b) > before
	}
}

// leafOf writes fields of an object that was stored by a write.
func leafOf(body []byte) func(b []byte, path string) ([]byte, bool) {
	return func(b []byte, path string) ([]byte, bool) {
		if path == "status.operationState.operation.sync" {
			path = "status.operationState.syncResult"
		}
		at := json.RawMessage(body)
		parts := strings.Split(path, ".")
		for i, key := range parts {
			var fields map[string]json.RawMessage
			if json.Unmarshal(at, &fields) != nil {
				return b, false
			}
			next, ok := fields[key]
			if !ok {
				switch {
				case i < len(parts)-1 && (parts[0] == "operation" || key == "operationState"), path == "status.resources":
					return b, false
				case path == "status.sync.revision", path == "status.sync.status":
					return append(b, `""`...), true
				case path == "status.health", path == "status.summary", path == "status.sourceHydrator":
					return append(b, "{}"...), true
				}
				return append(b, "null"...), true
			}
			at = next
		}
		return append(b, at...), true
	}
}

// pruning lists the fields that a query asks for of a list of projects, grpc/http/forwarders.go of argoproj/pkg.
type pruning struct{ fields []string }

func prunes(query string) *pruning {
	if query == "" {
		return nil
	}
	return &pruning{strings.Split(query, ",")}
}

// keep reports whether a path is kept, and whether whole or with what is below it pruned.
func (p *pruning) keep(path string) (keep, whole bool) {
	named := slices.Contains(p.fields, path)
	return named || slices.ContainsFunc(p.fields, func(f string) bool { return strings.HasPrefix(f, path) }), named
}

func (p *pruning) prune(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			at := key
			if path != "" {
				at = path + "." + key
			}
			keep, whole := p.keep(at)
			if !keep {
				delete(v, key)
			} else if !whole {
				p.prune(at, below)
			}
		}
	case []any:
		for _, below := range v {
			p.prune(path, below)
		}
	}
}

// apply prunes one object that stands at a path.
func (p *pruning) apply(path string, body []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, whole := p.keep(path); path == "" || !whole {
		p.prune(path, v)
	}
	return json.Marshal(v)
}
