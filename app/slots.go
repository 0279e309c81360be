package app

import (
	"context"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/guard"
)

// Slot is a run in the ledger, as `slots --json` writes it. Sizes are in bytes.
type Slot struct {
	Tool    string `json:"tool"`
	Project string `json:"project"`
	// User is the name of another user whose run it is, seen through shared_ledger; Project and PID are
	// not known then. "" for our own.
	User string `json:"user,omitempty"`
	// PID is the plimsoll process that holds the claim.
	PID              int         `json:"pid"`
	ReservationBytes limit.Bytes `json:"reservation_bytes"`
	// CurrentBytes is what the run uses now, 0 when nobody can tell or it waits.
	CurrentBytes limit.Bytes `json:"current_bytes"`
	// Since is when it was admitted, or when it began to wait.
	Since time.Time `json:"since"`
	// State is "holding", "waiting" or "stale": its owner died, and it is not cleaned up yet.
	State admission.State `json:"state"`
	ID    string          `json:"id"`
	// Parent is the ID of the run that it draws on, without a slot of its own.
	Parent string `json:"parent,omitempty"`
	// Position is its place in the queue, from 1, when it waits.
	Position int `json:"position,omitempty"`
	// Forced says that it was started by --force against the sum or the slots.
	Forced bool `json:"forced,omitempty"`
	// StaleWhy says why a stale run could not be cleaned up.
	StaleWhy string `json:"stale_why,omitempty"`
}

// Slots lists the runs of this user on this host: first those that hold a claim, oldest
// first, then those of other users that are seen, then those that wait, in the order of the queue. The
// list is never nil.
func (a *App) Slots(ctx context.Context) ([]Slot, error) {
	ledger, err := a.OpenLedger(a.warnLedger)
	if err != nil {
		return nil, err
	}
	holders, err := ledger.Holders(ctx)
	if err != nil {
		return nil, err
	}
	slots := make([]Slot, 0, len(holders))
	waiting := 0
	for _, h := range holders {
		s := Slot{
			Tool: h.Tool, Project: h.Project, User: h.User, PID: h.Owner.PID, ReservationBytes: h.Reservation, CurrentBytes: h.Current,
			Since: h.Since, State: h.State, ID: h.ID, Parent: h.Parent, Forced: h.Forced, StaleWhy: h.StaleWhy,
		}
		if h.State == admission.Waiting {
			waiting++
			s.Position = waiting
		}
		slots = append(slots, s)
	}
	return slots, nil
}

// SweepLedger cleans up what dead owners left: their processes, groups and units, and
// their claims. What could not be removed is in Swept.Stale, with the reason.
func (a *App) SweepLedger(ctx context.Context) (admission.Swept, error) {
	ledger, err := a.OpenLedger(nil) // a failed clean-up is in the result
	if err != nil {
		return admission.Swept{}, err
	}
	return ledger.Sweep(ctx, guard.Reap)
}

func (a *App) warnLedger(w admission.Warning) { a.warn(w.Text) }
