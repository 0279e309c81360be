// Package archtest holds the rules of the house as tests, and nothing else.
//
// What is written only in a guide is forgotten; what a test says with its reason is
// kept, or changed on purpose. `go test ./internal/archtest` reads the import graph (with
// go list, for every system Plimsoll builds on), the files that git knows, and the gate
// in .ci, and fails when
//
//   - a package imports one it must not know (rules and reasons: imports_test.go);
//   - two packages share a name, or one has a name that says nothing;
//   - a package has no comment (in doc.go, if it may be imported), or a file has grown past 450 lines;
//   - the binary weighs more than its budget, or has a package in it that keeps the linker from removing what is not used
//     (weight_test.go);
//   - a fuzz target or a command of the README is not run by the gate, or the README is longer than a screen;
//   - a guide names a message that the program does not say;
//   - a tracked file names a path of one developer's machine, the host of a package
//     registry, or a private note.
//
// The tests read, and build the binary once. They need the go command and git. Each
// failure names the file, the rule and why the rule is there; to change a rule, change
// its row here in the same commit and say why in the message.
package archtest
