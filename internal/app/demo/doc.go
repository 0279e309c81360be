// Package demo plays the main job on stand-ins, `plimsoll demo`, and puts the Argo CD server under
// stress, `plimsoll stress argocd`.
//
//	report, err := demo.Play(ctx, demo.Options{Out: os.Stdout}, showRun)
//	ok := err == nil && report.OK()
//
// Both start this very program in processes of its own, as a user would: the agent under `plimsoll
// run`, the server as `plimsoll mcp argocd`. The demo is the agent's client over A2A, reads its
// journal, and looks at what the limits did. One at a time per process: both take over its signals.
// The package is tested by its own tests and by e2e.
package demo
