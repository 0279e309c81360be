package app

import (
	"context"

	"github.com/plimsoll/plimsoll/internal/app/setup"
)

// What `plimsoll setup` takes and gives; each is described in [setup].
type (
	SetupOptions  = setup.Options
	SetupResult   = setup.Result
	SetupQuestion = setup.Question
)

// Setup makes the changes by which Plimsoll is there without being typed. It needs no configuration.
func Setup(ctx context.Context, o SetupOptions) (SetupResult, error) { return setup.Do(ctx, o) }

// UndoSetup takes them out again.
func UndoSetup(ctx context.Context, o SetupOptions) (SetupResult, error) { return setup.Undo(ctx, o) }
