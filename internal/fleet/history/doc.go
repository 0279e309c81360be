// Package history shares what runs took between hosts: the peaks and the spend of a tool, by project and by variant.
//
//	h := history.New(f, stateDir)
//	err := h.Keep(observation)                     // into the outbox, which outlives this process
//	left, err := h.Deliver(ctx)                    // to the fleet, with what others have left there
//	seen, err := h.Read(ctx, project, tool, variant)
//
// An observation is kept before it is delivered and given up after the server has it, so a kill at any moment loses none. One that is
// delivered twice has one identity, and counts once. What a fleet says is checked like a file from outside: what is impossible is left out
// and counted. Tests use real servers, and processes that are killed.
package history
