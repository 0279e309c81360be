package app

import (
	"context"
	"errors"
	"slices"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/process/usage"
)

// Forgotten is a tool's history in one project that was removed, or would be.
type Forgotten struct {
	Tool       string `json:"tool"`
	ProjectKey string `json:"project_key"`
	Path       string `json:"path"`
	// Runs counts the runs that were kept, of all variants.
	Runs int `json:"runs"`
	// From is "import" for what was imported, else "".
	From string `json:"from,omitempty"`
}

// Forgettable lists what [Forget] would remove of o.Tool: in o.Project, or in every project when
// that is "".
func Forgettable(ctx context.Context, c *core.Core, o StatsOptions) ([]Forgotten, error) {
	if o.Tool == "" {
		return nil, errors.New("--forget needs the name of a tool; plimsoll stats --all lists them")
	}
	o.All = o.Project == ""
	list := []Forgotten{}
	err := eachSummary(ctx, c, o, func(s usage.Summary, from string) error {
		at := slices.IndexFunc(list, func(f Forgotten) bool { return f.Tool == s.Tool && f.ProjectKey == s.Project.Key && f.From == from })
		if at < 0 {
			list = append(list, Forgotten{Tool: s.Tool, ProjectKey: s.Project.Key, Path: s.Project.Path, From: from})
			at = len(list) - 1
		}
		list[at].Runs += len(s.Runs)
		return nil
	})
	return list, err
}

// Forget removes the histories that [Forgettable] listed and returns those it removed; what a run has
// added in between goes with them.
func Forget(ctx context.Context, c *core.Core, list []Forgotten) ([]Forgotten, error) {
	histories, err := histories(c)
	if err != nil {
		return nil, err
	}
	gone := []Forgotten{}
	for _, f := range list {
		if ctx.Err() != nil {
			return gone, ctx.Err()
		}
		history := histories[0]
		if f.From == fromImport {
			history = histories[1]
		}
		if f.Runs, err = history.Forget(f.ProjectKey, f.Tool); err != nil {
			return gone, err
		}
		if f.Runs > 0 {
			gone = append(gone, f)
		}
	}
	return gone, nil
}
