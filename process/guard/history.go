package guard

import (
	"sync"

	"github.com/plimsoll/plimsoll/process/estimate"
	"github.com/plimsoll/plimsoll/process/usage"
)

// InputOf is what a history knows of a variant of a tool in a project, as an estimate wants it. The files of other
// projects are read only if this one's say nothing. off receives what could not be read; h may be nil.
func InputOf(h *usage.History, projectKey, tool, variant string, off func(error)) estimate.Input {
	if h == nil {
		return estimate.Input{}
	}
	here, err := h.Variants(projectKey, tool)
	if err != nil {
		off(err)
	}
	in := estimate.Input{Project: estimate.FromRuns(here[variant]), Siblings: estimate.Pool{}}
	for v, runs := range here {
		if v != variant {
			in.Siblings[v] = estimate.FromRuns(runs)
		}
	}
	everywhere := sync.OnceValue(func() estimate.Pool {
		runs, err := h.ToolRuns(tool)
		if err != nil {
			off(err)
		}
		pool := estimate.Pool{}
		for _, r := range runs {
			if s, ok := estimate.FromRun(r); ok {
				pool[r.Variant] = append(pool[r.Variant], s)
			}
		}
		return pool
	})
	in.ToolSamples = func() []estimate.Sample { return everywhere()[variant] }
	in.ToolSiblings = everywhere
	return in
}
