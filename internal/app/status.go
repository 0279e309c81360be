package app

import (
	"context"
	"io"

	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// What `plimsoll status` takes and gives.
type (
	RunGlance     = watch.Glance
	GlanceOptions = watch.GlanceOptions
	GlanceClient  = watch.Client
)

// The states of a [RunGlance] that are no outcome.
const (
	GlanceNoRun   = watch.NoRun
	GlanceWaiting = runs.Waiting
	StateYourTurn = runs.YourTurn
	StateIdle     = runs.Idle
	GlanceRunning = runs.Running
)

// StateWords puts a state, or an outcome, into the words that a person reads.
func StateWords(state string) string { return runs.StateWords(state) }

// Glance returns the run that this process is in, else the newest one of the project that it stands in, at a glance. It needs no [App]:
// no configuration is read.
func Glance(o GlanceOptions) (RunGlance, error) { return watch.Look(o) }

// ReadGlanceClient reads what a client says of itself on standard input, for at most a tenth of a second.
func ReadGlanceClient(from io.Reader) GlanceClient { return watch.ReadClient(from) }

// RunToolsOptions are the settings of `plimsoll mcp runs`.
type RunToolsOptions = watch.ToolsOptions

// RunTools runs the MCP server by which an agent learns of its own limits and of earlier runs, until the client closes its end, ctx
// ends or a signal asks for the end.
func (a *App) RunTools(ctx context.Context, o RunToolsOptions) error {
	return watch.ServeTools(ctx, a.Core, o)
}
