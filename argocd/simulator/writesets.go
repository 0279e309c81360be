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
	c.writing.Lock()
	defer c.writing.Unlock()
	ensureObject(q.Project, "metadata")["namespace"] = "argocd"
	_, generated := c.projects.lookup(name)
	if body, ok := c.projectNamed(name); ok {
		old, err := parse(body)
		if err != nil {
			return err
		}
		if !same(old["spec"], q.Project["spec"]) {
			if !q.Upsert {
				return refuse(invalidArgument, "existing project spec is different; use upsert flag to force update; difference in keys \"spec\"")
			}
			merge(old, q.Project)
		}
		return c.storeOne(projects, old, generated)
	}
	c.fillMetadata(q.Project)
	ensureObject(q.Project, "status")
	return c.storeOne(projects, q.Project, generated)
}

// storeOne keeps one object and answers with it.
func (c *call) storeOne(k kind, m obj, generated bool) error {
	body, err := c.store(k, m, generated)
	if err != nil {
		return err
	}
	return c.answer(body)
}

func updateProject(c *call) error {
	var q struct{ Project obj }
	if err := c.read(&q); err != nil {
		return err
	}
	if q.Project == nil {
		return refuse(invalidArgument, "missing payload 'project' in request")
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	body, err := c.projectBody()
	if err != nil {
		return err
	}
	name := c.args[0]
	if !c.canChange(name) {
		return c.permissionDenied("projects", "update", name)
	}
	old, err := parse(body)
	if err != nil {
		return err
	}
	if want := text(q.Project, "metadata", "resourceVersion"); want != "" && want != text(old, "metadata", "resourceVersion") {
		return refuse(aborted, "Operation cannot be fulfilled on appprojects.argoproj.io %q: the object has been modified; please apply your changes to the latest version and try again", name)
	}
	merge(old, q.Project)
	_, generated := c.projects.lookup(name)
	return c.storeOne(projects, old, generated)
}

func deleteProject(c *call) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.projectBody(); err != nil {
		return err
	}
	name := c.args[0]
	if c.user != nil {
		return c.permissionDenied("projects", "delete", name)
	}
	if name == "default" {
		return refuse(invalidArgument, "name '%s' is reserved and cannot be deleted", name)
	}
	if n := c.Counts().ByProject[name]; n > 0 {
		return refuse(invalidArgument, "project is referenced by %d applications", n)
	}
	_, generated := c.projects.lookup(name)
	if err := c.remove(projects, head{name: name, namespace: "argocd"}, generated); err != nil {
		return err
	}
	return c.answer([]byte(`{}`))
}

func (c *call) validSet(m obj) error {
	project := text(m, "spec", "template", "spec", "project")
	if strings.Contains(project, "{{") {
		return refuse(unknown, "error validating ApplicationSets: the Argo CD API does not currently support creating ApplicationSets with templated `project` fields")
	}
	if _, ok := c.projectNamed(project); !ok {
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
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.validSet(m); err != nil {
		return err
	}
	name, space := text(m, "metadata", "name"), text(m, "metadata", "namespace")
	if space == "" {
		space = "argocd"
	}
	if dry {
		apps, err := c.generate(m)
		if err != nil {
			return err
		}
		var resources []any
		for _, a := range apps {
			resources = append(resources, obj{"group": "argoproj.io", "version": "v1alpha1", "kind": "Application", "namespace": space, "name": text(a, "metadata", "name")})
		}
		ensureObject(m, "status")["resources"] = resources
		return c.answer(marshal(m))
	}
	_, generated := c.sets.find(name)
	generated = generated && space == "argocd"
	if body, _, ok := c.setNamed(space, name); ok {
		old, err := parse(body)
		if err != nil {
			return err
		}
		if !same(old["spec"], m["spec"]) {
			if !upsert {
				return refuse(invalidArgument, "existing ApplicationSet spec is different, use upsert flag to force update")
			}
			merge(old, m)
		}
		return c.storeOne(applicationsets, old, generated)
	}
	c.fillMetadata(m)
	ensureObject(m, "status")
	return c.storeOne(applicationsets, m, generated)
}

func deleteSet(c *call) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	name, space := c.args[0], c.query.Get("appsetNamespace")
	if space == "" {
		space = "argocd"
	}
	_, project, ok := c.setNamed(space, name)
	if !ok {
		return refuse(notFound, "error getting ApplicationSets: applicationsets.argoproj.io %q not found", name)
	}
	if !c.canChange(project) {
		return c.permissionDenied("applicationsets", "delete", project+"/"+name)
	}
	_, generated := c.sets.find(name)
	if err := c.remove(applicationsets, head{name: name, namespace: space, project: project}, generated && space == "argocd"); err != nil {
		return err
	}
	return c.answer([]byte(`{}`))
}

// maxGenerated bounds what one set may become.
const maxGenerated = 1000

// generate makes the applications of a set with list and clusters generators; others would
// ask a repository or a code host, which there is none of.
func (c *call) generate(m obj) ([]obj, error) {
	generators, _ := lookup(m, "spec", "generators").([]any)
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
				plain := quoted(fmt.Sprint(value))
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
	if list, ok := generator["list"].(obj); ok {
		elements, _ := list["elements"].([]any)
		for _, e := range elements {
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
			if env, has := labels["env"]; !has || env == cl.env {
				rows = append(rows, obj{"name": cl.name, "server": cl.server, "url": cl.server, "env": cl.env, "cluster": cl.name})
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
