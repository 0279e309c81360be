// Package holder reaches the run behind a claim of the admission ledger, from its own process and from others of the same user.
//
//	used := holder.Current(h)      // bytes, as its control group counts them
//	stopped, err := holder.Pause(h)
//	err = holder.End(h)            // SIGTERM to its plimsoll
//	err = holder.Reap(h)           // what a dead supervisor has left
//
// Each looks again whose process it is, and never touches one that only has the number of a process of the run: another user's run,
// one that waits and one whose plimsoll has died are errors.
package holder
