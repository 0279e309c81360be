package toolbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/tools/gateway"
	"github.com/plimsoll/plimsoll/tools/result"
)

// clip cuts a text to at most most bytes, whole characters, and shows that it did.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const mark = "…"
	n := max(0, most-len(mark))
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + mark
}

// plain makes a name of the letters that all providers of models take. short says that it
// was too long: then it ends in a digest of itself, as behind a merged gateway, so that it
// is the same every time.
func plain(name string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r == '_', r == '-', '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
			return r
		}
		return '_'
	}, name)
	if len(out) > gateway.MaxName {
		return digested(out, name)
	}
	return out
}

// digested is out with a digest of name at its end.
func digested(out, name string) string {
	sum := sha256.Sum256([]byte(name))
	const tail = 9
	return out[:min(len(out), gateway.MaxName-tail)] + "_" + hex.EncodeToString(sum[:4])
}

// roles of the tools that read kept results.
const (
	noRole = iota
	pageRole
	searchRole
	queryRole
)

// addedNames finds what the gateway calls the tools that it has added to a list: they begin
// with plimsoll_ where the server has tools of those names itself.
func addedNames(names []string) (result.Names, bool) {
	n := result.DefaultNames
	found, ok := n, false
	for range 9 {
		if slices.Contains(names, n.Page) && slices.Contains(names, n.Search) && slices.Contains(names, n.Query) {
			found, ok = n, true
		}
		n.Page, n.Search, n.Query = "plimsoll_"+n.Page, "plimsoll_"+n.Search, "plimsoll_"+n.Query
	}
	return found, ok
}

func roleOf(n result.Names, name string) int {
	switch name {
	case n.Page:
		return pageRole
	case n.Search:
		return searchRole
	case n.Query:
		return queryRole
	}
	return noRole
}

func named(n result.Names, role int) string {
	return [...]string{"", n.Page, n.Search, n.Query}[role]
}

// meant is ` (did you mean "x"?)` for the nearest names, and "" where none is near.
func meant(name string, known []string) string {
	near := nearest(name, known)
	if len(near) == 0 {
		return ""
	}
	for i, n := range near {
		near[i] = fmt.Sprintf("%q", n)
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
}

// nearest gives up to three names that name may have been meant to be: those with few
// letters changed, then those that hold it or are held by it.
func nearest(name string, known []string) []string {
	key := func(s string) string {
		if len(s) > gateway.MaxName {
			s = s[:gateway.MaxName]
		}
		return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(s))
	}
	want := key(name)
	if want == "" {
		return nil
	}
	type near struct {
		name  string
		steps int
	}
	var found []near
	for _, k := range known {
		have := key(k)
		steps := distance(want, have)
		if steps > max(1, (len(want)+2)/3) {
			if len(want) < 3 || len(have) < 3 || !strings.Contains(have, want) && !strings.Contains(want, have) {
				continue
			}
			steps += 1000
		}
		found = append(found, near{k, steps})
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.steps - b.steps })
	var out []string
	for _, f := range found[:min(3, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// distance counts the letters to be changed, put in or left out between two short words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			steps := diagonal
			if a[i] != b[j] {
				steps++
			}
			diagonal = row[j+1]
			row[j+1] = min(steps, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
