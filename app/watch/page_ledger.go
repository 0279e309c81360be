package watch

import (
	_ "embed" // the page's script

	"github.com/plimsoll/plimsoll/watch/dashboard"
)

//go:embed pages/ledger.js
var ledgerScript []byte

func init() { addPage(90, ledgerPage) }

// ledgerPage shows who holds memory and slots, with the processes of each run, and who waits.
func ledgerPage(s source) (dashboard.Page, bool) {
	return dashboard.Page{Name: "ledger", Title: "Ledger", Script: ledgerScript, Data: s.ledger}, s.ledger != nil
}
