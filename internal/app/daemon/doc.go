// Package daemon is the daemon, `plimsoll serve`: the model gateway, the MCP gateway and the agents over
// A2A behind one listener, with metrics and health.
//
//	err := daemon.Run(ctx, app, daemon.Options{Stderr: os.Stderr}) // until ctx ends
//
// It opens each plane with one journal, and closes them in reverse order: tasks end before the tools
// that they use, and streams before the listener. The package is tested through app.Serve and by e2e.
package daemon
