package simulator

import (
	"encoding/json"
	"slices"
)

// project describes a generated project, or "default", which every installation has.
type project struct {
	sim                   *Simulator
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

func (p *project) roll(i int) {
	s := p.sim
	at, _ := s.names[projects].parts(i)
	*p = project{sim: s, index: i, name: s.names[projects].name(i), domain: s.words.Domains[at[0]]}
}

func (p *project) head(h *head) { *h = head{name: p.name, namespace: "argocd", project: p.name} }

// write appends the project as JSON. It makes up what depends on the index first, and sets it in p: roles, version and time of creation.
func (p *project) write(b []byte) []byte {
	p.byDefault, p.clusters = p.name == "default", p.sim.options.Clusters > 0
	p.created, p.version, p.roles = created(p.index), 57+p.index, nil
	actions := []string{"get", "sync", "update", "override", "action/*", "delete/*/Pod/*"}
	for i, name := range []string{"admin", "ci", "deployer", "read-only"} {
		p.roles = append(p.roles, role{name, p.name, slices.Concat(actions[i:], actions[:i]), i%2 == 0})
	}
	return p.sim.render(b, "project", p, p.index, newDice(p.sim.seed, partProject, uint64(p.index)))
}

// detailed is a project with its repositories.
type detailed struct {
	body         []byte
	repositories []repository
}

// getDetailed answers with a project and the repositories that belong to it.
func getDetailed(c *call) {
	f := c.requestedObject(projects)
	v := detailed{body: f.write(nil)}
	for _, r := range c.allRepositories() {
		if r.project == f.name {
			v.repositories = append(v.repositories, r)
		}
	}
	c.answer(c.render(nil, "detailed", &v, 0, dice{}))
}

// syncWindowsOf returns the sync windows of the project of this name; nil if there is no such project.
func (s *Simulator) syncWindowsOf(name string) []obj {
	var p struct {
		Spec struct{ SyncWindows []obj }
	}
	f, ok := s.findObject(projects, "argocd", name)
	if !ok || json.Unmarshal(f.write(nil), &p) != nil {
		return nil // a project somebody stored with something else there has none
	}
	return p.Spec.SyncWindows
}

// repository is a configured repository.
type repository struct {
	url, kind, name, project string
	insecure, oci, failed    bool
}

// allRepositories makes up the 24 repositories, as many as the recorded installation has.
func (s *Simulator) allRepositories() []repository {
	var all []repository
	for i, domain := range s.words.Domains[:24] {
		r := repository{kind: "git", failed: true, insecure: i%4 == 3}
		switch i % 4 {
		case 0:
			r.url = "git@git.corp.example.net:" + domain + "/" + domain + "-core.git"
		case 1:
			r.url, r.kind, r.name = "https://charts.corp.example.net/"+domain, "helm", domain+"-charts"
		case 2:
			r.url = "https://git.corp.example.net/" + domain + "/" + domain + "-platform.git"
		default:
			r.url, r.kind, r.oci, r.failed = "registry.corp.example.net/charts/"+domain, "helm", true, false
		}
		if i%6 == 4 && s.names[projects].n > 0 {
			r.project = s.names[projects].name(i * s.names[projects].n / 24)
		}
		all = append(all, r)
	}
	return all
}

// listRepositories answers with all repositories, or with an empty list for a restricted user.
func listRepositories(c *call) {
	s := c.sink()
	s.b = append(s.b, `{"metadata":{},"items":`...)
	s.array(func() {
		if c.user != nil {
			return
		}
		for _, r := range c.allRepositories() {
			s.beginItem()
			s.b = c.render(s.b, "repository", &r, 0, dice{})
		}
	})
	s.b = append(s.b, '}')
	s.flush()
}

// createProject stores a new project, or with upsert replaces one, and answers with it. It refuses restricted users, and a name that
// Kubernetes would not take.
func createProject(c *call) {
	var q struct {
		Project obj
		Upsert  bool
	}
	c.decodeBody(&q)
	if q.Project == nil {
		refuseCall(invalidArgument, "missing payload 'project' in request")
	}
	if c.user != nil {
		c.deny("projects", "create", text(q.Project, "metadata", "name"))
	}
	name := text(q.Project, "metadata", "name")
	if !dnsName(name) {
		refuseCall(invalidArgument, "AppProject.argoproj.io %q is invalid: metadata.name: Invalid value: %q: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'", name, name)
	}
	ensureObject(q.Project, "metadata")["namespace"] = "argocd"
	ensureObject(q.Project, "status")
	c.storeNew(projects, q.Project, q.Upsert, `existing project spec is different; use upsert flag to force update; difference in keys "spec"`)
}

// updateProject merges the request's project into the stored one, stores it and answers with it. It refuses a request of an older version
// of it, and users who may not change it.
func updateProject(c *call) {
	var q struct{ Project obj }
	c.decodeBody(&q)
	if q.Project == nil {
		refuseCall(invalidArgument, "missing payload 'project' in request")
	}
	f := c.requestedObject(projects)
	if !c.canChange(f.name) {
		c.deny("projects", "update", f.name)
	}
	f.m = f.parsed()
	if want := text(q.Project, "metadata", "resourceVersion"); want != "" && want != text(f.m, "metadata", "resourceVersion") {
		refuseCall(aborted, "Operation cannot be fulfilled on appprojects.argoproj.io %q: the object has been modified; please apply your changes to the latest version and try again", f.name)
	}
	mergeUpdate(f.m, q.Project)
	c.saveAndAnswer(&f)
}

// deleteProject removes a project. It fails for restricted users, for the default project, and for one that applications refer to.
func deleteProject(c *call) {
	f := c.requestedObject(projects)
	if c.user != nil {
		c.deny("projects", "delete", f.name)
	}
	if f.name == "default" {
		refuseCall(invalidArgument, "name '%s' is reserved and cannot be deleted", f.name)
	}
	if n := c.Counts().ByProject[f.name]; n > 0 {
		refuseCall(invalidArgument, "project is referenced by %d applications", n)
	}
	c.removeObject(&f)
}
