package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// event is a line of go test -json, as `go doc cmd/test2json` describes it.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// key names a test, or with an empty test a package.
type key struct{ pkg, test string }

// top returns the top-level test that k belongs to.
func (k key) top() key {
	k.test, _, _ = strings.Cut(k.test, "/")
	return k
}

func (k key) String() string { return strings.TrimSpace(k.pkg + " " + k.test) }

// events calls each for every event of r, and plain for every line that is none: the go command
// also writes plain words there.
func events(r io.Reader, each func(event), plain func(line string)) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				plain(line)
			} else {
				each(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
