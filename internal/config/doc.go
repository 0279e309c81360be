// Package config finds, reads, checks and merges Plimsoll's configuration.
//
// A value comes from the last of these that gives one: the built-in default, the built-in
// profile of the tool (claude, codex, gemini, …), the user's file, the project's
// .plimsoll.toml, the environment, a flag. Within one source the tool's own table,
// [tools.NAME], wins over the general [resources]. Every value remembers its [Source].
// Servers, instances of Argo CD and agents have tables of their own, resolved by
// [Loaded.Servers], [Loaded.ArgoCD] and [Loaded.Agents].
//
//	cfg, err := config.Load(config.Options{})  // an *Error lists all that is wrong, with file:line:column
//	match := cfg.Tool(os.Args[1:])             // npx @openai/codex → tool "codex"
//	s, err := cfg.For(match.Tool)              // every value typed, every default filled in
//	s.MemoryMax, s.Source("memory_max")
//
// # What to expect
//
// Reading is strict: an unknown key, a wrong type, a size like 4GG, a number out of range
// and one value written twice under two names are errors, all reported at once, each with
// its place and a way to repair it. There is one list of keys (schema.go); checking, the
// file that [WriteInit] writes, [Loaded.Explain], the nearest-key suggestions, the names of
// environment variables and docs/configuration.md are all made from it.
//
// A project file may come with a cloned repository, so it can make things stricter and set
// estimates, but never weaken what protects the machine: such a value is ignored with a
// warning (docs/configuration.md names the rule of every key).
//
// Merging is one map from key to value and source. koanf was tried on paper and left out:
// it merges plain values and forgets the position each came from, which is what error
// messages and Explain are made of; what remained for it was one map assignment.
//
// # Concurrency
//
// A [Loaded] is never changed after Load; all its methods are safe for concurrent use.
// [Dirs] is a value and creates nothing until an Ensure method is called.
//
// # How it is tested
//
// Everything from outside is injected (environment, working directory, number of CPUs), so
// tests need no global state. Two fuzz targets hold that no file and no command panics, that
// every problem of a file names its line, and that a tool's name is safe as a file name.
package config
