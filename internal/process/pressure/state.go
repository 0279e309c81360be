package pressure

import (
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Mode says what a supervisor does with its run when it is the run's turn to give way.
type Mode string

// The modes.
const (
	Off    Mode = "off"
	Warn   Mode = "warn"
	Freeze Mode = "freeze"
	Kill   Mode = "kill"
)

// acts reports whether a run in this mode is stopped or ended in part when it is its turn.
func (m Mode) acts() bool { return m == Freeze || m == Kill }

// Child is a descendant of a run's command.
type Child struct {
	PID int
	// Start is its start time, by which it is told from a later process with the same PID.
	Start uint64
	Name  string
	Bytes limit.Bytes
}

// Holder is a run in the ledger, as its supervisor published it.
type Holder struct {
	ID string
	// Since is the time at which it was admitted; the youngest gives way first.
	Since time.Time
	// Reservation is the memory it asked for and Current its use now, in bytes.
	Reservation, Current limit.Bytes
	// Nested is true when it draws on another run's reservation; only that run is chosen then.
	Nested bool
	// Dead is true when its supervisor has ended.
	Dead bool
	// State was published last by its supervisor; the zero State when it watches nothing.
	State State
}

// State holds what a supervisor publishes about its run.
type State struct {
	Mode Mode
	// Frozen is the time since which the whole run is frozen, zero when it is not.
	Frozen time.Time
	// Stopped are the descendants that are stopped, since StoppedSince.
	Stopped      []Child
	StoppedSince time.Time
	// Acted is the time of the supervisor's last action, and Rests the end of the time for which the run is left alone.
	Acted, Rests time.Time
}

// heldSince returns the time since which anything of the run is held, zero when nothing is.
func (s State) heldSince() time.Time {
	switch {
	case s.Frozen.IsZero():
		return s.StoppedSince
	case s.StoppedSince.IsZero() || s.Frozen.Before(s.StoppedSince):
		return s.Frozen
	}
	return s.StoppedSince
}

// ActionKind names an action; see [journal.Pressure].
type ActionKind string

// The kinds of actions.
const (
	DoWarn     ActionKind = "warn"
	DoStop     ActionKind = "stop"
	DoContinue ActionKind = "continue"
	DoFreeze   ActionKind = "freeze"
	DoThaw     ActionKind = "thaw"
	DoKill     ActionKind = "kill"
	DoThawPeer ActionKind = "thaw-peer"
)
