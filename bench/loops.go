package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/window/loops"
	"github.com/plimsoll/plimsoll/window/wire"
)

func init() {
	register("loops", "loops of any agent: what is found in the requests of whole sessions, DIR/DIALECT-NAME.json each; --dir DIR", benchLoops)
}

func benchLoops(_ context.Context, o *Out, args []string) error {
	flags := flag.NewFlagSet("loops", flag.ContinueOnError)
	dir := flags.String("dir", "", "the folder with the sessions")
	if err := flags.Parse(args); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(*dir, "*.json"))
	if err != nil {
		return err
	}
	sessions, requests, found := 0, 0, 0
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
		r, err := wire.Parse(d, body)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		sessions++
		for request := range transcripts.Growth(r) {
			requests++
			if l, ok := loops.Find(request); ok && !l.Again {
				found++
				o.Note("%s, %d messages: %s: %s", name, len(request.Messages), l.Kind, l.Detail)
			}
		}
	}
	o.Add(Row{Case: fmt.Sprintf("%d sessions, %d requests", sessions, requests), Metric: "loops", Value: float64(found)})
	return nil
}
