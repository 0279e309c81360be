// Package top is `plimsoll top`: the runs of this user on this host, live or as they were, on one screen.
//
//	err := top.Show(ctx, core, top.Options{})               // on a terminal, until q
//	err = top.Show(ctx, core, top.Options{Replay: "14:30"}) // the same screen from the store
//	snap, err := top.Once(ctx, core, top.Options{})         // one look; [Frame] makes text of it
//
// A [Source] makes snapshots: [Live] reads the store of runs, the ledger of claims and the host's memory, [Replay] the store alone, at a
// time that moves on by itself. Table and page make text of a snapshot and know no terminal; the model keeps what the person chose, and is
// a bubbletea program.
//
// Nothing is written but what the person asks for: a pause, its end, or the end of a run. One look a second costs a reading of the ledger
// and of what the runs wrote since; processes are read for the runs whose tree is open. Names that come from others pass package
// printable. What the terminal cannot show is told by words as well. A [Source] may be used by several goroutines.
package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plimsoll/plimsoll/internal/app/core"
)

// Options configure [Show] and [Once].
type Options struct {
	// Replay is a time or a run whose past is shown, as for [OpenReplay]; "" shows the present.
	Replay string
	// Every is the time between two screens; 0 means [Every].
	Every  time.Duration
	Sort   Sort // "" means [ByMemory]
	Filter string
	// Trees opens the tree of every run.
	Trees bool
	// In and Out are the terminal; nil means the process's own. Environ describes it; nil means the process's own.
	In      io.Reader
	Out     io.Writer
	Environ []string
}

// check returns an error when the order of the rows is unknown.
func (o *Options) check() error {
	if o.Sort != "" && !slices.Contains(Sorts(), o.Sort) {
		var names []string
		for _, s := range Sorts() {
			names = append(names, string(s))
		}
		return fmt.Errorf("there is no order %q; write one of: %s", string(o.Sort), strings.Join(names, ", "))
	}
	return nil
}

// open opens the source that the options ask for. Whoever looks once at a run that is over wants to see how it ended.
func open(c *core.Core, o Options, once bool) (Source, error) {
	if o.Replay != "" {
		return OpenReplay(c, o.Replay, once)
	}
	return Open(c)
}

// framesPerSecond bounds how often the terminal is written to, and so how long a key may wait. The process is woken up that often, whether
// there is something to write or not.
const framesPerSecond = 20

// Show shows runs on a terminal until the person leaves or ctx ends.
func Show(ctx context.Context, c *core.Core, o Options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	var mu sync.Mutex
	var warnings []string // told when the screen is the person's own again
	quiet := c.Telling(func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if len(warnings) < maxWarnings {
			warnings = append(warnings, text)
		}
	})
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		for _, text := range warnings {
			c.Warn(text)
		}
	}()
	b := begin(func() (Source, Snapshot, error) {
		source, err := open(quiet, o, false)
		if err != nil {
			return nil, Snapshot{}, err
		}
		first, err := source.Read(ctx, Want{AllTrees: o.Trees})
		return source, first, err
	})
	err = show(ctx, b, o)
	select {
	case <-b.done:
		if b.source != nil {
			err = errors.Join(err, b.source.Close())
		}
	default: // the person has left before there was something to see; the process ends
	}
	return err
}

// maxWarnings bounds the warnings that are held back until the screen is the person's own again.
const maxWarnings = 20

// beginning is the first look, which is taken while the terminal is made ready.
type beginning struct {
	done   chan struct{}
	source Source
	first  Snapshot
	err    error
}

// begin calls look in the background.
func begin(look func() (Source, Snapshot, error)) *beginning {
	b := &beginning{done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.source, b.first, b.err = look()
	}()
	return b
}

// wait waits for the first look and returns its result. The source is nil when it could not be opened.
func (b *beginning) wait() (Source, Snapshot, error) {
	<-b.done
	return b.source, b.first, b.err
}

// show runs the screen until the person leaves or ctx ends; b brings the first snapshot.
func show(ctx context.Context, b *beginning, o Options) error {
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
	m := newModel(ctx, nil, o, Snapshot{})
	m.begins = b
	_, err := tea.NewProgram(m, options...).Run()
	if errors.Is(err, tea.ErrInterrupted) || ctx.Err() != nil {
		return nil
	}
	return cmp.Or(m.failed, err)
}

// Once returns one snapshot, filtered and ordered. Processor use is as the runs last wrote it, because that takes two looks.
func Once(ctx context.Context, c *core.Core, o Options) (snap Snapshot, err error) {
	if err := o.check(); err != nil {
		return Snapshot{}, err
	}
	source, err := open(c, o, true)
	if err != nil {
		return Snapshot{}, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if snap, err = source.Read(ctx, Want{AllTrees: o.Trees, Orphans: true, Filter: o.Filter, Sort: o.Sort, Wait: true}); err != nil {
		return snap, err
	}
	snap.Runs = append([]Row{}, Arrange(snap.Runs, o.Sort, false, o.Filter)...)
	return snap, nil
}
