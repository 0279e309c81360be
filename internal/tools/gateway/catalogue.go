package gateway

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/result"
)

// maxPrincipals bounds the principals whose tool lists are remembered for one server. Equal lists are stored once.
const maxPrincipals = 256

// Catalogue remembers the tools of one server, for all sessions with it. A server behind HTTP may list different tools for
// different principals, so there is one list for each principal.
type Catalogue struct {
	mu      sync.Mutex
	of      map[string]*toolList
	byUse   []string // principals, the least recently listed first
	alone   bool     // the server has resources and declares no tools
	version uint64   // counts list_changed
}

// NewCatalogue returns an empty catalogue.
func NewCatalogue() *Catalogue { return &Catalogue{of: map[string]*toolList{}} }

// toolList is one remembered list of tools. Once it is shared, only its fields contracts and find change.
type toolList struct {
	sum     [sha256.Size]byte
	traits  map[string]toolTraits
	names   result.Names
	version uint64 // of the catalogue when it was asked for
	at      time.Time
	failed  bool // the server did not answer with a list
	finder  finderNames
	tools   []listed // those that may be used; only kept where Definitions.Max is set

	mu        sync.Mutex
	find      func(query string, limit int) []int // made when it is first needed
	contracts map[string]*result.Contract         // made when they are first needed
}

// get returns the remembered list of a principal, or nil. stale reports that it should be requested again: the server has announced changes
// since, or gave no list more than retryPause ago.
func (c *Catalogue) get(principal string) (k *toolList, stale bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k = c.of[principal]
	return k, k != nil && (k.version != c.version || k.failed && time.Since(k.at) > retryPause)
}

// put stores the list of a principal, and returns it, or an equal list of another principal that it shares instead. If there are more than
// maxPrincipals, the one that was listed longest ago is dropped.
func (c *Catalogue) put(principal string, k *toolList) *toolList {
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
	if len(c.byUse) >= maxPrincipals {
		delete(c.of, c.byUse[0])
		c.byUse = c.byUse[1:]
	}
	c.byUse = append(c.byUse, principal)
	c.of[principal] = k
	return k
}

// currentVersion returns a number that grows whenever the server announces a change of its tools.
func (c *Catalogue) currentVersion() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// changed records that the server announced a change of its tools.
func (c *Catalogue) changed() {
	c.mu.Lock()
	c.version++
	c.mu.Unlock()
}

// setAlone records whether the server has no tools, only resources.
func (c *Catalogue) setAlone(alone bool) {
	c.mu.Lock()
	c.alone = alone
	c.mu.Unlock()
}

// hasNoTools reports whether the server is known to have no tools, only resources.
func (c *Catalogue) hasNoTools() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alone
}

// trait returns the traits of a tool; the zero value if the tool is unknown or k is nil.
func (k *toolList) trait(tool string) toolTraits {
	if k == nil {
		return toolTraits{}
	}
	return k.traits[tool]
}
