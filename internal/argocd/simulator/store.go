package simulator

import (
	"maps"
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

// list returns the objects as they are now, and those among them that were not generated, sorted.
func (o *store) list() (all map[string]*found, added []*found) {
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

// put keeps an object, or with a nil body that it is gone.
func (o *store) put(f *found) *refusal {
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
		return refuse(resourceExhausted, "etcdserver: mvcc: database space exceeded")
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
