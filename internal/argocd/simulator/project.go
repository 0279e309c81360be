package simulator

import "slices"

// catalogue holds the projects: names made of domains and teams, and "default" at its place in
// the order of names.
type catalogue struct {
	nameSequence

	total int
	plain int // the number of "default"
}

func newCatalogue(n int, first, second []string) catalogue {
	c := catalogue{nameSequence: newNameSequence(max(n-1, 0), first, second, nil), total: n}
	if c.n > 0 {
		for i, domain := range first {
			if domain > "default" {
				c.plain, _ = c.span(i)
				break
			}
		}
	}
	return c
}

// title returns the name of project i of all.
func (c *catalogue) title(i int) string {
	switch {
	case i == c.plain:
		return "default"
	case i > c.plain:
		i--
	}
	return c.name(i)
}

func (c *catalogue) lookup(name string) (int, bool) {
	if name == "default" {
		return c.plain, c.total > 0
	}
	i, ok := c.find(name)
	if i >= c.plain {
		i++
	}
	return i, ok
}

// project describes a generated project.
type project struct {
	index, version        int
	name, domain, created string
	byDefault, clusters   bool
	roles                 []role
}

type role struct {
	name, project string
	policies      []string // what it may do, of which it has some
	expires       bool
}

func (s *Simulator) project(i int) project {
	p := project{index: i, name: s.projects.title(i)}
	if domain, _, ok := leading(s.projects.first, p.name); ok {
		p.domain = s.projects.first[domain]
	}
	return p
}

func (s *Simulator) writeProject(b []byte, p project) []byte {
	p.byDefault, p.clusters = p.name == "default", s.clusters > 0
	p.created, p.version = created(p.index), 57+p.index
	actions := []string{"get", "sync", "update", "override", "action/*", "delete/*/Pod/*"}
	for i, name := range []string{"admin", "ci", "deployer", "read-only"} {
		p.roles = append(p.roles, role{name, p.name, slices.Concat(actions[i:], actions[:i]), i%2 == 0})
	}
	return s.render(b, "project", &p, p.index, roll(s.seed, partProject, uint64(p.index)))
}

// writeDetailed writes the answer of /detailed: the project, its repositories and clusters.
func (s *Simulator) writeDetailed(b, body []byte, name string) []byte {
	b = append(append(b, `{"project":`...), body...)
	b = append(b, `,"repositories":[`...)
	none := len(b)
	for _, r := range s.repositories() {
		if r.project == name {
			b = append(s.writeRepository(b, r), ',')
		}
	}
	if len(b) == none {
		return append(b[:none-len(`,"repositories":[`)], '}')
	}
	b[len(b)-1] = ']'
	return append(b, '}')
}
