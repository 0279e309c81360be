package simulator

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
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

// newGenerator returns a new generator of objects of a kind: applications, projects, and else application sets.
func (s *Simulator) newGenerator(k kind) generator {
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

// findObject looks an object up, whoever asks: what was written is found before what is generated. It returns false, with a found to store
// one in, if there is none or it was deleted.
func (s *Simulator) findObject(k kind, namespace, name string) (found, bool) {
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
	f.made = s.newGenerator(k)
	f.roll(f.index)
	return f, true
}

func (s *Simulator) exists(k kind, name string) bool {
	_, ok := s.findObject(k, "argocd", name)
	return ok
}

// forObjects calls yield with all objects of a kind, generated and written ones, in the order of their names. What it gives is valid during
// yield and not to be changed.
func (s *Simulator) forObjects(k kind, yield func(f *found)) {
	changed, added := s.stored[k].allObjects()
	made := found{kind: k, made: s.newGenerator(k)}
	for i := range s.names[k].n {
		if len(changed) == 0 {
			made.roll(i)
			yield(&made)
			continue
		}
		name := s.names[k].name(i)
		for len(added) > 0 && added[0].name < name {
			yield(added[0])
			added = added[1:]
		}
		f := changed["argocd/"+name]
		if f == nil {
			made.roll(i)
			f = &made
		}
		if f.made != nil || f.body != nil {
			yield(f)
		}
	}
	for _, f := range added {
		yield(f)
	}
}

// headOf returns what filters need of an object. A field of an unexpected type counts as missing.
func headOf(m obj) head {
	h := head{
		name: text(m, "metadata", "name"), namespace: text(m, "metadata", "namespace"),
		project: cmp.Or(text(m, "spec", "project"), text(m, "spec", "template", "spec", "project")),
		health:  text(m, "status", "health", "status"), sync: text(m, "status", "sync", "status"),
	}
	labels, _ := lookup(m, "metadata", "labels").(obj)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		h.labels = append(h.labels, label{key, text(labels, key)})
	}
	for _, v := range append(slices.Clone(list(m, "spec", "sources")), lookup(m, "spec", "source")) { // these count before that
		source, _ := v.(obj)
		if repo := text(source, "repoURL"); repo != "" {
			h.repos = append(h.repos, repo)
		}
	}
	return h
}

// requestedObject returns the application, project or application set that the path names. It refuses the call if there is none, or if the
// user may not see it.
func (c *call) requestedObject(k kind) found {
	name := c.args[0]
	if k == applications {
		return c.requestedApplication(c.query.Get("appNamespace"), c.query.Get("project"))
	}
	if k == projects && !c.canRead(name) {
		c.deny("projects", "get", name)
	}
	f, ok := c.findObject(k, space(c.query.Get("appsetNamespace")), name)
	switch {
	case k == projects && !ok:
		refuseCall(notFound, "appprojects.argoproj.io %q not found", name)
	case !ok:
		refuseCall(notFound, "error getting ApplicationSet: applicationset.argoproj.io %q not found", name)
	case !c.canRead(f.project):
		c.deny("applicationsets", "get", f.project+"/"+name)
	}
	return f
}

// requestedApplication returns the application that the path names, and refuses the call if there is none or the user may not see it. What
// the server says of one that is missing depends on whether the request names a project: without it nobody is told what exists.
func (c *call) requestedApplication(namespace, project string) found {
	f, ok := c.findObject(applications, space(namespace), c.args[0])
	elsewhere := project != "" && (!ok || f.project != project)
	if elsewhere && c.canRead(project) {
		refuseCall(notFound, "applications.argoproj.io %q not found", c.args[0])
	}
	if elsewhere || !ok || !c.canRead(f.project) {
		panic(deniedRefusal())
	}
	return f
}

// space returns the namespace that a name means.
func space(name string) string { return cmp.Or(name, "argocd") }

// getObject returns a handler that answers with one object of a kind. An application is refreshed before, if the query says refresh=normal
// or hard.
func getObject(k kind) func(*call) {
	return func(c *call) {
		f := c.requestedObject(k)
		if how := c.query.Get("refresh"); k == applications && (how == "normal" || how == "hard") {
			f = c.refreshApplication(f)
		}
		c.answer(f.write(nil))
	}
}

// The most that writes may leave behind, of each kind. A write beyond is refused with code
// 8, as a full etcd refuses it.
const (
	maxChanged      = 10_000
	maxChangedBytes = 64 * limit.MiB
)

// store holds the differences from the generated objects of a kind: what writes left, without a body where they deleted a generated one.
type store struct {
	mu      sync.RWMutex
	objects map[string]*found // by namespace/name
	size    limit.Bytes
	refused int64
}

func (f *found) key() string { return f.namespace + "/" + f.name }

func (o *store) get(key string) *found {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.objects[key]
}

// allObjects returns the objects as they are now, and those among them that were not generated, sorted.
func (o *store) allObjects() (all map[string]*found, added []*found) {
	o.mu.RLock()
	all = maps.Clone(o.objects)
	o.mu.RUnlock()
	for _, f := range all {
		if f.index < 0 {
			added = append(added, f)
		}
	}
	sorting.By(added, func(x, y *found) int {
		if x.name != y.name {
			return strings.Compare(x.name, y.name)
		}
		return strings.Compare(x.namespace, y.namespace)
	})
	return all, added
}

// putObject stores an object in place of the generated one; with a nil body the object counts as deleted. It refuses when the store would
// have too many objects or bytes, and then changes nothing.
func (o *store) putObject(f *found) *refusal {
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.objects[f.key()]
	size, n := o.size, len(o.objects)
	forgotten := f.body == nil && f.index < 0
	if !forgotten {
		size += limit.Bytes(len(f.body) + len(f.key()))
		n++
	}
	if old != nil {
		size -= limit.Bytes(len(old.body) + len(old.key()))
		n--
	}
	if n > maxChanged && !forgotten || size > maxChangedBytes && f.body != nil {
		o.refused++
		return newRefusal(resourceExhausted, "etcdserver: mvcc: database space exceeded")
	}
	if forgotten {
		delete(o.objects, f.key())
	} else {
		if o.objects == nil {
			o.objects = make(map[string]*found)
		}
		o.objects[f.key()] = f
	}
	o.size = size
	return nil
}
