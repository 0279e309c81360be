package watch

import (
	"context"
	_ "embed" // the page's script
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	holders "github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Slot is a run in the ledger, as the dashboard's page about the ledger has it. Sizes are in bytes.
type Slot struct {
	Tool    string `json:"tool"`
	Project string `json:"project"`
	// Variant names the use of a generic tool ("test" of make), "" for other tools and for another user's run.
	Variant string `json:"variant"`
	// User is the name of another user whose run it is, seen through shared_ledger; Project and PID are
	// not known then. "" for our own.
	User string `json:"user,omitempty"`
	// PID is the plimsoll process that holds the claim.
	PID              int         `json:"pid"`
	ReservationBytes limit.Bytes `json:"reservation_bytes"`
	// CurrentBytes is the memory that the run uses now, 0 when nobody can tell or it waits.
	CurrentBytes limit.Bytes `json:"current_bytes"`
	// Since is the time of its admission, or at which it began to wait.
	Since time.Time `json:"since"`
	// State is "holding", "waiting" or "stale": its owner died, and it is not cleaned up yet.
	State admission.State `json:"state"`
	ID    string          `json:"id"`
	// Parent is the ID of the run that it draws on, without a slot of its own.
	Parent string `json:"parent,omitempty"`
	// Position is its place in the queue, from 1, when it waits.
	Position int `json:"position,omitempty"`
	// Forced is true when it was started by --force against the sum or the slots.
	Forced bool `json:"forced,omitempty"`
	// StaleWhy is the reason why a stale run could not be cleaned up.
	StaleWhy string `json:"stale_why,omitempty"`
	// Orphans counts the processes of the run that have lost their parent.
	Orphans int `json:"orphans"`
	// Processes are all processes of the run, ancestors before descendants, when they were asked for.
	Processes []SlotProcess `json:"processes,omitempty"`
}

// SlotProcess is one process of a run. Sizes are in bytes.
type SlotProcess struct {
	PID    int    `json:"pid"`
	Parent int    `json:"parent"`
	Name   string `json:"name"`
	// State is the kernel's letter (R, S, D, T, …), empty where it is not known.
	State string `json:"state"`
	// Bytes is its private resident memory.
	Bytes limit.Bytes `json:"bytes"`
	// CPUMS is the processor time it has used in milliseconds, -1 where that is not known.
	CPUMS int64 `json:"cpu_ms"`
	// AgeMS is the time since it started, in milliseconds; 0 where that is not known.
	AgeMS int64 `json:"age_ms"`
	// Orphan is true when its parent has ended, and Daemon when it was meant to outlive it.
	Orphan bool `json:"orphan"`
	Daemon bool `json:"daemon"`
}

// Slots lists the runs of this user on this host: first those that hold a claim, oldest first, then those of other users that are seen, then those
// that wait, in the order of the queue. The list is never nil. With tree each run has its processes.
func Slots(ctx context.Context, c *core.Core, tree bool) ([]Slot, error) {
	ledger, err := c.OpenLedger(func(w admission.Warning) { c.Warn(w.Text) })
	if err != nil {
		return nil, err
	}
	list, err := ledger.Holders(ctx)
	if err != nil {
		return nil, err
	}
	slots := make([]Slot, 0, len(list))
	waiting := 0
	for _, h := range list {
		s := Slot{
			Tool: h.Tool, Variant: h.Variant, Project: h.Project, User: h.User, PID: h.Owner.PID, ReservationBytes: h.Reservation, CurrentBytes: h.Current,
			Since: h.Since, State: h.State, ID: h.ID, Parent: h.Parent, Forced: h.Forced, StaleWhy: h.StaleWhy,
		}
		if h.State == admission.Waiting {
			waiting++
			s.Position = waiting
		}
		s.addProcesses(h, tree)
		slots = append(slots, s)
	}
	return slots, nil
}

// Family returns the processes of a run of this user that was admitted; ok is false for any other, and where its claim does not say where they are
// or they cannot be read.
func Family(h admission.Holder) (_ []sandbox.Member, ok bool) {
	if h.User != "" || h.State == admission.Waiting {
		return nil, false
	}
	remains, ok := holders.Remains(h)
	if !ok {
		return nil, false
	}
	supervisor := h.Owner.PID
	if h.State == admission.Stale {
		supervisor = 0
	}
	family, err := sandbox.Family(remains, supervisor)
	return family, err == nil
}

// addProcesses counts the orphans of a run in its slot, and with tree lists its processes.
func (s *Slot) addProcesses(h admission.Holder, tree bool) {
	family, _ := Family(h)
	for _, m := range family {
		if m.Orphan {
			s.Orphans++
		}
		if !tree {
			continue
		}
		p := SlotProcess{
			PID: m.PID, Parent: m.Parent, Name: m.Name, Bytes: m.Memory, CPUMS: -1, AgeMS: m.Age.Milliseconds(),
			Orphan: m.Orphan, Daemon: m.Daemon,
		}
		if m.State != 0 {
			p.State = string(rune(m.State))
		}
		if m.CPU >= 0 {
			p.CPUMS = m.CPU.Milliseconds()
		}
		s.Processes = append(s.Processes, p)
	}
}

//go:embed pages/ledger.js
var ledgerScript []byte

// ledgerPage returns the page with the runs that hold memory and slots, with their processes, and those that wait.
func ledgerPage(s source) (dashboard.Page, bool) {
	return dashboard.Page{
		Name: "ledger", Title: "Who holds memory", Script: ledgerScript,
		Data: func(ctx context.Context) (any, error) { return Slots(ctx, s.core, true) },
	}, true
}
