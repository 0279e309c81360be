package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plimsoll/plimsoll/app/core"
)

// Options are what [Show] begins with.
type Options struct {
	// Replay is a time or a run from which to show what was, as for [OpenReplay]; "" shows what is.
	Replay string
	// Every is how often the screen is made anew; 0 means [Every].
	Every  time.Duration
	Sort   Sort // "" means [ByMemory]
	Filter string
	// Trees opens the tree of every run.
	Trees bool
	// In and Out are the terminal; nil means the process's own. Environ says what it can; nil means the process's own.
	In      io.Reader
	Out     io.Writer
	Environ []string
}

// open opens what the options ask for.
func open(c *core.Core, o Options) (Source, error) {
	if o.Sort != "" && !slices.Contains(Sorts(), o.Sort) {
		var names []string
		for _, s := range Sorts() {
			names = append(names, string(s))
		}
		return nil, fmt.Errorf("there is no order %q; write one of: %s", string(o.Sort), strings.Join(names, ", "))
	}
	if o.Replay != "" {
		return OpenReplay(c, o.Replay)
	}
	return Open(c)
}

// framesPerSecond bounds how often the terminal is written to, and with that what a key waits. For each of them the process is woken
// up, whether there is something to write or not.
const framesPerSecond = 12

// Show shows runs on a terminal until the person leaves or ctx ends.
func Show(ctx context.Context, c *core.Core, o Options) (err error) {
	source, err := open(c, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	return show(ctx, source, o)
}

func show(ctx context.Context, source Source, o Options) error {
	first, err := source.Read(ctx, Want{AllTrees: o.Trees})
	if err != nil {
		return err
	}
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithFPS(framesPerSecond)}
	if o.In != nil {
		options = append(options, tea.WithInput(o.In))
	}
	if o.Out != nil {
		options = append(options, tea.WithOutput(o.Out))
	}
	if o.Environ != nil {
		options = append(options, tea.WithEnvironment(o.Environ))
	}
	_, err = tea.NewProgram(newModel(ctx, source, o, first), options...).Run()
	if errors.Is(err, tea.ErrInterrupted) || ctx.Err() != nil {
		return nil
	}
	return err
}

// Once is one look, filtered and ordered. Without a second one, processor use is what the runs last wrote of it.
func Once(ctx context.Context, c *core.Core, o Options) (snap Snapshot, err error) {
	source, err := open(c, o)
	if err != nil {
		return Snapshot{}, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if snap, err = source.Read(ctx, Want{AllTrees: o.Trees}); err != nil {
		return snap, err
	}
	snap.Runs = append([]Row{}, Arrange(snap.Runs, o.Sort, false, o.Filter)...)
	return snap, nil
}
