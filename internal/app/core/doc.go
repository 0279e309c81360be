// Package core holds what every family of commands shares: a checked configuration, the places where state lives, who gets warnings, what
// is closed at the end, and how a process of Plimsoll listens to signals and ends.
//
//	c, err := core.New(core.Options{})
//	settings, err := c.Config.For("")
//	ledger, err := c.OpenLedger(nil)
//
// The families (internal/app/run, internal/app/mcp and so on) import core, and core imports none of them. A [Core] is safe for concurrent
// use once made.
package core
