// Package lab is a laboratory of tools that misbehave: for the demonstration, which shows
// what Plimsoll does about it, and for tests.
//
//	tools := lab.Tools(lab.Options{Hog: []string{os.Args[0], "lab-hog"}})
//	server, err := builtin.New(builtin.Options{Name: "lab", Tools: tools})
//
// There are
//
//   - flood: as many bytes of numbered lines as are asked for, as a stream;
//   - hang: nothing, until the call is taken back;
//   - build: memory, taken and touched in a child process, whose name is build;
//   - fail: an error, or a panic;
//   - count: one further with each call, as a job that is polled;
//   - echo: what it is given.
//
// The description of each says that it is of a laboratory.
//
// # The child
//
// The tool build starts Options.Hog with the number of MiB as one more argument. That program
// calls [Hog], which says on its standard output how far it is and ends when its standard
// input does: so it does not outlive whoever started it, whatever becomes of that. On Linux
// it asks to be the first that the kernel ends when memory is short. Where the child is
// killed the call's result is an error that names the limit, and how far it came.
//
// # Concurrency and memory
//
// Tools may be called by any goroutine. A flood holds 32 KiB, whatever its size, at most
// [MaxFlood]. build takes at most [MaxHog] in the child and nothing here, in at most
// [MaxChildren] children at one time. count remembers [MaxCounts] counts and forgets the
// one that was not asked for the longest.
//
// # How it is tested
//
// Through an MCP server (package builtin) and directly: floods are counted byte for byte,
// what hangs is taken back, real children take memory, are killed and lose their parent.
package lab
