package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/argocd"
	"github.com/plimsoll/plimsoll/argocd/inventory"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// watched is an instance as the inventory reads it for one call: it tells the caller how
// much was read, and holds applications to a cluster, which no server does.
type watched struct {
	*argocd.Client
	progress func(done, total float64, text string)
	read     *atomic.Int64 // objects of all lists of the call
	over     *atomic.Bool  // the call was answered: a pass that others share may go on
	only     *cluster      // nil: applications of all clusters
}

var _ inventory.Source = watched{}

// progressEvery is how many objects pass between two words about it.
const progressEvery = 100

// watch is of one call; done is called when the call is.
func watch(c *builtin.Call, client *argocd.Client) (s watched, done func()) {
	s = watched{Client: client, progress: c.Progress, read: new(atomic.Int64), over: new(atomic.Bool)}
	return s, func() { s.over.Store(true) }
}

// Who tells a list that is held to a cluster from the whole one.
func (s watched) Who() string {
	if s.only == nil {
		return s.Client.Who()
	}
	return s.Client.Who() + "\n" + s.only.key()
}

// List is the client's, watched.
func (s watched) List(ctx context.Context, kind argocd.Kind, q argocd.Query, each func(item []byte) error) (argocd.ListInfo, error) {
	return s.Client.List(ctx, kind, q, func(item []byte) error {
		if n := s.read.Add(1); n%progressEvery == 0 && s.progress != nil && !s.over.Load() {
			s.progress(float64(n), 0, fmt.Sprintf("%d objects read", n))
		}
		if s.only != nil && kind == argocd.Applications {
			var app struct {
				Spec struct{ Destination destination }
			}
			if err := json.Unmarshal(item, &app); err != nil {
				return fmt.Errorf("an application of the list: %w", err)
			}
			if !s.only.is(app.Spec.Destination) {
				return nil
			}
		}
		return each(item)
	})
}
