package simulator

import (
	"slices"
	"strings"
)

// fieldSection begins the names of the sections that fields= selects.
const fieldSection = "fields/"

// selection lists the paths of the fields that a query asks for of applications.
type selection [][]string

// selectFields reads fields=. ok is false where 3.5.1 fails to build the answer: an
// exclusion, or a path together with one below it.
func (c *call) selectFields(query string) (s selection, ok bool) {
	if strings.HasPrefix(query, "-") {
		return nil, false
	}
	asked := strings.Split(query, ",")
	slices.Sort(asked)
	whole := false
	for _, f := range slices.Compact(asked) {
		path, below := strings.CutPrefix(f, "items.")
		if !below || c.sections[fieldSection+path] == nil {
			continue
		}
		if whole && strings.HasPrefix(path, "spec.") {
			return nil, false
		}
		whole = whole || path == "spec"
		s = append(s, strings.Split(path, "."))
	}
	return s, true
}

// write appends an application as JSON that has only the selected paths.
func (s selection) write(b []byte, f *found) []byte {
	leaf := s.leafWriter(f)
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
		before := len(b)
		if b = leaf(b, path); len(b) == before {
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

// leafWriter returns the function that appends the value of a path of f, or nothing where the field is left out. It makes up the details of
// a generated application if the selection needs them.
func (s selection) leafWriter(f *found) func(b []byte, path []string) []byte {
	if a, ok := f.made.(*application); ok {
		if s.filled() {
			a.fillDetails()
		}
		return func(b []byte, path []string) []byte {
			return a.sim.render(b, fieldSection+strings.Join(path, "."), a, int(a.index), dice{})
		}
	}
	m := f.parsed()
	return func(b []byte, path []string) []byte { return leafOf(b, m, path) }
}

// filled reports whether one of the fields is made of what only fill rolls.
func (s selection) filled() bool {
	return slices.ContainsFunc(s, func(path []string) bool {
		return len(path) > 1 && (path[1] == "resources" || path[1] == "operationState" && path[2] != "phase")
	})
}

// leafOf appends a field of an application that was stored by a write.
func leafOf(b []byte, m obj, path []string) []byte {
	dotted := strings.Join(path, ".")
	if dotted == "status.operationState.operation.sync" {
		path = []string{"status", "operationState", "syncResult"}
	}
	value := lookup(m, path...)
	switch {
	case value != nil:
		return append(b, marshal(value)...)
	case path[0] == "operation" && m["operation"] == nil, dotted == "status.resources",
		len(path) > 2 && path[1] == "operationState" && lookup(m, "status", "operationState") == nil:
		return b
	case path[0] == "status" && path[1] == "sync":
		return append(b, `""`...)
	case dotted == "status.health", dotted == "status.summary", dotted == "status.sourceHydrator":
		return append(b, "{}"...)
	}
	return append(b, "null"...)
}

// pruning lists the fields that a query asks for of a list of projects, grpc/http/forwarders.go of argoproj/pkg.
type pruning []string

// keep reports whether a path is kept, and whether whole or with what is below it pruned.
func (p pruning) keep(path string) (keep, whole bool) {
	return slices.ContainsFunc(p, func(f string) bool { return strings.HasPrefix(f, path) }), slices.Contains(p, path)
}

// prune deletes from v, which is at path, everything that is not in one of the kept paths.
func (p pruning) prune(path string, v any) {
	switch v := v.(type) {
	case obj:
		for key, below := range v {
			at := path + "." + key
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

// write writes what is kept of a project.
func (p pruning) write(b []byte, f *found) []byte {
	m := f.parsed()
	if _, whole := p.keep("items"); !whole {
		p.prune("items", m)
	}
	return append(b, marshal(m)...)
}
