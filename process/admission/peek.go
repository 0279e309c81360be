package admission

import (
	"path/filepath"

	"github.com/plimsoll/plimsoll/limit"
)

// maxPeeks bounds how many claims [Peek] reads.
const maxPeeks = 256

// peeked returns the ledger of this boot in a runtime directory, whether it exists or not. It locks and makes nothing.
func peeked(dir string) *Ledger {
	return &Ledger{dir: filepath.Join(dir, "ledger", fileName(bootID()))}
}

// Peek returns the claims in a runtime directory as their own files describe them, at most 256, in no order. It takes no lock and does not
// read the table: State may be out of date, Current is 0, and owners may be dead. It is for callers that must be quick, such as a status
// line.
func Peek(dir string) []Holder {
	l := peeked(dir)
	ids, _, _ := l.claimNames(maxPeeks)
	var list []Holder
	for _, id := range ids {
		if c, err := l.readClaimFile(id); err == nil {
			e := c.Entry
			list = append(list, Holder{
				ID: e.ID, State: e.State, Tool: e.Tool, Project: e.Project, Variant: e.Variant, Parent: e.Parent,
				Reservation: e.Reservation, Owner: e.Owner, Since: e.Since, Forced: e.Forced, Remains: c.Remains,
			})
		}
	}
	return list
}

// PeekUse returns the use that a run published last by [Claim.Observe], in bytes; 0 when it has published nothing or is gone.
func PeekUse(dir, id string) limit.Bytes {
	if !ValidID(id) {
		return 0
	}
	return peeked(dir).Observed(id)
}
