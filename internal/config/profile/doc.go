// Package profile describes each agent, one file for each: its names and packages, what it takes before its first run, how it is
// pointed at the proxy and whose word counts for that, where its MCP servers stand and how it is given others for one run, how large
// a tool's result may be, and how its requests prove who speaks in them. Whoever needs one of these asks here; no other package
// names an agent.
//
//	a, ok := profile.Find("codex")
//	s, err := a.Plan(profile.Setup{
//		Argv: []string{"npx", "@openai/codex", "exec", "fix the tests"}, Via: []string{"npx"},
//		Environ: os.Environ(), Dir: dir, Root: "http://127.0.0.1:4711/" + token,
//	})
//	switch {
//	case err != nil:    // the Setup itself was wrong
//	case s.Why != "":   // "no proxy, because …"
//	default:
//		for _, u := range s.Upstreams { … } // what the proxy has to reach, under which name
//		cmd.Args, cmd.Env = s.Argv, s.Environ(os.Environ())
//	}
//
// # To add an agent
//
// Write NAME.go with one call of add. What it cannot be asked for stays unset; what does not fit into the file stands in
// NAME_plan.go. Add a row to docs/clients.md and, where its requests are to be told from others', a recorded session to
// internal/window/client/testdata/sessions. Tests hold these three together.
//
// # A plan
//
// A base URL is not neutral: Claude Code sends other tools, Gemini CLI takes another kind of login, Codex stops asking for the list
// of models. A profile sets what is needed and nothing else, so that the first request is the one the tool would have sent without
// Plimsoll. Where that cannot be had, and where a login belongs to a host that the proxy does not stand in for, the plan is to run
// without proxy, and [Setting.Why] says so in a sentence that names the next step. An unknown way of logging in is such a case too:
// better no proxy than a credential sent to the wrong place.
//
// The base URL that a user has given the tool, by variable, flag or settings file, becomes the upstream: the tool still talks to
// that address, through the proxy.
//
// [Agent.Source] distinguishes profiles made by watching what the agent sends from those made by reading its documentation. [Generic]
// is for programs nobody knows: it sets the variables of the common client libraries.
//
// # Files and bounds
//
// Settings files of the tools are read (at most 1 MiB each, and 16 MiB of those in which a tool keeps its state; at most 256 of
// them), never written. One that cannot be understood is passed over with a note, except where guessing wrong would send a
// credential to another host; then there is no proxy.
//
// # Concurrency and tests
//
// Agents are values without state; all functions may be called by any number of goroutines and change nothing but their results.
// Tests are tables, one row for each way of logging in; whatever parses a file is fuzzed. The end-to-end tests start the real tools
// with these plans and compare what arrives at the provider.
package profile
