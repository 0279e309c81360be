// Package demo plays the main job on stand-ins, `plimsoll demo` and `plimsoll demo argocd`.
//
//	report, err := demo.Play(ctx, demo.Options{Out: os.Stdout}, showRun)
//	ok := err == nil && report.OK()
//
// It starts this very program in processes of its own, as a user would: the agent under `plimsoll run`. The demo is the agent's client over A2A, reads its
// journal, and looks at what the limits did. One at a time per process: it takes over its signals.
// The package is tested by its own tests and by e2e.
package demo
