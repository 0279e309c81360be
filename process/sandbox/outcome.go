package sandbox

import "github.com/plimsoll/plimsoll/journal"

// Outcome returns one word for the end of the run. It is [journal.OutcomeOOM] only when the command itself died of memory; killed children
// are counted in OOMKills and LimitKills, and make it [journal.OutcomeLimit] only when Plimsoll ended them and the command failed.
func (r Result) Outcome() journal.Outcome {
	switch {
	case r.CommandOOM:
		return journal.OutcomeOOM
	case r.Reached != "":
		return journal.OutcomeLimit
	case r.Signal != 0:
		return journal.OutcomeSignalled
	case r.ExitCode != 0 && r.LimitKills > 0:
		return journal.OutcomeLimit
	case r.ExitCode != 0:
		return journal.OutcomeFailed
	}
	return journal.OutcomeOK
}
