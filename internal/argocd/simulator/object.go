package simulator

import (
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// head holds the fields of an object that filters and counts need.
type head struct {
	name, namespace, project string
	health, sync             string
	labels                   []label
	repos                    []string
}

// label is one label of an object.
type label struct{ key, value string }

// found is an application, project or application set: generated, or as a write left it.
type found struct {
	head

	kind  kind
	index int       // of a generated one, -1 of others
	body  []byte    // as a write left it
	made  generator // of a generated one that no write has changed
	m     obj       // what a write is changing
}

// write appends the object.
func (f *found) write(b []byte) []byte {
	if f.made != nil {
		return f.made.write(b)
	}
	return append(b, f.body...)
}

// generator makes the objects of a kind one after the other, so that nothing of them is held.
type generator interface {
	roll(i int) // decides about the object of a number
	head(h *head)
	write(b []byte) []byte
}

func (s *Simulator) generator(k kind) generator {
	switch k {
	case applications:
		return &application{sim: s}
	case projects:
		return &project{sim: s}
	}
	return &set{sim: s}
}

func (f *found) roll(i int) {
	f.index = i
	f.made.roll(i)
	f.made.head(&f.head)
}

// find looks an object up, whoever asks.
func (s *Simulator) find(k kind, namespace, name string) (found, bool) {
	f := found{kind: k, index: -1}
	if namespace == "argocd" {
		if i, ok := s.names[k].find(name); ok {
			f.index = i
		}
	}
	if kept := s.stored[k].get(namespace + "/" + name); kept != nil {
		return *kept, kept.body != nil
	}
	if f.index < 0 {
		return f, false
	}
	f.made = s.generator(k)
	f.roll(f.index)
	return f, true
}

func (s *Simulator) exists(k kind, name string) bool {
	_, ok := s.find(k, "argocd", name)
	return ok
}

// walk gives all objects of a kind in the order of their names. What it gives is valid during yield and not to be changed.
func (s *Simulator) walk(k kind, yield func(f *found) bool) {
	names := &s.names[k]
	changed, added := s.stored[k].list()
	made := found{kind: k, made: s.generator(k)}
	for i := range names.n {
		if len(changed) > 0 {
			name := names.name(i)
			for len(added) > 0 && added[0].name < name {
				if !yield(added[0]) {
					return
				}
				added = added[1:]
			}
			if f := changed["argocd/"+name]; f != nil {
				if f.body != nil && !yield(f) {
					return
				}
				continue
			}
		}
		if made.roll(i); !yield(&made) {
			return
		}
	}
	for _, f := range added {
		if !yield(f) {
			return
		}
	}
}

// headOf reads what filters need from an object's bytes.
func headOf(body []byte) head {
	type source struct {
		RepoURL string `json:"repoURL"`
	}
	var o struct {
		Metadata struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Spec struct {
			Project  string
			Source   source
			Sources  []source
			Template struct{ Spec struct{ Project string } }
		}
		Status struct {
			Health struct{ Status string }
			Sync   struct{ Status string }
		}
	}
	// What does not fit has a type that no filter knows: it stays empty.
	_ = json.Unmarshal(body, &o)
	h := head{
		name: o.Metadata.Name, namespace: o.Metadata.Namespace, project: o.Spec.Project,
		health: o.Status.Health.Status, sync: o.Status.Sync.Status,
	}
	if h.project == "" {
		h.project = o.Spec.Template.Spec.Project
	}
	for k, v := range o.Metadata.Labels {
		h.labels = append(h.labels, label{k, v})
	}
	sorting.By(h.labels, func(x, y label) int { return strings.Compare(x.key, y.key) })
	for _, src := range append(o.Spec.Sources, o.Spec.Source) { // these count before that
		if src.RepoURL != "" {
			h.repos = append(h.repos, src.RepoURL)
		}
	}
	return h
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
		return c.answer(f.write(nil))
	}
}
