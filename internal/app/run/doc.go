// Package run is `plimsoll run` and what is asked about a run without one: the dry run, predictions, and what this host can
// enforce.
//
//	status := run.Run(ctx, core, run.Options{Command: []string{"claude"}, Stderr: os.Stderr})
//	status.Exit()
//
// A run is three things, one after the other. The decision settles its tool, its expected need and its limits. The process is
// the command from its admission to its end, with the claim, the proxy and the MCP servers that live beside it. The report takes
// in what happens, and is written and shown at the end; it begins first, because a run that is refused is reported too.
package run
