package models

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/store"
)

// An Entry holds the limits of one model at one upstream.
type Entry struct {
	// Upstream is a provider, "any" for the window of a model wherever nothing better is known, or the upstream that taught a limit.
	Upstream string
	Model    string // folded: "claude-opus-4-5"
	Window   Window
	Learned  time.Time // zero unless it was learned
}

// Providers returns the names of the catalogue's providers in alphabetic order, without "any", and the number of models of each.
func (c *Catalogue) Providers() (names []string, count map[string]int) {
	count = map[string]int{}
	for i, t := range c.tables() {
		for line := range strings.SplitSeq(t.text, "\n") {
			key, _, _ := strings.Cut(line, " ")
			provider, _, ok := strings.Cut(key, "/")
			if !ok || provider == "any" {
				continue
			}
			if i > 0 {
				if _, again := c.tables()[0].find(key); again {
					continue
				}
			}
			count[provider]++
		}
	}
	for name := range count {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, count
}

// Of returns the models of a provider, in alphabetic order.
func (c *Catalogue) Of(provider string) (list []Entry) {
	provider = Provider(provider)
	for key, w := range c.linesOf(provider) {
		list = append(list, Entry{Upstream: provider, Model: strings.TrimPrefix(key, provider+"/"), Window: w})
	}
	sorting.By(list, func(a, b Entry) int { return strings.Compare(a.Model, b.Model) })
	return list
}

// Known returns the catalogue's entries for a model: one for each provider that serves it under this name, then the window for everywhere
// else, which is guessed for a name that the catalogue lacks (see [Lookup]). A name without a known family has no entries.
func (c *Catalogue) Known(model string) (list []Entry) {
	names, _ := c.Providers()
	n := parseName(model)
	for _, provider := range names {
		for _, spelled := range n.spellings {
			if w, ok := c.find(provider + "/" + spelled); ok {
				list = append(list, Entry{Upstream: provider, Model: spelled, Window: w})
				break
			}
		}
	}
	if w, ok := c.Lookup("", model, nil); ok {
		list = append(list, Entry{Upstream: "any", Model: model, Window: w})
	}
	return list
}

// Learned returns the limits that providers have named and that count now, by upstream and model, from the files in dir (that of
// [Options]). The error joins those of files that cannot be read; the others are returned all the same.
func Learned(dir string) (list []Entry, err error) {
	if dir == "" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(globQuote(dir), "limits-*.json"))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for _, file := range files {
		d, readErr := fileAt(file).Read()
		if readErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", file, store.Fault(readErr)))
			continue
		}
		for model, l := range d.Models {
			if limit := l.valid(now); limit > 0 {
				list = append(list, Entry{
					Upstream: d.Upstream, Model: model, Learned: l.Learned, Window: Window{Context: limit, Source: SourceLearned},
				})
			}
		}
	}
	sorting.By(list, func(a, b Entry) int {
		if c := strings.Compare(a.Upstream, b.Upstream); c != 0 {
			return c
		}
		return strings.Compare(a.Model, b.Model)
	})
	return list, err
}

// globQuote returns a directory's name with the characters escaped that filepath.Glob treats as a pattern.
func globQuote(dir string) string {
	if os.PathSeparator == '\\' {
		return dir // there a backslash cannot quote
	}
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(dir)
}
