package simulator

import "slices"

// set describes a generated application set.
type set struct {
	index                        int
	name, short, domain, project string
	failed, template             bool
	open, closed                 string // of a parameter in the template
	created                      string
	version, count               int
	children                     []child
}

// child is an application that the status of a set names.
type child struct {
	name, sync string
	health     []byte
}

func (s *Simulator) set(i int) set {
	d := roll(s.seed, partSet, uint64(i))
	first, _, _, _ := s.sets.triple(i)
	p := set{index: i, name: s.sets.name(i), domain: s.sets.first[first], project: "default", open: "{{", closed: "}}"}
	if from, to := s.projects.span(first); to > from {
		p.project = s.projects.name(from + d.intn(to-from))
	}
	p.failed, p.template = d.chance(105), d.chance(800)
	if p.template {
		p.open, p.closed = "{{ .", " }}"
	}
	return p
}

func (p *set) labels(into []label) []label {
	return append(into[:0], label{"app.kubernetes.io/managed-by", "bootstrap"}, label{"corp.example.net/domain", p.domain})
}

func (s *Simulator) writeSet(b []byte, p *set) []byte {
	p.short = p.name[:min(len(p.name), 20)]
	p.created, p.version = created(p.index), 480+p.index
	d := roll(s.seed, partSet, uint64(p.index)+1<<40)
	if s.apps.n > 0 && d.chance(750) {
		var all []int
		for range 1 + d.intn(6) {
			all = append(all, d.intn(s.apps.n))
		}
		slices.Sort(all)
		var a application
		for _, i := range slices.Compact(all) {
			s.application(i, &a)
			p.children = append(p.children, child{a.name, a.sync, s.render(nil, "health", &a, i, dice{})})
		}
	}
	p.count = len(p.children)
	return s.render(b, "set", p, p.index, roll(s.seed, partSet, uint64(p.index)+1<<41))
}
