// Command packages makes the deb, the rpm and the container image of programs that are built already. `go run ./internal/release`
// starts it:
//
//	packages -tree DIR -pages DIR -version 0.1.0 -time 2026-11-24T12:00:00Z -out DIR PROGRAM...
//
// PROGRAM is plimsoll for linux; what processor it is for stands in it. The tree is the checkout that licence, units, examples and
// changelog are taken from, the pages are what the program writes itself (man/plimsoll.1, completions/…).
//
// It is a module of its own, because of what nfpm and go-containerregistry bring: neither the binary, nor `go vet ./...`, nor `go test
// ./...` compiles them, and the go.mod that every user of the Go packages reads does not list them.
//
// # The same bytes everywhere
//
// All times are -time, all owners are root (in the image: of the user 65532 where that user writes), nothing is read of the machine, and
// the roots of certificate authorities come from a module that go.sum names (golang.org/x/crypto/x509roots).
//
// # Tests
//
// `go test ./...` in this folder makes each package twice and compares the bytes, and reads them back. lintian, dpkg, rpm, systemd, Docker
// and podman judge them in the tests of e2e.
package main
