// Package config finds, reads, checks and merges Plimsoll's configuration.
//
//	cfg, err := config.Load(config.Options{})  // an *Error lists all that is wrong, with file:line:column
//	match := cfg.Tool(os.Args[1:])             // npx @openai/codex → tool "codex"
//	s, err := cfg.For(match.Tool)              // every value typed, every default filled in
//
// A value comes from the last of these that gives one: the built-in default, the profile of the tool, the user's file, the project's
// .plimsoll.toml, the environment, a flag; within one of them [tools.NAME] wins. Every value remembers its [Source]. Reading is strict: what
// is wrong is reported all at once, each with its place and a way to repair it. Checking, the file that [Create] writes, [Loaded.Explain],
// flags, variables and docs/configuration.md are all made from one list of keys ([Key]).
//
// A project file may come with a cloned repository: it can make things stricter, but never weaken what protects the machine. Such a value
// is ignored with a warning. A [Loaded] is never changed after Load and safe for concurrent use; everything from outside is injected.
package config
