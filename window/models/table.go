package models

import (
	_ "embed"
	"iter"
	"strconv"
	"strings"
)

//go:generate go run ./internal/cataloguer -out .

// CatalogueDate is the day of the catalogue's last change at its source.
const CatalogueDate = "2026-09-28"

// table has a line "provider/model context input output" for each model, sorted. It stays
// in the program's read-only data.
//
//go:embed table.txt
var table string

// find bisects the table for a folded key.
func find(key string) (Window, bool) {
	lo, hi := 0, len(table) // both at the beginning of a line
	for lo < hi {
		mid := lo + (hi-lo)/2
		start := strings.LastIndexByte(table[:mid], '\n') + 1
		end := start + strings.IndexByte(table[start:], '\n')
		name, limits, _ := strings.Cut(table[start:end], " ")
		switch {
		case name == key:
			return limitsOf(limits), true
		case name < key:
			lo = end + 1
		default:
			hi = start
		}
	}
	return Window{}, false
}

// limitsOf reads "context input output". The generator wrote it, and a test reads all lines.
func limitsOf(text string) Window {
	context, rest, _ := strings.Cut(text, " ")
	input, output, _ := strings.Cut(rest, " ")
	w := Window{Source: SourceCatalogue}
	w.Context, _ = strconv.Atoi(context)
	w.Input, _ = strconv.Atoi(input)
	w.Output, _ = strconv.Atoi(output)
	return w
}

// linesOf goes through the models of a provider: "provider/model context input output".
func linesOf(provider string) iter.Seq[string] {
	return func(yield func(string) bool) {
		prefix := provider + "/"
		for rest := from(prefix); strings.HasPrefix(rest, prefix); {
			line, after, _ := strings.Cut(rest, "\n")
			if !yield(line) {
				return
			}
			rest = after
		}
	}
}

// from is the table from the first line on that is not before key.
func from(key string) string {
	lo, hi := 0, len(table) // both at the beginning of a line
	for lo < hi {
		mid := lo + (hi-lo)/2
		start := strings.LastIndexByte(table[:mid], '\n') + 1
		if table[start:] < key {
			lo = start + strings.IndexByte(table[start:], '\n') + 1
		} else {
			hi = start
		}
	}
	return table[lo:]
}
