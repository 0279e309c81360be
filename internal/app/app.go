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
	"errors"
	"fmt"
	"os"

	"github.com/plimsoll/plimsoll/internal/agent/lab"
	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/stores"
	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Doctor probes every layer by doing the real thing, measures what is kept on disk, and asks the service for embeddings where one is named.
func Doctor(ctx context.Context, c *core.Core) (run.Doctor, error) {
	d, err := run.Examine(ctx, c)
	if err != nil {
		return d, err
	}
	settings, err := c.Config.For("")
	if err != nil {
		return d, err
	}
	state, _ := c.Dirs.State() // without a directory nothing is kept
	cache, _ := c.Dirs.Cache()
	d.Stores = stores.Sizes(ctx, state, cache)
	d.Notes = append(d.Notes, "memory: "+remember.Reach{}.Describe(settings))
	if said := memories.AskService(ctx, settings.Memory); said != "" {
		d.Notes = append(d.Notes, said)
	}
	return d, nil
}

// Child runs the main function of a child process of this program, if argv asks for one: a query of a kept result, or the process that takes
// memory on purpose. is is false if argv asks for neither; nothing has run then.
func Child(argv []string) (status int, is bool) {
	switch {
	case len(argv) < 2:
		return 0, false
	case argv[1] == query.Argument:
		return query.Main(), true
	case argv[1] == agents.HogArgument:
		if err := hog(argv[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "plimsoll:", err)
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// hog takes as many MiB of memory as its one argument says, for trials of limits.
func hog(args []string) error {
	if len(args) != 1 {
		return errors.New("one number of MiB is wanted")
	}
	return lab.Hog(args[0], os.Stdin, os.Stdout)
}

// ReapOrphans lets processes go that have lost their parent and ended, when this program is the first process of a container: there
// they become its children.
func ReapOrphans() { sandbox.ReapOrphans() }
