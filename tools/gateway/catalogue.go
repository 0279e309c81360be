package gateway

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plimsoll/plimsoll/tools/result"
)

// maxShelf bounds the principals whose lists are remembered of one server. Lists that are
// alike are remembered once.
const maxShelf = 256

// Catalogue is what is remembered of the tools of one server, shared by all sessions with
// it. A server behind HTTP may list other tools to other principals, so it is kept for each.
type Catalogue struct {
	mu      sync.Mutex
	of      map[string]*known
	byUse   []string // principals, the least recently listed first
	alone   bool     // the server has resources and no tools
	version uint64   // counts list_changed
}

// NewCatalogue returns an empty catalogue.
func NewCatalogue() *Catalogue { return &Catalogue{of: map[string]*known{}} }

// known is one list. It is not changed once it is shown to others, but for compiled.
type known struct {
	sum     [sha256.Size]byte
	traits  map[string]trait
	names   result.Names
	version uint64 // of the catalogue when it was asked for
	at      time.Time
	failed  bool // the server gave no list

	mu       sync.Mutex
	compiled map[string]*jsonschema.Resolved // nil for a schema that is none
}

// get finds what is known for a principal; nil is nothing. stale says that the server has
// announced changes since.
func (c *Catalogue) get(principal string) (k *known, stale bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k = c.of[principal]
	return k, k != nil && (k.version != c.version || k.failed && time.Since(k.at) > askAgain)
}

// put remembers a list that was asked for at version.
func (c *Catalogue) put(principal string, k *known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.of {
		if other.sum == k.sum && other.version == k.version && !other.failed && !k.failed {
			k = other
			break
		}
	}
	for i, p := range c.byUse {
		if p == principal {
			c.byUse = append(c.byUse[:i], c.byUse[i+1:]...)
			break
		}
	}
	if len(c.byUse) >= maxShelf {
		delete(c.of, c.byUse[0])
		c.byUse = c.byUse[1:]
	}
	c.byUse = append(c.byUse, principal)
	c.of[principal] = k
}

func (c *Catalogue) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// changed says that the server announced that its tools changed.
func (c *Catalogue) changed() {
	c.mu.Lock()
	c.version++
	c.mu.Unlock()
}

func (c *Catalogue) setAlone(alone bool) {
	c.mu.Lock()
	c.alone = alone
	c.mu.Unlock()
}

func (c *Catalogue) isAlone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alone
}

// trait of a tool; nil-safe.
func (k *known) trait(tool string) trait {
	if k == nil {
		return trait{}
	}
	return k.traits[tool]
}

// schema compiles the outputSchema of a tool; nil when there is none that can be used.
// Addresses in it are not followed: a schema must not make the gateway ask anywhere.
func (k *known) schema(tool string) *jsonschema.Resolved {
	raw := k.trait(tool).schema
	if raw == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.compiled[tool]; ok {
		return r
	}
	var schema jsonschema.Schema
	var r *jsonschema.Resolved
	if schema.UnmarshalJSON(raw) == nil {
		r, _ = schema.Resolve(nil)
	}
	if k.compiled == nil {
		k.compiled = map[string]*jsonschema.Resolved{}
	}
	k.compiled[tool] = r
	return r
}
