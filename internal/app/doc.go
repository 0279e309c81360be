// Package app is Plimsoll the program, as a library: it wires the planes together from a
// configuration. The commands of cmd/plimsoll map flags to its options and render what it
// returns; they hold no logic of their own. Each family of commands has a folder below; app is the
// face in front of them.
//
//	a, err := app.New(app.Options{})
//	status := a.Run(ctx, app.RunOptions{Command: []string{"make", "test"}, Stderr: os.Stderr})
//	status.Exit()
//
// [App.Run] is the main job: which tool is this, what will it need, does the machine have
// that, start it in its sandbox, watch, tell what it used. What it makes it takes down in
// reverse order, also when a later step fails, and a failure of anything that the command
// does not need (history, ledger, report) is a warning and never stops it.
//
// An App is safe for concurrent use once made. Run takes over signal handling of the
// process while it lasts; one run at a time per process is what it is made for.
//
// [App.Ask] asks one of the agents of the configuration, [App.ServeAgents] serves them over
// A2A, and [App.Demo] plays all of it on stand-ins: it starts this very program as the agent,
// under `plimsoll run`, is its client, and looks at what the limits did.
//
// The package is tested through the binary, by the scripts in cmd/plimsoll/testdata.
package app
