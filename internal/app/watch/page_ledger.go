package watch

import (
	_ "embed" // the page's script

	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
)

//go:embed pages/ledger.js
var ledgerScript []byte

func init() { addPage(90, ledgerPage) }

// ledgerPage returns the page with the runs that hold memory and slots, with their processes, and those that wait; false without a ledger.
func ledgerPage(s source) (dashboard.Page, bool) {
	return dashboard.Page{Name: "ledger", Title: "Who holds memory", Script: ledgerScript, Data: s.ledger}, s.ledger != nil
}
