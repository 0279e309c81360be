package toolbox

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
)

// catalogue is the tools of all servers, under the names by which the model knows them. It never changes: when a list changes, a new
// catalogue is made.
type catalogue struct {
	specs   []agent.ToolSpec
	by      map[string]*entry
	names   []string // of specs
	omitted int      // tools left out for lack of room
}

// entry is one tool.
type entry struct {
	session *serverSession
	name    string // the server's own name for it
	role    int    // pageRole, … of a tool that reads kept results, else noRole
	schema  []byte // nil allows anything

	once   sync.Once
	parsed any
}

// argumentSchema returns the schema to check arguments against, parsed at the first call; nil if there is none or it cannot be used.
func (e *entry) argumentSchema() any {
	e.once.Do(func() {
		if e.schema != nil {
			e.parsed = parseSchema(e.schema)
		}
	})
	return e.parsed
}

// buildCatalogue makes a catalogue of the tools that are listed now and puts it into use.
func (b *Toolbox) buildCatalogue() {
	b.building.Lock()
	defer b.building.Unlock()
	c := &catalogue{by: map[string]*entry{}}
	m := &catalogueBuilder{c: c}
	type part struct {
		link  *serverSession
		tools []tool
	}
	var parts []part
	for _, l := range b.sessions {
		l.mu.Lock()
		parts = append(parts, part{l, l.tools})
		for role := pageRole; l.reads && role <= queryRole; role++ {
			m.reserved = append(m.reserved, nameOfRole(l.names, role))
		}
		l.mu.Unlock()
	}
	// Names that need no change have them first, so that no other takes them.
	for _, exact := range []bool{true, false} {
		for i, p := range parts {
			for j := range p.tools {
				m.nameTool(p.link, &p.tools[j], exact, [2]int{i, j})
			}
		}
	}
	sorting.By(m.made, func(x, y namedTool) int { return slices.Compare(x.at[:], y.at[:]) })
	for _, x := range m.made {
		if x.t.role == noRole {
			m.addSpec(x)
		}
	}
	for _, x := range m.made {
		if x.t.role != noRole {
			m.addSpec(x)
		}
	}
	b.catalogue.Store(c)
}

// catalogueBuilder assigns the names by which the model knows the tools.
type catalogueBuilder struct {
	c        *catalogue
	reserved []string // names of the tools that read kept results, of any server
	made     []namedTool
	size     int
	shown    [queryRole + 1]bool
}

type namedTool struct {
	t    *tool
	e    *entry
	name string
	at   [2]int // position: of the server, and of the tool in its list
}

// nameTool gives a tool of a server the name that models see, and enters it. It is called for all tools twice: with exact for those whose
// name needs no change, so that no other tool takes it, then for the rest. A name that is taken gets a digest; if that is taken too, the
// tool is left out. Of the tools for kept results only the first server's are shown.
func (m *catalogueBuilder) nameTool(l *serverSession, t *tool, exact bool, at [2]int) {
	if t.role != noRole {
		if !exact {
			return
		}
		// Of all servers the first one's are shown, and what any server's notices call them works.
		if m.c.by[t.name] == nil && (t.role != queryRole || l.queries) {
			e := &entry{session: l, name: t.name, role: t.role, schema: t.full}
			m.c.by[t.name] = e
			if !m.shown[t.role] {
				m.shown[t.role] = true
				m.made = append(m.made, namedTool{t, e, t.name, at})
			}
		}
		return
	}
	full := t.name
	if (l.prefix != "" || slices.Contains(m.reserved, t.name)) && !l.gateway.Named() {
		full = l.name + gateway.Separator + t.name
	}
	name := toolName(full)
	if exact != (name == full) {
		return
	}
	if m.c.by[name] != nil || slices.Contains(m.reserved, name) {
		name = withDigest(name, l.name+gateway.Separator+t.name)
	}
	if m.c.by[name] != nil {
		m.c.omitted++
		return
	}
	e := &entry{session: l, name: t.name, role: t.role, schema: t.full}
	m.c.by[name] = e
	m.made = append(m.made, namedTool{t, e, name, at})
}

// addSpec adds a tool to the list for models. If MaxTools or MaxToolBytes would be exceeded, it leaves the tool out, counts it and removes
// its name.
func (m *catalogueBuilder) addSpec(x namedTool) {
	m.size += x.t.size()
	if len(m.c.specs) >= MaxTools || m.size > MaxToolBytes {
		m.size -= x.t.size()
		m.c.omitted++
		delete(m.c.by, x.name)
		return
	}
	m.c.names = append(m.c.names, x.name)
	m.c.specs = append(m.c.specs, agent.ToolSpec{
		Name: x.name, Description: x.t.description, Schema: json.RawMessage(x.t.schema), ReadOnly: x.t.readOnly,
	})
}
