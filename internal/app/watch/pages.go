package watch

import (
	"cmp"
	"slices"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
)

// source is the input of pages.
type source struct {
	core   *core.Core
	ledger Ledger      // nil where nobody knows it
	fleet  *hosts.View // nil where there is none
}

// makePage returns a page; false leaves it out.
type makePage func(source) (dashboard.Page, bool)

// addedPage is a page with its place in the menu.
type addedPage struct {
	place int
	page  makePage
}

// added are the pages beside those of runs and alerts. Each is in a file of its own, which adds it.
var added []addedPage

// addPage adds a page, from the init function of its file. place orders the menu: hosts are 5, MCP is 10, agents are 20, the ledger is 90.
func addPage(place int, page makePage) { added = append(added, addedPage{place, page}) }

// pages returns the added pages in the order of the menu.
func pages(s source) []dashboard.Page {
	var list []dashboard.Page
	placed := slices.Clone(added)
	sorting.StableBy(placed, func(a, b addedPage) int { return cmp.Compare(a.place, b.place) })
	for _, a := range placed {
		if page, ok := a.page(s); ok {
			list = append(list, page)
		}
	}
	return list
}
