package app

import (
	"context"

	"github.com/plimsoll/plimsoll/internal/app/watch/top"
)

// What `plimsoll top` takes and gives; each is described in [top].
type (
	TopOptions  = top.Options
	TopSnapshot = top.Snapshot
	TopScreen   = top.Screen
	TopSort     = top.Sort
)

// Top shows the runs of this host on a terminal, until the person leaves or ctx ends.
func (a *App) Top(ctx context.Context, o TopOptions) error { return top.Show(ctx, a.Core, o) }

// TopOnce returns one look at them.
func (a *App) TopOnce(ctx context.Context, o TopOptions) (TopSnapshot, error) {
	return top.Once(ctx, a.Core, o)
}

// TopFrame writes a look as text.
func TopFrame(snap TopSnapshot, s *TopScreen) string { return top.Frame(snap, s) }

// TopSorts returns the orders of the rows.
func TopSorts() []TopSort { return top.Sorts() }
