// Package app has the commands that reach across several families: what a user's history has to say (stats), what a clean-up removes (gc),
// what this host can do (doctor), and the processes that the program starts of itself.
//
// Each family of commands has a folder below: internal/app/run is `plimsoll run`, internal/app/mcp the gateway, internal/app/daemon
// `plimsoll serve`, and so on; internal/app/core holds what they share. The commands of cmd/plimsoll map flags to options of these packages
// and render what comes back; they hold no logic of their own.
//
// What is opened is closed in the reverse order, also when a later step fails, and a failure of what a command does not need (history,
// ledger, report) is a warning and never stops it. The packages are tested by their own tests and through the binary, by the scripts in
// cmd/plimsoll/testdata.
package app

import (
	"context"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/app/run"
)

// Doctor probes every layer by doing the real thing, and asks the service for embeddings where one is named.
func Doctor(ctx context.Context, c *core.Core) (run.Doctor, error) {
	d, err := run.Examine(ctx, c)
	if err != nil {
		return d, err
	}
	settings, err := c.Config.For("")
	if err != nil {
		return d, err
	}
	d.Notes = append(d.Notes, "memory: "+remember.Reach{}.Words(settings))
	if said := memories.AskService(ctx, settings.Memory); said != "" {
		d.Notes = append(d.Notes, said)
	}
	return d, nil
}
