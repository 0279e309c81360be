package main

import (
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

// benchLoops looks for loops in every request by which a client came to a session: in made ones of 60 turns, or in those of a folder.
func benchLoops(o *Out, args []string) {
	flags := flag.NewFlagSet("loops", flag.ContinueOnError)
	dir := flags.String("dir", "", "the folder with the sessions")
	check(flags.Parse(args))
	b := loopBench{o: o}
	if *dir == "" {
		for d := range wire.Dialects {
			s := transcripts.NewSession(transcripts.SessionOptions{Dialect: d, Seed: 1, Parallel: 3})
			b.addSession(d, d.String(), s.Request(60))
		}
	} else {
		for _, file := range must(filepath.Glob(filepath.Join(*dir, "*.json"))) {
			name := filepath.Base(file)
			of, _, _ := strings.Cut(name, "-")
			d, ok := wire.ParseDialect(of)
			if !ok {
				o.Fatalf("%s begins with no dialect", name)
			}
			b.addSession(d, name, must(os.ReadFile(file)))
		}
	}
	of := fmt.Sprintf("%d sessions, %d requests", b.sessions, b.requests)
	o.Add(Row{Case: of, Metric: "loops", Value: float64(b.found)})
	o.Add(Row{Case: of, Metric: "a look", Value: us(b.took) / float64(max(1, b.requests)), Unit: "µs"})
}

// loopBench counts what is found.
type loopBench struct {
	o                         *Out
	sessions, requests, found int
	took                      time.Duration
}

// addSession looks for loops in each request by which a session grew, and counts them and the time.
func (b *loopBench) addSession(d wire.Dialect, name string, body []byte) {
	r := must(wire.Parse(d, body))
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
}
