package toolbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/nearest"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/limit"
)

// clip returns a text cut to at most maxBytes, between characters, and marked if it was cut.
func clip(text string, maxBytes int) string { return limit.Short(text, maxBytes) }

// toolName returns a name in which every character but letters, digits, "_" and "-" is "_", because providers of models take no others. A
// name longer than gateway.MaxName ends in a digest of the original, so that it is the same every time.
func toolName(name string) string {
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

// digested returns out, shortened, with a digest of name at its end.
func digested(out, name string) string {
	sum := sha256.Sum256([]byte(name))
	const tail = 9
	return out[:min(len(out), gateway.MaxName-tail)] + "_" + hex.EncodeToString(sum[:4])
}

// Roles of the tools that read kept results.
const (
	noRole = iota
	pageRole
	searchRole
	queryRole
)

// addedNames returns the names that the gateway gave to the tools that it added to a list; false if there are none. They begin with
// plimsoll_ if the server has tools of the usual names itself.
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

func addedName(n result.Names, role int) string {
	return [...]string{"", n.Page, n.Search, n.Query}[role]
}

// suggestion returns ` (did you mean "x"?)` with the known names that are nearest to name, "" if none is near.
func suggestion(name string, known []string) string {
	near := nearest.Names(name, known, 3)
	if len(near) == 0 {
		return ""
	}
	for i, n := range near {
		near[i] = fmt.Sprintf("%q", n)
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
}
