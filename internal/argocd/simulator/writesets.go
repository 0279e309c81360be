package simulator

import (
	"fmt"
	"strings"
)

func createProject(c *call) {
	var q struct {
		Project obj
		Upsert  bool
	}
	c.read(&q)
	if q.Project == nil {
		fail(invalidArgument, "missing payload 'project' in request")
	}
	if c.user != nil {
		c.deny("projects", "create", text(q.Project, "metadata", "name"))
	}
	name := text(q.Project, "metadata", "name")
	if !dnsName(name) {
		fail(invalidArgument, "AppProject.argoproj.io %q is invalid: metadata.name: Invalid value: %q: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'", name, name)
	}
	ensureObject(q.Project, "metadata")["namespace"] = "argocd"
	ensureObject(q.Project, "status")
	c.create(projects, q.Project, q.Upsert, `existing project spec is different; use upsert flag to force update; difference in keys "spec"`)
}

func updateProject(c *call) {
	var q struct{ Project obj }
	c.read(&q)
	if q.Project == nil {
		fail(invalidArgument, "missing payload 'project' in request")
	}
	f := c.object(projects)
	if !c.canChange(f.name) {
		c.deny("projects", "update", f.name)
	}
	f.m = f.parsed()
	if want := text(q.Project, "metadata", "resourceVersion"); want != "" && want != text(f.m, "metadata", "resourceVersion") {
		fail(aborted, "Operation cannot be fulfilled on appprojects.argoproj.io %q: the object has been modified; please apply your changes to the latest version and try again", f.name)
	}
	merge(f.m, q.Project)
	c.saved(&f)
}

func deleteProject(c *call) {
	f := c.object(projects)
	if c.user != nil {
		c.deny("projects", "delete", f.name)
	}
	if f.name == "default" {
		fail(invalidArgument, "name '%s' is reserved and cannot be deleted", f.name)
	}
	if n := c.Counts().ByProject[f.name]; n > 0 {
		fail(invalidArgument, "project is referenced by %d applications", n)
	}
	c.remove(&f)
}

func (c *call) validSet(m obj) {
	name, project := text(m, "metadata", "name"), text(m, "spec", "template", "spec", "project")
	switch {
	case strings.Contains(project, "{{"):
		fail(unknown, "error validating ApplicationSets: the Argo CD API does not currently support creating ApplicationSets with templated `project` fields")
	case !c.exists(projects, project):
		fail(invalidArgument, "ApplicationSet references project %s which does not exist", project)
	case !dnsName(name):
		fail(unknown, "error creating ApplicationSet: ApplicationSet.argoproj.io %q is invalid: metadata.name: Invalid value: %q", name, name)
	case !c.canChange(project):
		c.deny("applicationsets", "create", project+"/"+name)
	}
}

func createSet(c *call) {
	m := obj{}
	c.read(&m)
	upsert, dry := c.flag("upsert"), c.flag("dryRun")
	c.validSet(m)
	if dry {
		var resources []any
		for _, a := range c.generate(m) {
			resources = append(resources, obj{"group": "argoproj.io", "version": "v1alpha1", "kind": "Application", "namespace": space(text(m, "metadata", "namespace")), "name": text(a, "metadata", "name")})
		}
		ensureObject(m, "status")["resources"] = resources
		c.answer(marshal(m))
		return
	}
	ensureObject(m, "status")
	c.create(applicationsets, m, upsert, "existing ApplicationSet spec is different, use upsert flag to force update")
}

func deleteSet(c *call) {
	f, ok := c.find(applicationsets, space(c.query.Get("appsetNamespace")), c.args[0])
	if !ok {
		fail(notFound, "error getting ApplicationSets: applicationsets.argoproj.io %q not found", c.args[0])
	}
	if !c.canChange(f.project) {
		c.deny("applicationsets", "delete", f.project+"/"+f.name)
	}
	c.remove(&f)
}

// maxGenerated bounds what one set may become.
const maxGenerated = 1000

// generate makes the applications of a set with list and clusters generators; others would
// ask a repository or a code host, which there is none of.
func (c *call) generate(m obj) (all []obj) {
	broken := func(format string, args ...any) {
		fail(unknown, "unable to generate Applications of ApplicationSet: "+format, args...)
	}
	generators := list(m, "spec", "generators")
	if len(generators) == 0 {
		broken("no generators in the spec")
	}
	template, _ := lookup(m, "spec", "template").(obj)
	for _, g := range generators {
		generator, _ := g.(obj)
		rows, why := c.parameters(generator)
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
				fail(resourceExhausted, "unable to generate Applications of ApplicationSet: more than %d", maxGenerated)
			}
		}
	}
	return all
}

// parameters returns a generator's rows, or why it has none.
func (c *call) parameters(generator obj) (rows []obj, why string) {
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
			cl := c.cluster(i)
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

func generateSet(c *call) {
	var q struct{ ApplicationSet obj }
	c.read(&q)
	if q.ApplicationSet == nil {
		fail(unknown, "set ApplicationSets is nil in request")
	}
	c.validSet(q.ApplicationSet)
	answer := obj{}
	if apps := c.generate(q.ApplicationSet); len(apps) > 0 {
		answer["applications"] = apps
	}
	c.answer(marshal(answer))
}
