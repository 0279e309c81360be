package simulator

import (
	"fmt"
	"strings"
)

func createProject(c *call) error {
	var q struct {
		Project obj
		Upsert  bool
	}
	if err := c.read(&q); err != nil {
		return err
	}
	if q.Project == nil {
		return refuse(invalidArgument, "missing payload 'project' in request")
	}
	if c.user != nil {
		return c.permissionDenied("projects", "create", text(q.Project, "metadata", "name"))
	}
	name := text(q.Project, "metadata", "name")
	if !dnsName(name) {
		return refuse(invalidArgument, "AppProject.argoproj.io %q is invalid: metadata.name: Invalid value: %q: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'", name, name)
	}
	ensureObject(q.Project, "metadata")["namespace"] = "argocd"
	ensureObject(q.Project, "status")
	return c.create(projects, q.Project, q.Upsert, `existing project spec is different; use upsert flag to force update; difference in keys "spec"`)
}

func updateProject(c *call) error {
	var q struct{ Project obj }
	if err := c.read(&q); err != nil {
		return err
	}
	if q.Project == nil {
		return refuse(invalidArgument, "missing payload 'project' in request")
	}
	f, err := c.object(projects)
	if err != nil {
		return err
	}
	if !c.canChange(f.name) {
		return c.permissionDenied("projects", "update", f.name)
	}
	if err := f.open(); err != nil {
		return err
	}
	if want := text(q.Project, "metadata", "resourceVersion"); want != "" && want != text(f.m, "metadata", "resourceVersion") {
		return refuse(aborted, "Operation cannot be fulfilled on appprojects.argoproj.io %q: the object has been modified; please apply your changes to the latest version and try again", f.name)
	}
	merge(f.m, q.Project)
	return c.saved(&f)
}

func deleteProject(c *call) error {
	f, err := c.object(projects)
	if err != nil {
		return err
	}
	if c.user != nil {
		return c.permissionDenied("projects", "delete", f.name)
	}
	if f.name == "default" {
		return refuse(invalidArgument, "name '%s' is reserved and cannot be deleted", f.name)
	}
	if n := c.Counts().ByProject[f.name]; n > 0 {
		return refuse(invalidArgument, "project is referenced by %d applications", n)
	}
	return c.remove(&f)
}

func (c *call) validSet(m obj) error {
	project := text(m, "spec", "template", "spec", "project")
	if strings.Contains(project, "{{") {
		return refuse(unknown, "error validating ApplicationSets: the Argo CD API does not currently support creating ApplicationSets with templated `project` fields")
	}
	if !c.exists(projects, project) {
		return refuse(invalidArgument, "ApplicationSet references project %s which does not exist", project)
	}
	if name := text(m, "metadata", "name"); !dnsName(name) {
		return refuse(unknown, "error creating ApplicationSet: ApplicationSet.argoproj.io %q is invalid: metadata.name: Invalid value: %q", name, name)
	}
	if !c.canChange(project) {
		return c.permissionDenied("applicationsets", "create", project+"/"+text(m, "metadata", "name"))
	}
	return nil
}

func createSet(c *call) error {
	m := obj{}
	if err := c.read(&m); err != nil {
		return err
	}
	upsert, err := c.flag("upsert")
	if err != nil {
		return err
	}
	dry, err := c.flag("dryRun")
	if err != nil {
		return err
	}
	if err := c.validSet(m); err != nil {
		return err
	}
	if dry {
		apps, err := c.generate(m)
		if err != nil {
			return err
		}
		var resources []any
		for _, a := range apps {
			resources = append(resources, obj{"group": "argoproj.io", "version": "v1alpha1", "kind": "Application", "namespace": space(text(m, "metadata", "namespace")), "name": text(a, "metadata", "name")})
		}
		ensureObject(m, "status")["resources"] = resources
		return c.answer(marshal(m))
	}
	ensureObject(m, "status")
	return c.create(applicationsets, m, upsert, "existing ApplicationSet spec is different, use upsert flag to force update")
}

func deleteSet(c *call) error {
	f, ok := c.find(applicationsets, space(c.query.Get("appsetNamespace")), c.args[0])
	if !ok {
		return refuse(notFound, "error getting ApplicationSets: applicationsets.argoproj.io %q not found", c.args[0])
	}
	if !c.canChange(f.project) {
		return c.permissionDenied("applicationsets", "delete", f.project+"/"+f.name)
	}
	return c.remove(&f)
}

// maxGenerated bounds what one set may become.
const maxGenerated = 1000

// generate makes the applications of a set with list and clusters generators; others would
// ask a repository or a code host, which there is none of.
func (c *call) generate(m obj) ([]obj, error) {
	generators := list(m, "spec", "generators")
	if len(generators) == 0 {
		return nil, refuse(unknown, "unable to generate Applications of ApplicationSet: no generators in the spec")
	}
	template, _ := lookup(m, "spec", "template").(obj)
	var all []obj
	for _, g := range generators {
		generator, _ := g.(obj)
		rows, err := c.parameters(generator)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			var pairs []string
			for key, value := range row {
				plain := string(appendQuoted(nil, fmt.Sprint(value)))
				pairs = append(pairs, "{{"+key+"}}", plain, "{{ "+key+" }}", plain, "{{."+key+"}}", plain, "{{ ."+key+" }}", plain)
			}
			app, err := parse([]byte(strings.NewReplacer(pairs...).Replace(string(marshal(template)))))
			if err != nil {
				return nil, refuse(unknown, "unable to generate Applications of ApplicationSet: %v", err)
			}
			ensureObject(app, "metadata")["namespace"] = "argocd"
			ensureObject(app, "status")
			if all = append(all, app); len(all) > maxGenerated {
				return nil, refuse(resourceExhausted, "unable to generate Applications of ApplicationSet: more than %d", maxGenerated)
			}
		}
	}
	return all, nil
}

func (c *call) parameters(generator obj) ([]obj, error) {
	var rows []obj
	if fixed, ok := generator["list"].(obj); ok {
		for _, e := range list(fixed, "elements") {
			if row, ok := e.(obj); ok {
				rows = append(rows, row)
			}
		}
		return rows, nil
	}
	if selected, ok := generator["clusters"].(obj); ok {
		labels, _ := lookup(selected, "selector", "matchLabels").(obj)
		for i := range min(c.clusters, maxGenerated) {
			cl := c.cluster(i)
			if env, has := labels["env"]; !has || env == cl.Env {
				rows = append(rows, obj{"name": cl.Name, "server": cl.Server, "url": cl.Server, "env": cl.Env, "cluster": cl.Name})
			}
		}
		return rows, nil
	}
	for kind := range generator {
		return nil, refuse(unknown, "unable to generate Applications of ApplicationSet: error generating params from %s: no repository is reachable", kind)
	}
	return nil, refuse(unknown, "unable to generate Applications of ApplicationSet: an empty generator")
}

func generateSet(c *call) error {
	var q struct{ ApplicationSet obj }
	if err := c.read(&q); err != nil {
		return err
	}
	if q.ApplicationSet == nil {
		return refuse(unknown, "set ApplicationSets is nil in request")
	}
	if err := c.validSet(q.ApplicationSet); err != nil {
		return err
	}
	apps, err := c.generate(q.ApplicationSet)
	if err != nil {
		return err
	}
	if len(apps) == 0 {
		return c.answer([]byte(`{}`))
	}
	return c.answer(marshal(obj{"applications": apps}))
}
