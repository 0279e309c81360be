// Command release makes what is published of the current commit:
//
//	go run ./internal/release build -out out/release    # archives, deb, rpm, container image, SHA256SUMS, SBOMs, manifests, notes
//	go run ./internal/release check out/release         # do sums, SBOMs and manifests agree with the binaries?
//	go run ./internal/release packages plimsoll         # deb, rpm and image of a program that is there, to try them
//	go run ./internal/release notes                     # the section of CHANGELOG.md for this version
//
// The version is the one that the go command stamps into the binary (https://go.dev/doc/go1.24#go-command): the tag of the
// commit, else a pseudo-version. What is built is a fresh checkout of the commit. Six targets are built without cgo, with -trimpath and stripped; each archive (tar.gz, for
// Windows zip) has the binary, LICENSE, NOTICE, README.md, the manual page and shell completions, which the binary for the system of the
// build writes.
//
// Debs, rpms and the container image are made by a module of its own, internal/release/packages.
//
// # The same bytes everywhere
//
// With the same version of Go, the same commit and the same tags, two builds are equal byte for byte, whatever the folder, user,
// time zone and umask. Times in archives are those of the commit, or SOURCE_DATE_EPOCH (seconds since 1970); owners, modes and
// order are fixed. A setting of the go command that would end up in the binary (GOAMD64, GOEXPERIMENT, GOFLAGS) is an error.
//
// # Software bill of materials
//
// Beside each archive stands NAME.cdx.json, CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/), made of what the linker wrote
// into the binary, which `go version -m` prints too: modules that only build or test are in neither.
//
// # Tests
//
// Archives, manifests and install.sh are tested with a binary that is really built. That two builds are equal takes minutes with
// an empty build cache: the step cross of the gate asks for it by PLIMSOLL_TEST_RELEASE=1, and by night it compiles twice.
package main
