// Package client knows how agent CLIs are pointed at the proxy: which variable or flag of
// each takes a base URL, what the tool does differently when it sees one and how that is
// undone, where its credential belongs, and whether it compacts by itself.
//
//	p, ok := client.For("codex")
//	s, err := p.Plan(client.Setup{
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
// # What to expect
//
// A base URL is not neutral: Claude Code sends other tools, Gemini CLI takes another kind
// of login, Codex stops asking for the list of models. A profile sets what is needed and
// nothing else, so that the first request is the one the tool would have sent without
// Plimsoll. Where that cannot be had, and where a login belongs to a host that the proxy
// does not stand in for, the plan is to run without proxy, and [Setting.Why] says so in a
// sentence that names the next step. An unknown way of logging in is such a case too:
// better no proxy than a credential sent to the wrong place.
//
// The base URL that a user has given the tool, by variable, flag or settings file, becomes
// the upstream: the tool still talks to that address, through the proxy.
//
// Profiles of Claude Code, Codex, Gemini CLI, opencode, Qwen Code and Copilot CLI were made
// by watching what the tools send; those of goose and aider by reading their
// documentation ([Profile.Source] tells which). The profile "generic" is for programs
// nobody knows: it sets the variables of the common client libraries.
//
// # Files and bounds
//
// Settings files of the tools are read (at most 1 MiB each, at most 64 of them), never
// written. One that cannot be understood is passed over with a note, except where guessing
// wrong would send a credential to another host; then there is no proxy.
//
// # Concurrency and tests
//
// Profiles are values without state; Plan may be called by any number of goroutines and
// changes nothing but its result. Tests are tables, one row for each way of logging in;
// whatever parses a file is fuzzed. The end-to-end tests start the real tools with these
// plans and compare what arrives at the provider.
package client
