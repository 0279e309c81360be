package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/window/loops"
	"github.com/plimsoll/plimsoll/window/wire"
)

func init() {
	register("loops", "loops of any agent: what is found in the requests of whole sessions, and what a look takes; --dir DIR has DIALECT-NAME.json each", benchLoops)
}

// benchLoops looks for loops in every request by which a client came to a session: in made ones of 60 turns, or in those of a folder.
func benchLoops(_ context.Context, o *Out, args []string) error {
	flags := flag.NewFlagSet("loops", flag.ContinueOnError)
	dir := flags.String("dir", "", "the folder with the sessions")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b := loopBench{o: o}
	if *dir == "" {
		for d := range wire.Dialects {
			s := transcripts.NewSession(transcripts.SessionOptions{Dialect: d, Seed: 1, Parallel: 3})
			if err := b.session(d, d.String(), s.Request(60)); err != nil {
				return err
			}
		}
		return b.end()
	}
	files, err := filepath.Glob(filepath.Join(*dir, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		name := filepath.Base(file)
		of, _, _ := strings.Cut(name, "-")
		d, ok := wire.ParseDialect(of)
		if !ok {
			return fmt.Errorf("%s begins with no dialect", name)
		}
		body, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := b.session(d, name, body); err != nil {
			return err
		}
	}
	return b.end()
}

// loopBench counts what is found.
type loopBench struct {
	o                         *Out
	sessions, requests, found int
	took                      time.Duration
}

func (b *loopBench) session(d wire.Dialect, name string, body []byte) error {
	r, err := wire.Parse(d, body)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.sessions++
	for request := range transcripts.Growth(r) {
		b.requests++
		begun := time.Now()
		l, ok := loops.Find(request)
		b.took += time.Since(begun)
		if ok && !l.Again {
			b.found++
			b.o.Note("%s, %d messages: %s: %s", name, len(request.Messages), l.Kind, l.Detail)
		}
	}
	return nil
}

func (b *loopBench) end() error {
	of := fmt.Sprintf("%d sessions, %d requests", b.sessions, b.requests)
	b.o.Add(Row{Case: of, Metric: "loops", Value: float64(b.found)})
	b.o.Add(Row{Case: of, Metric: "a look", Value: float64(b.took.Microseconds()) / float64(max(1, b.requests)), Unit: "µs"})
	return nil
}
