// Command packages makes the deb, the rpm and the container image of programs that are built already. `go run ./internal/release` starts it:
//
//	packages -tree DIR -pages DIR -version 0.1.0 -time 2026-11-24T12:00:00Z -out DIR PROGRAM...
//
// PROGRAM is plimsoll for linux; what processor it is for stands in it. The tree is the checkout that licence, units, examples and
// changelog are taken from, the pages are what the program writes itself (man/plimsoll.1, completions/…). The same input gives the same bytes:
// all times are -time, all owners are root (in the image: of the user 65532 where that user writes), and nothing is read of the machine.
//
// It is a module of its own, because of what nfpm and go-containerregistry bring: neither the binary nor `go test ./...` compiles them, and
// the go.mod that every user of the Go packages reads does not list them.
package main
