// Package toolset has the MCP tools that agents use with Argo CD. No answer of the tools can flood a model, and every number in an answer is exact.
//
//	set, err := toolset.New(toolset.Options{Instances: []*argocd.Client{client}})
//	server, err := builtin.New(builtin.Options{Name: "argocd", Tools: set.Tools(), Instructions: set.Instructions()})
//
// Lists give pages of short rows, 20 unless asked for more, 100 at most, with counts over all that matches; search_argocd_resources looks through
// everything; others read one object and what belongs to it. Those that change something are there with [Options].AllowWrites only, and answer with
// a plan until they are told the name of the object again. Names, arguments and keys of answers are those of the Python server that came before. A
// default answer stays below 10,000 bytes: where that is too little all rows lose the same fields, and a note says so. Whole objects have no such
// bound, so the tools stand behind the gateway. An answer that would be incomplete is an error that says how to go on.
//
// With [TokensAllow] and [TokensRequire] a client's own token is used, so that Argo CD's rules decide; what one credential has read is never shown
// to another. Everything may be called from any goroutine. Nothing is kept between calls but what [inventory.Options].SnapshotTTL allows.
package toolset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// MaxInstances bounds the instances of a [Toolset]: the schema of every tool has their names.
const MaxInstances = 64

// Options configure a [Toolset].
type Options struct {
	// Instances are the clients of the Argo CD servers, with names that differ in more than case; the first is the default. There must be
	// at least one and at most [MaxInstances]. The caller closes them.
	Instances []*argocd.Client
	// Inventory bounds listing and searching; the zero value works.
	Inventory inventory.Options
	// AllowWrites adds the tools that change something.
	AllowWrites bool
	// AllArguments shows every argument in the schemas; else rarely used ones are accepted and not shown.
	AllArguments bool
	// UserTokens says which token a call is made with.
	UserTokens TokenPolicy
	// UserHeader is the header with a user's own token; "" means [DefaultUserHeader]. If a request does not have it, its bearer token is
	// used.
	UserHeader string
	// Journal may be nil.
	Journal *journal.Journal
}

// Toolset has the tools and what they share. Its methods, and the tools, may be called from any goroutine.
type Toolset struct {
	o         Options
	inventory *inventory.Inventory
	tools     []builtin.Tool
}

// New returns the tools for these options. It opens no connection. The error names the option that is wrong and its value.
func New(o Options) (*Toolset, error) {
	switch n := len(o.Instances); {
	case n == 0:
		return nil, errors.New("no Argo CD instance: at least one is needed")
	case n > MaxInstances:
		return nil, fmt.Errorf("%d Argo CD instances are more than %d: start a second server for the others", n, MaxInstances)
	}
	taken := map[string]bool{}
	for i, c := range o.Instances {
		if c == nil {
			return nil, fmt.Errorf("instance %d of Argo CD is missing", i+1)
		}
		name := strings.ToLower(c.Name())
		if taken[name] {
			return nil, fmt.Errorf("two Argo CD instances are called %q: give one of them another name", c.Name())
		}
		taken[name] = true
	}
	if o.UserTokens < TokensOff || o.UserTokens > TokensRequire {
		return nil, fmt.Errorf("no policy for users' tokens has the number %d: use TokensOff, TokensAllow or TokensRequire", o.UserTokens)
	}
	if o.UserHeader == "" {
		o.UserHeader = DefaultUserHeader
	}
	t := &Toolset{o: o, inventory: inventory.New(o.Inventory)}
	t.tools = append(t.readTools(), t.detailTools()...)
	if o.AllowWrites {
		t.tools = append(t.tools, t.writeTools()...)
	}
	for i := range t.tools {
		t.tools[i].Input = t.forOptions(t.tools[i].Name, t.tools[i].Input)
	}
	return t, nil
}

// Close ends the passes that run and removes what was kept of lists.
func (t *Toolset) Close() error { return t.inventory.Close() }

// Stats returns the inventory's counts about its bounds.
func (t *Toolset) Stats() inventory.Stats { return t.inventory.Stats() }

// Tools returns all tools; those that write only with AllowWrites. Their schemas have the argument "instance" only if there are several,
// and "fresh" only if listings are kept.
func (t *Toolset) Tools() []builtin.Tool { return slices.Clone(t.tools) }

// reads are the hints of a tool that changes nothing. Argo CD is an external system, so it is open world.
var reads = builtin.Hints{ReadOnly: true, Idempotent: true, OpenWorld: true}

// readTools returns the tools that list and search.
func (t *Toolset) readTools() []builtin.Tool {
	return []builtin.Tool{
		t.listApplications(),
		t.listProjects(),
		t.listApplicationSets(),
		t.listClusters(),
		t.search(),
	}
}
