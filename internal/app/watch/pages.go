package watch

import (
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
)

// source is the input of pages.
type source struct {
	core  *core.Core
	fleet *hosts.View // nil where there is none
}

// morePages make the pages beside those of runs and alerts, in the order of the menu; false leaves one out.
var morePages = []func(source) (dashboard.Page, bool){hostsPage, mcpPage, agentsPage, memoryPage, ledgerPage}

// pages returns the added pages in the order of the menu.
func pages(s source) []dashboard.Page {
	var list []dashboard.Page
	for _, pageOf := range morePages {
		if page, ok := pageOf(s); ok {
			list = append(list, page)
		}
	}
	return list
}
