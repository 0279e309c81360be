package simulator

import "slices"

// set describes a generated application set.
type set struct {
	sim                          *Simulator
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

func (p *set) roll(i int) {
	s := p.sim
	d := roll(s.seed, partSet, uint64(i))
	at, _ := s.names[applicationsets].parts(i)
	*p = set{sim: s, index: i, name: s.names[applicationsets].name(i), domain: s.words.Domains[at[0]], project: "default", open: "{{", closed: "}}"}
	if from, to := s.names[projects].span(at[0]); to > from {
		p.project = s.names[projects].name(from + d.intn(to-from))
	}
	p.failed, p.template = d.chance(105), d.chance(800)
	if p.template {
		p.open, p.closed = "{{ .", " }}"
	}
}

func (p *set) head(h *head) {
	labels := append(h.labels[:0], label{"app.kubernetes.io/managed-by", "bootstrap"}, label{"corp.example.net/domain", p.domain})
	*h = head{name: p.name, namespace: "argocd", project: p.project, labels: labels}
}

func (p *set) write(b []byte) []byte {
	p.short = p.name[:min(len(p.name), 20)]
	p.created, p.version = created(p.index), 480+p.index
	d := roll(p.sim.seed, partSet, uint64(p.index)+1<<40)
	if n := p.sim.names[applications].n; n > 0 && d.chance(750) {
		var all []int
		for range 1 + d.intn(6) {
			all = append(all, d.intn(n))
		}
		slices.Sort(all)
		a := application{sim: p.sim}
		for _, i := range slices.Compact(all) {
			a.roll(i)
			p.children = append(p.children, child{a.name, a.sync, p.sim.render(nil, "health", &a, i, dice{})})
		}
	}
	p.count = len(p.children)
	return p.sim.render(b, "set", p, p.index, roll(p.sim.seed, partSet, uint64(p.index)+1<<41))
}
