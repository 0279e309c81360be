package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/nearest"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// maxProblems bounds how many problems one load reports; further ones are only counted.
const maxProblems = 100

// Problem is one mistake in a source of the configuration.
type Problem struct {
	Where Source `json:"where"`
	Key   string `json:"key"`  // dotted, as written: "resources.memory_max"
	What  string `json:"what"` // what is wrong, with the value
	Fix   string `json:"fix"`  // the next step: did you mean "…"? or write …
}

// String returns the problem as one line, "where: key: what; fix". The key is left out for a flag, whose name is in where.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Where.String())
	if p.Key != "" && p.Where.Origin != OriginFlag { // a flag says what it sets
		b.WriteString(": " + p.Key)
	}
	b.WriteString(": " + p.What)
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return b.String()
}

// Error holds the mistakes in all sources of one [Load], in the order of the sources and of the lines in them: at most 100 of them, and in
// More the number of the rest.
type Error struct {
	Problems []Problem
	More     int
}

// Error implements error. It returns one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// problems collects mistakes, so that a person can correct all of them in one go.
type problems struct {
	list []Problem
	more int
}

func (p *problems) full() bool { return len(p.list) == maxProblems }

// add adds a problem, or only counts it if the list is full.
func (p *problems) add(q Problem) {
	if p.full() {
		p.more++
		return
	}
	p.list = append(p.list, q)
}

// err returns an *[Error] with all problems, sorted by source and place; nil if there are none.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	sorting.StableBy(p.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Where.Origin.rank(), b.Where.Origin.rank()), cmp.Compare(a.Where.File, b.Where.File),
			cmp.Compare(a.Where.Line, b.Where.Line), cmp.Compare(a.Where.Column, b.Where.Column))
	})
	return &Error{Problems: p.list, More: p.more}
}

// Origin is one of the places a value can come from.
type Origin string

// The origins, each overriding those before it.
const (
	OriginDefault     Origin = "default"
	OriginProfile     Origin = "profile"
	OriginUser        Origin = "user"
	OriginProject     Origin = "project"
	OriginEnvironment Origin = "environment"
	OriginFlag        Origin = "flag"
)

// origins is the order of precedence, the weakest first.
var origins = []Origin{OriginDefault, OriginProfile, OriginUser, OriginProject, OriginEnvironment, OriginFlag}

func (o Origin) rank() int { return slices.Index(origins, o) }

// Source is the place a value comes from.
type Source struct {
	Origin Origin `json:"origin"`
	File   string `json:"file,omitempty"`   // of the user and project origins
	Line   int    `json:"line,omitempty"`   // from 1
	Column int    `json:"column,omitempty"` // from 1, in bytes
	Name   string `json:"name,omitempty"`   // the variable, the flag or the profile
}

// String returns file:line:column or, without a line, the file, the name of the variable or flag, "built-in profile NAME", or the origin, such as
// "default".
func (s Source) String() string {
	switch {
	case s.File != "" && s.Line == 0:
		return s.File
	case s.File != "":
		return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column)
	case s.Origin == OriginProfile:
		return "built-in profile " + s.Name
	case s.Name != "":
		return s.Name
	}
	return string(s.Origin)
}

// closest returns the candidate most like a word, "" if none is similar.
func closest(word string, candidates []string) string {
	if near := nearest.Names(word, candidates, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}
