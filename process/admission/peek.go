package admission

import (
	"path/filepath"

	"github.com/plimsoll/plimsoll/limit"
)

// maxPeeks bounds how many claims [Peek] reads.
const maxPeeks = 256

// peeked returns the ledger of this boot, whether it is there or not. Nothing of it is locked or made.
func peeked(dir string) *Ledger {
	return &Ledger{dir: filepath.Join(dir, "ledger", fileName(bootID()))}
}

// Peek lists what the claims in a runtime directory say of themselves, at most 256 of them, in no order. It takes no lock and does not read the
// table: State may be one too old, and nobody looked whether the owners live. It is for who must be quick, a status line.
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
