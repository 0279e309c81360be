package watch

import (
	"context"
	_ "embed" // the page's script

	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
)

//go:embed pages/ledger.js
var ledgerScript []byte

// ledgerPage returns the page with the runs that hold memory and slots, with their processes, and those that wait.
func ledgerPage(s source) (dashboard.Page, bool) {
	return dashboard.Page{
		Name: "ledger", Title: "Who holds memory", Script: ledgerScript,
		Data: func(ctx context.Context) (any, error) { return Slots(ctx, s.core, true) },
	}, true
}
