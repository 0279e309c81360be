package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// progressSource wraps a client for one call: it reports progress to the caller and filters applications by cluster, which no server can
// do.
type progressSource struct {
	*argocd.Client
	progress func(done, total float64, text string)
	read     *atomic.Int64 // number of objects in all lists of the call
	over     *atomic.Bool  // the call was answered; a pass that other calls share may continue
	only     *cluster      // only applications of this cluster; nil means all
}

var _ inventory.Source = progressSource{}

// progressEvery is the number of objects between two progress messages.
const progressEvery = 100

// withProgress wraps client for one call, so that the caller of the tool is told how many objects were read. done must be called when the
// call has ended; nothing is reported after it.
func withProgress(c *builtin.Call, client *argocd.Client) (s progressSource, done func()) {
	s = progressSource{Client: client, progress: c.Progress, read: new(atomic.Int64), over: new(atomic.Bool)}
	return s, func() { s.over.Store(true) }
}

// Who returns the client's Who, with the cluster added if there is one, so that filtered lists are kept apart.
func (s progressSource) Who() string {
	if s.only == nil {
		return s.Client.Who()
	}
	return s.Client.Who() + "\n" + s.only.key()
}

// List calls each with the objects as the client does, without those that the cluster excludes, and reports progress.
func (s progressSource) List(ctx context.Context, kind argocd.Kind, q argocd.Query, each func(item []byte) error) (argocd.ListInfo, error) {
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
			if !s.only.matches(app.Spec.Destination) {
				return nil
			}
		}
		return each(item)
	})
}
