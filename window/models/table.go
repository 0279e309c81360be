package models

import (
	_ "embed"
	"iter"
	"strconv"
	"strings"
)

//go:generate go run ../../internal/window/models/cataloguer -out .

// CatalogueDate is the day of the catalogue's last change at its source.
const CatalogueDate = "2026-09-28"

// builtin has a line "provider/model context input output" for each model, sorted. It stays
// in the program's read-only data.
//
//go:embed table.txt
var builtin string

// table is a text of such lines, and the Source of the windows in it.
type table struct {
	text   string
	source string
}

// A Catalogue looks up the windows of models. Make one with [Open]; the zero value is the built-in one.
type Catalogue struct {
	// Refreshed describes what the user has put in front of the built-in catalogue.
	Refreshed Refreshed
	text      string // lines of it
}

// tables returns the tables in the order in which they count.
func (c *Catalogue) tables() []table {
	if c.text == "" {
		return []table{{builtin, SourceCatalogue}}
	}
	return []table{{c.text, SourceRefreshed}, {builtin, SourceCatalogue}}
}

// find returns the window of a folded key "provider/model"; false if it is in no table.
func (c *Catalogue) find(key string) (Window, bool) {
	for _, t := range c.tables() {
		if w, ok := t.find(key); ok {
			return w, true
		}
	}
	return Window{}, false
}

// linesOf yields the keys and windows of a provider's models. A refreshed entry hides the built-in one with the same key.
func (c *Catalogue) linesOf(provider string) iter.Seq2[string, Window] {
	return func(yield func(string, Window) bool) {
		for i, t := range c.tables() {
			for key, w := range t.linesOf(provider) {
				if i > 0 {
					if _, again := c.tables()[0].find(key); again {
						continue
					}
				}
				if !yield(key, w) {
					return
				}
			}
		}
	}
}

// find returns the window of a folded key by bisection; false if it is not there.
func (t table) find(key string) (Window, bool) {
	rest := t.from(key)
	if line, _, _ := strings.Cut(rest, "\n"); strings.HasPrefix(line, key) {
		if limits, ok := strings.CutPrefix(line[len(key):], " "); ok {
			return t.parseLimits(limits), true
		}
	}
	return Window{}, false
}

// parseLimits returns the window in a text "context input output", which must be valid: its writer has checked it.
func (t table) parseLimits(text string) Window {
	context, rest, _ := strings.Cut(text, " ")
	input, output, _ := strings.Cut(rest, " ")
	w := Window{Source: t.source}
	w.Context, _ = strconv.Atoi(context)
	w.Input, _ = strconv.Atoi(input)
	w.Output, _ = strconv.Atoi(output)
	return w
}

// linesOf yields the keys and windows of a provider's models in this table.
func (t table) linesOf(provider string) iter.Seq2[string, Window] {
	return func(yield func(string, Window) bool) {
		prefix := provider + "/"
		for rest := t.from(prefix); strings.HasPrefix(rest, prefix); {
			line, after, _ := strings.Cut(rest, "\n")
			key, limits, _ := strings.Cut(line, " ")
			if !yield(key, t.parseLimits(limits)) {
				return
			}
			rest = after
		}
	}
}

// from returns the part of the table that begins with the first line whose key is not less than key.
func (t table) from(key string) string {
	lo, hi := 0, len(t.text) // both at the beginning of a line
	for lo < hi {
		mid := lo + (hi-lo)/2
		start := strings.LastIndexByte(t.text[:mid], '\n') + 1
		end := start + strings.IndexByte(t.text[start:], '\n')
		if name, _, _ := strings.Cut(t.text[start:end], " "); name < key {
			lo = end + 1
		} else {
			hi = start
		}
	}
	return t.text[lo:]
}
