package simulator

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// The most that writes may leave behind, of each kind. A write beyond is refused with code
// 8, as a full etcd refuses it.
const (
	maxChanged      = 10_000
	maxChangedBytes = 64 * limit.MiB
)

// head holds the fields of an object that filters and counts need.
type head struct {
	name, namespace, project string
	health, sync             string
	labels                   []label
	repos                    []string
}

// entry is an object as a write left it; without a body it is deleted.
type entry struct {
	head

	key  string
	body []byte
}

// overlay holds the differences from the generated objects of a kind.
type overlay struct {
	mu      sync.RWMutex
	entries map[string]*entry // by namespace/name
	added   []*entry          // those that were not generated, sorted by name, namespace
	size    limit.Bytes
	refused int64
}

func (o *overlay) get(key string) *entry {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.entries[key]
}

// put keeps an object, or with a nil body that it is gone. generated is true when there is one
// of this key without the overlay.
func (o *overlay) put(e *entry, generated bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.entries[e.key]
	size := o.size + limit.Bytes(len(e.body)+len(e.key))
	n := len(o.entries) + 1
	if old != nil {
		size -= limit.Bytes(len(old.body) + len(old.key))
		n--
	}
	if e.body != nil && (n > maxChanged || size > maxChangedBytes) {
		o.refused++
		return refuse(resourceExhausted, "etcdserver: mvcc: database space exceeded")
	}
	if o.entries == nil {
		o.entries = make(map[string]*entry)
	}
	if old != nil && !generated {
		o.added = slices.DeleteFunc(o.added, func(a *entry) bool { return a == old })
	}
	switch {
	case e.body == nil && !generated:
		delete(o.entries, e.key)
	case n > maxChanged:
		o.refused++
		return refuse(resourceExhausted, "etcdserver: mvcc: database space exceeded")
	default:
		o.entries[e.key] = e
		if !generated {
			at := sort.Search(len(o.added), func(i int) bool { return !o.added[i].before(e) })
			o.added = slices.Insert(o.added, at, e)
		}
	}
	o.size = size
	return nil
}

func (e *entry) before(other *entry) bool {
	if e.name != other.name {
		return e.name < other.name
	}
	return e.namespace < other.namespace
}

// walk gives all objects of a kind in the order of their names: generated ones by number,
// changed ones with their entry, and those of writes with the number -1.
func (s *Simulator) walk(k kind, yield func(i int, e *entry) bool) {
	o, generated := &s.stored[k], &s.generated[k]
	o.mu.RLock()
	added, changed := slices.Clone(o.added), len(o.entries) > 0
	o.mu.RUnlock()
	for i := range generated.n {
		var e *entry
		if changed {
			called := generated.name(i)
			for len(added) > 0 && added[0].name < called {
				if !yield(-1, added[0]) {
					return
				}
				added = added[1:]
			}
			if e = o.get("argocd/" + called); e != nil && e.body == nil {
				continue
			}
		}
		if !yield(i, e) {
			return
		}
	}
	for _, e := range added {
		if !yield(-1, e) {
			return
		}
	}
}

// eachApplication gives the heads of all applications; a generated one is in a, and has no
// entry. The head is valid during yield.
func (s *Simulator) eachApplication(a *application, yield func(h *head, e *entry) bool) {
	var h head
	s.walk(applications, func(i int, e *entry) bool {
		if e != nil {
			return yield(&e.head, e)
		}
		s.application(i, a)
		a.head(&h)
		return yield(&h, nil)
	})
}

func (a *application) head(h *head) {
	h.name, h.namespace, h.project, h.health, h.sync = a.name, "argocd", a.project, a.health, a.sync
	h.labels, h.repos = a.labels(h.labels), a.repos(h.repos)
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
