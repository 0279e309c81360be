// Command release makes what is published of the current commit:
//
//	go run ./internal/release build -out out/release    # archives, deb, rpm, container image, SHA256SUMS, SBOMs, manifests, notes
//	go run ./internal/release check out/release         # do sums, SBOMs and manifests agree with the binaries?
//	go run ./internal/release packages plimsoll         # deb, rpm and image of a program that is there, to try them
//	go run ./internal/release notes                     # the section of CHANGELOG.md for this version
//
// The version is the one that the go command stamps into the binary. A fresh checkout of the commit is built for six targets, without cgo,
// -trimpath and stripped. Two builds with the same Go, commit and tags are equal byte for byte: times are those of the commit, or
// SOURCE_DATE_EPOCH, and a setting of the go command that would end up in the binary (GOAMD64, GOEXPERIMENT, GOFLAGS) is an error. Debs, rpms
// and the image are made by a module of its own, internal/release/packages.
//
// That two builds are equal is tested with PLIMSOLL_TEST_RELEASE=1, which takes minutes.
package main
