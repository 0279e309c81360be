// Package sizing sets the numbers of a run before it starts: reservation, memory limit, and what stays free of the machine's memory.
//
//	n, err := sizing.Decide(settings, sizing.InputOf(history, project, tool, variant, warn), host)
//	claim, err := ledger.Acquire(ctx, n.Ask(settings))
//	record := sizing.RunOf(result, n.Memory) // for the history, from which the next run is sized
//
// A run, a dry run, a prediction and package guard decide by it, so that they agree. It reads what it is given and changes nothing.
package sizing
