package toolset

import (
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/argocd"
	"github.com/plimsoll/plimsoll/tools/argocd/inventory"
	"github.com/plimsoll/plimsoll/tools/builtin"
)

// Options configure a [Toolset].
type Options struct {
	// Instances are the Argo CD servers, under names that differ; the first is the default.
	// Who made them closes them.
	Instances []*argocd.Client
	Inventory inventory.Options
	// AllowWrites adds the tools that change something.
	AllowWrites bool
	UserTokens  TokenPolicy
	// UserHeader is the header that carries a user's own token, "" is [DefaultUserHeader].
	UserHeader string
	Journal    *journal.Journal
}

// Toolset is the tools, and what they share.
type Toolset struct {
	o         Options
	inventory *inventory.Inventory
}

// New checks the options and opens nothing but the inventory.
func New(o Options) (*Toolset, error) {
	if len(o.Instances) == 0 {
		return nil, errors.New("no Argo CD instance: at least one is needed")
	}
	names := map[string]bool{}
	for _, c := range o.Instances {
		name := strings.ToLower(c.Name())
		if names[name] {
			return nil, fmt.Errorf("two Argo CD instances are called %q: give one of them another name", c.Name())
		}
		names[name] = true
	}
	if o.UserHeader == "" {
		o.UserHeader = DefaultUserHeader
	}
	return &Toolset{o: o, inventory: inventory.New(o.Inventory)}, nil
}

// Close gives up the snapshots of lists.
func (t *Toolset) Close() error { return t.inventory.Close() }

// Tools gives all tools, those that write only when they are allowed.
func (t *Toolset) Tools() []builtin.Tool {
	all := append(t.readTools(), t.detailTools()...)
	if t.o.AllowWrites {
		all = append(all, t.writeTools()...)
	}
	return all
}

// Instructions is what a client is told about the tools when it connects.
func (t *Toolset) Instructions() string { return "" }

// readTools lists and searches.
func (t *Toolset) readTools() []builtin.Tool { return nil }
