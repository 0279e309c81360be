// Package idle tells when a run that still lives is used by nobody: no request to a model, no input at its terminal, no processor time.
//
//	w := idle.New(idle.Options{Max: 4 * time.Hour, Input: idle.InputOf(os.Stdin), Note: note})
//	w.Look(used) // with each sample of the run, of which used is the processor time so far
//
// A Watch has no timer and no goroutine of its own: it looks when the run is sampled, at least every ten seconds. The time in which the
// machine sleeps or the run is stopped does not count. A run that has been quiet for [After] is idle, which is told once, and once more
// when it is used again; at nine tenths of Max and at Max its owner is told to warn and to act.
package idle
