package simulator

// catalog is the generated objects of a kind: nothing of them is held.
type catalog struct {
	n    int
	name func(i int) string
	find func(name string) (int, bool)
	head func(i int, h *head)
	body func(b []byte, i int) []byte
}

func (s *Simulator) catalogs() [kinds]catalog {
	return [kinds]catalog{
		applications: {s.apps.n, s.apps.name, s.apps.find, func(i int, h *head) {
			var a application
			s.application(i, &a)
			a.head(h)
		}, func(b []byte, i int) []byte {
			var a application
			s.application(i, &a)
			return s.writeApplication(b, &a)
		}},
		projects: {s.projects.total, s.projects.title, s.projects.lookup, func(i int, h *head) {
			*h = head{name: s.projects.title(i), namespace: "argocd"}
			h.project = h.name
		}, func(b []byte, i int) []byte { return s.writeProject(b, s.project(i)) }},
		applicationsets: {s.sets.n, s.sets.name, s.sets.find, func(i int, h *head) {
			p := s.set(i)
			*h = head{name: p.name, namespace: "argocd", project: p.project, labels: p.labels(h.labels)}
		}, func(b []byte, i int) []byte {
			p := s.set(i)
			return s.writeSet(b, &p)
		}},
	}
}

// found is an object: generated, or as a write left it.
type found struct {
	head

	kind  kind
	index int // of a generated one, -1 of others
	entry *entry
}

// find looks an object up, whoever asks.
func (s *Simulator) find(k kind, space, name string) (found, bool) {
	f := found{kind: k, index: -1}
	if space == "argocd" {
		if i, ok := s.generated[k].find(name); ok {
			f.index = i
		}
	}
	if f.entry = s.stored[k].get(space + "/" + name); f.entry != nil {
		f.head = f.entry.head
		return f, f.entry.body != nil
	}
	if f.index < 0 {
		return f, false
	}
	s.generated[k].head(f.index, &f.head)
	return f, true
}

func (s *Simulator) exists(k kind, name string) bool {
	_, ok := s.find(k, "argocd", name)
	return ok
}

// bodyOf returns the bytes of an object.
func (s *Simulator) bodyOf(f found) []byte {
	if f.entry != nil {
		return f.entry.body
	}
	return s.generated[f.kind].body(nil, f.index)
}

// object finds the application, project or application set that a path names, for who may see it.
func (c *call) object(k kind) (found, error) {
	name := c.args[0]
	switch k {
	case projects:
		if !c.canRead(name) {
			return found{}, c.permissionDenied("projects", "get", name)
		}
		f, ok := c.find(projects, "argocd", name)
		if !ok {
			return f, refuse(notFound, "appprojects.argoproj.io %q not found", name)
		}
		return f, nil
	case applicationsets:
		f, ok := c.find(applicationsets, space(c.query.Get("appsetNamespace")), name)
		if !ok {
			return f, refuse(notFound, "error getting ApplicationSet: applicationset.argoproj.io %q not found", name)
		}
		if !c.canRead(f.project) {
			return f, c.permissionDenied("applicationsets", "get", f.project+"/"+name)
		}
		return f, nil
	}
	return c.application(c.query.Get("appNamespace"), c.query.Get("project"))
}

// application finds the one a path names. What the server says of one that is missing
// depends on whether the request names a project: without it nobody is told what exists.
func (c *call) application(namespace, project string) (found, error) {
	name := c.args[0]
	f, ok := c.find(applications, space(namespace), name)
	switch {
	case ok && c.canRead(f.project) && (project == "" || f.project == project):
		return f, nil
	case project != "" && c.canRead(project) && (!ok || f.project != project):
		return found{}, refuse(notFound, "applications.argoproj.io %q not found", name)
	}
	return found{}, denied()
}

// space returns the namespace that a name means.
func space(name string) string {
	if name == "" {
		return "argocd"
	}
	return name
}

// getObject answers with an object.
func getObject(k kind) func(*call) error {
	return func(c *call) error {
		f, err := c.object(k)
		if err != nil {
			return err
		}
		if how := c.query.Get("refresh"); k == applications && (how == "normal" || how == "hard") {
			if f, err = c.refresh(f); err != nil {
				return err
			}
		}
		return c.answer(c.bodyOf(f))
	}
}
