package simulator

import (
	"fmt"
	"slices"
	"strings"
)

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

// roll replaces p by the application set with number i, made by dice that depend on the seed and i only.
func (p *set) roll(i int) {
	s := p.sim
	d := newDice(s.seed, partSet, uint64(i))
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

// write appends the application set as JSON, with the status of some applications that it has made; it decides which first, and keeps them
// in p.
func (p *set) write(b []byte) []byte {
	p.short = p.name[:min(len(p.name), 20)]
	p.created, p.version = created(p.index), 480+p.index
	d := newDice(p.sim.seed, partSet, uint64(p.index)+1<<40)
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
	return p.sim.render(b, "set", p, p.index, newDice(p.sim.seed, partSet, uint64(p.index)+1<<41))
}

// checkApplicationSet refuses the call as the server does: for a templated or unknown project, a bad name, or no right to change the
// project.
func (c *call) checkApplicationSet(m obj) {
	name, project := text(m, "metadata", "name"), text(m, "spec", "template", "spec", "project")
	switch {
	case strings.Contains(project, "{{"):
		refuseCall(unknown, "error validating ApplicationSets: the Argo CD API does not currently support creating ApplicationSets with templated `project` fields")
	case !c.exists(projects, project):
		refuseCall(invalidArgument, "ApplicationSet references project %s which does not exist", project)
	case !dnsName(name):
		refuseCall(unknown, "error creating ApplicationSet: ApplicationSet.argoproj.io %q is invalid: metadata.name: Invalid value: %q", name, name)
	case !c.canChange(project):
		c.deny("applicationsets", "create", project+"/"+name)
	}
}

// createApplicationSet stores a new application set, or with upsert replaces one, and answers with it. A dry run stores nothing, and the
// answer has the applications that it would make in its status.
func createApplicationSet(c *call) {
	m := obj{}
	c.decodeBody(&m)
	upsert, dry := c.flag("upsert"), c.flag("dryRun")
	c.checkApplicationSet(m)
	if dry {
		var resources []any
		for _, a := range c.generateApplications(m) {
			resources = append(resources, obj{"group": "argoproj.io", "version": "v1alpha1", "kind": "Application", "namespace": space(text(m, "metadata", "namespace")), "name": text(a, "metadata", "name")})
		}
		ensureObject(m, "status")["resources"] = resources
		c.answer(marshal(m))
		return
	}
	ensureObject(m, "status")
	c.storeNew(applicationsets, m, upsert, "existing ApplicationSet spec is different, use upsert flag to force update")
}

// deleteApplicationSet removes an application set. It refuses if there is none, or if the user may not change its project.
func deleteApplicationSet(c *call) {
	f, ok := c.findObject(applicationsets, space(c.query.Get("appsetNamespace")), c.args[0])
	if !ok {
		refuseCall(notFound, "error getting ApplicationSets: applicationsets.argoproj.io %q not found", c.args[0])
	}
	if !c.canChange(f.project) {
		c.deny("applicationsets", "delete", f.project+"/"+f.name)
	}
	c.removeObject(&f)
}

// maxGenerated bounds what one set may become.
const maxGenerated = 1000

// generateApplications makes the applications of a set with list and clusters generators, and stores none. It refuses the call for a set
// without generators, with others (they would ask a repository or a code host, which there is none of), and for more than maxGenerated
// applications.
func (c *call) generateApplications(m obj) (all []obj) {
	broken := func(format string, args ...any) {
		refuseCall(unknown, "unable to generate Applications of ApplicationSet: "+format, args...)
	}
	generators := list(m, "spec", "generators")
	if len(generators) == 0 {
		broken("no generators in the spec")
	}
	template, _ := lookup(m, "spec", "template").(obj)
	for _, g := range generators {
		generator, _ := g.(obj)
		rows, why := c.generatorRows(generator)
		if why != "" {
			broken("%s", why)
		}
		for _, row := range rows {
			var pairs []string
			for key, value := range row {
				plain := string(appendQuoted(nil, fmt.Sprint(value)))
				pairs = append(pairs, "{{"+key+"}}", plain, "{{ "+key+" }}", plain, "{{."+key+"}}", plain, "{{ ."+key+" }}", plain)
			}
			app, err := parse([]byte(strings.NewReplacer(pairs...).Replace(string(marshal(template)))))
			if err != nil {
				broken("%v", err)
			}
			ensureObject(app, "metadata")["namespace"] = "argocd"
			ensureObject(app, "status")
			if all = append(all, app); len(all) > maxGenerated {
				refuseCall(resourceExhausted, "unable to generate Applications of ApplicationSet: more than %d", maxGenerated)
			}
		}
	}
	return all
}

// generatorRows returns a generator's rows: the elements of a list, or the clusters with the label env that it selects. For any other
// generator there are none, and why says so.
func (c *call) generatorRows(generator obj) (rows []obj, why string) {
	if fixed, ok := generator["list"].(obj); ok {
		for _, e := range list(fixed, "elements") {
			if row, ok := e.(obj); ok {
				rows = append(rows, row)
			}
		}
		return rows, ""
	}
	if selected, ok := generator["clusters"].(obj); ok {
		labels, _ := lookup(selected, "selector", "matchLabels").(obj)
		for i := range min(c.options.Clusters, maxGenerated) {
			cl := c.clusterAt(i)
			if env, has := labels["env"]; !has || env == cl.Env {
				rows = append(rows, obj{"name": cl.Name, "server": cl.Server, "url": cl.Server, "env": cl.Env, "cluster": cl.Name})
			}
		}
		return rows, ""
	}
	for kind := range generator {
		return nil, "error generating params from " + kind + ": no repository is reachable"
	}
	return nil, "an empty generator"
}

// previewApplicationSet answers with the applications that a set would make. It stores nothing.
func previewApplicationSet(c *call) {
	var q struct{ ApplicationSet obj }
	c.decodeBody(&q)
	if q.ApplicationSet == nil {
		refuseCall(unknown, "set ApplicationSets is nil in request")
	}
	c.checkApplicationSet(q.ApplicationSet)
	answer := obj{}
	if apps := c.generateApplications(q.ApplicationSet); len(apps) > 0 {
		answer["applications"] = apps
	}
	c.answer(marshal(answer))
}
