// Package core holds what every family of commands shares: a checked configuration, the places
// where state lives, who gets warnings, and how a process of Plimsoll listens to signals and
// ends.
//
//	c, err := core.New(core.Options{})
//	settings, err := c.Config.For("")
//	ledger, err := c.OpenLedger(nil)
//
// The families (internal/app/run, internal/app/mcp, internal/app/agents, internal/app/window, internal/app/daemon, internal/app/demo) import core, and
// core imports none of them. A [Core] is safe for concurrent use once made. The package is tested by
// its own tests and, through the binary, by the scripts in cmd/plimsoll/testdata.
package core
