//go:debug updatemaxprocs=0

// Command plimsoll runs any AI agent and keeps it inside its limits.
//
//	plimsoll run -- claude
//
// Each file here is one command, or several of one kind: it maps flags to options of the packages below internal/app and renders what
// comes back. `plimsoll help` lists them.
package main

import (
	"context"
	"os"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/footprint"
	"github.com/plimsoll/plimsoll/internal/footprint/first"
	_ "github.com/plimsoll/plimsoll/internal/footprint/smallpages"
)

// The go:debug line: a supervisor that sleeps does not look every second whether it may use other processors by now, which was a
// seventh of what it costs. How many there are is asked when it starts.
func main() {
	if len(os.Args) < 2 || os.Args[1] != "run" {
		first.All()
	}
	footprint.Had(first.Processors)
	if status, is := app.Child(os.Args); is {
		os.Exit(status)
	}
	app.ReapOrphans()
	root := newRootCommand(os.Args[1:])
	out := &standardOutput{File: os.Stdout}
	root.SetOut(plainWriter(out))
	err := out.check(root.ExecuteContext(context.Background()))
	if err != nil {
		showError(root.ErrOrStderr(), err)
	}
	os.Exit(exitCode(err))
}
