// Package profile describes each agent: its names and packages, how it is pointed at the proxy and whose word counts for that, where its
// MCP servers stand and how it is given others for one run, and how its requests prove who speaks in them. No other package names an agent.
//
//	a, ok := profile.Find("codex")
//	s, err := a.Plan(profile.Setup{Argv: argv, Environ: os.Environ(), Dir: dir, Root: "http://127.0.0.1:4711/" + token})
//	cmd.Args, cmd.Env = s.Argv, s.Environ(os.Environ()) // unless s.Why says why there is no proxy
//
// To add an agent, write one call of add: in agents.go, or in NAME.go where it takes more. Add a row to docs/clients.md and, where its
// requests are to be told from others', a recorded session to internal/window/client/testdata/sessions; tests hold these together.
//
// A base URL is not neutral: with it agents send other tools or take another kind of login. A profile sets what is needed and nothing else.
// Where the first request would not be the one the tool sends without Plimsoll, or a credential could reach the wrong host, there is no
// proxy. Files of tools are read (at most 1 MiB each), never written. Agents are values without state, for any number of goroutines.
package profile
