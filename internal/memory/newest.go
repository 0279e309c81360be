package memory

import (
	"slices"

	"github.com/plimsoll/plimsoll/internal/memory/newest"
)

// newestWindow is the number of records, the best ones of a search, that are compared with each other, whatever page is asked for.
const newestWindow = 40

// newestFirst puts each record that was said later of the same thing before the one whose place it takes, and has both say so. A record takes no other's
// place whose words are trusted more, nor that of one in another namespace or scope; among people who talk with each other nobody speaks for another.
func newestFirst(items []Item) []Item {
	n := min(len(items), newestWindow)
	read := make([]newest.Text, n)
	for i := range n {
		if !items[i].Quarantined {
			read[i] = newest.Read(items[i].Text)
		}
	}
	by := make([]int, n) // 1 + the place of the newest record that takes the place of one
	for o := range n {
		for k := range n {
			if read[k] == nil || read[o] == nil || !mayReplace(&items[k].Record, &items[o].Record) || !read[k].Replaces(read[o]) {
				continue
			}
			if by[o] == 0 || items[k].Said.After(items[by[o]-1].Said) {
				by[o] = k + 1
			}
			if r := items[k].Replaced; r == nil || items[o].Said.After(r.Said) {
				items[k].Replaced = &Replaced{items[o].ID, items[o].Text, items[o].Said}
			}
		}
	}
	var out []Item
	done := make([]bool, n)
	for i := range n {
		// What counts now comes first, then what it has replaced. Said later is a strict order, so this ends.
		for at := i; !done[i]; at = i {
			for by[at] > 0 && !done[by[at]-1] {
				at = by[at] - 1
			}
			if by[at] > 0 {
				items[at].ReplacedBy = items[by[at]-1].ID
			}
			done[at] = true
			out = append(out, items[at])
		}
	}
	return append(out, items[n:]...)
}

// mayReplace reports whether a record may take the place of another one, whatever they say.
func mayReplace(k, o *Record) bool {
	return k.Said.After(o.Said) && k.Origin.trust() >= o.Origin.trust() && k.Namespace == o.Namespace && k.Scope == o.Scope &&
		k.Source.Speaker == o.Source.Speaker && k.ID != o.ID && !slices.Contains(k.From, o.ID) && !slices.Contains(o.From, k.ID)
}
