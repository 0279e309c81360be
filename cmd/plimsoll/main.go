// Command plimsoll runs any AI agent and keeps it inside its limits.
//
//	plimsoll run -- claude
//
// Each file here is one command: it maps flags to options of package app and renders what
// comes back. `plimsoll help` lists them.
package main

import (
	"context"
	"os"

	"charm.land/fang/v2"

	"github.com/plimsoll/plimsoll/app"
)

func main() {
	if status, is := app.Child(os.Args); is {
		os.Exit(status)
	}
	root := newRootCommand()
	err := fang.Execute(context.Background(), root,
		fang.WithVersion(version()),
		fang.WithErrorHandler(showError),
		fang.WithoutManpage(), // newManCommand
	)
	os.Exit(exitCode(err))
}
