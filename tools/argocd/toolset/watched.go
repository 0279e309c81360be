package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/tools/argocd"
	"github.com/plimsoll/plimsoll/tools/argocd/inventory"
	"github.com/plimsoll/plimsoll/tools/builtin"
)

// watched is an instance as the inventory reads it for one call: it tells the caller how
// much was read, and holds lists to a name where the server does not.
type watched struct {
	*argocd.Client
	progress func(done, total float64, text string)
	read     *atomic.Int64 // objects of all lists of the call
	over     *atomic.Bool  // the call was answered: a pass that others share may go on
}

var _ inventory.Source = watched{}

// progressEvery is how many objects pass between two words about it.
const progressEvery = 100

// watch is of one call; done is called when the call is.
func watch(c *builtin.Call, client *argocd.Client) (s watched, done func()) {
	s = watched{Client: client, progress: c.Progress, read: new(atomic.Int64), over: new(atomic.Bool)}
	return s, func() { s.over.Store(true) }
}

// List is the client's, watched.
func (s watched) List(ctx context.Context, kind argocd.Kind, q argocd.Query, each func(item []byte) error) (argocd.ListInfo, error) {
	// Argo CD's list of projects takes no name (its handler ignores the whole query).
	name := ""
	if kind == argocd.Projects {
		name = q.Name
	}
	return s.Client.List(ctx, kind, q, func(item []byte) error {
		if n := s.read.Add(1); n%progressEvery == 0 && s.progress != nil && !s.over.Load() {
			s.progress(float64(n), 0, fmt.Sprintf("%d objects read", n))
		}
		if name != "" {
			var named struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			}
			if err := json.Unmarshal(item, &named); err != nil {
				return fmt.Errorf("an element of the list of %s: %w", kind, err)
			}
			if named.Metadata.Name != name {
				return nil
			}
		}
		return each(item)
	})
}
