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

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

const usage = `usage: release build [-out DIR] [-targets LIST]   build, pack and describe a release of the current commit
       release check DIR                          compare sums, SBOMs and manifests with the binaries
       release packages [-out DIR] [-version V] [-kinds LIST] PROGRAM...   deb, rpm and container image of programs for linux, with what is in the checkout now
       release notes [VERSION]                    the section of CHANGELOG.md for VERSION, else Unreleased
Run in the top folder of a checkout. go doc ./internal/release says more.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release: "+err.Error())
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	switch args[0] {
	case "build":
		flags := flag.NewFlagSet("release build", flag.ContinueOnError)
		o := options{}
		list := ""
		flags.StringVar(&o.out, "out", "out/release", "an empty or missing `folder`")
		flags.StringVar(&list, "targets", strings.Join(allTargets, ","), "systems and processors, with commas between")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		o.targets = strings.Split(list, ",")
		return build(ctx, o, out)
	case "packages":
		flags := flag.NewFlagSet("release packages", flag.ContinueOnError)
		dir := flags.String("out", "out/packages", "a `folder`")
		version := flags.String("version", "", "of the packages; without it that of the programs")
		kinds := flags.String("kinds", allKinds, "what is made, with commas between")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return tryPackages(ctx, *dir, *version, *kinds, flags.Args(), out)
	case "check":
		if len(args) != 2 {
			return errors.New("check takes one folder, as in: release check out/release")
		}
		return checkRelease(args[1], out)
	case "notes":
		version := ""
		if len(args) > 1 {
			version = args[1]
		}
		changes, err := os.ReadFile("CHANGELOG.md")
		if err != nil {
			return err
		}
		text, err := notes(changes, version)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, text)
		return err
	case "-h", "-help", "--help":
		_, err := io.WriteString(out, usage)
		return err
	}
	return fmt.Errorf("unknown command %q; release --help lists them", args[0])
}

// notes cuts the section of a version out of the changelog, without its heading; "" is what is not released yet.
func notes(changes []byte, version string) (string, error) {
	head := "Unreleased"
	if version = strings.TrimPrefix(version, "v"); version != "" {
		head = version
	}
	var out strings.Builder
	inside := false
	for line := range strings.Lines(string(changes)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(title), " ") // a date may follow
			inside = strings.TrimPrefix(name, "v") == head
			continue
		}
		if inside {
			out.WriteString(line)
		}
	}
	text := strings.TrimSpace(out.String())
	if text == "" {
		return "", fmt.Errorf("CHANGELOG.md has no section \"## %s\", or nothing in it; rename the heading Unreleased in the commit that is tagged", head)
	}
	return text + "\n", nil
}

// checkRelease makes SBOMs, checksums and manifests again from the archives of a folder, and returns an error if they differ from those that
// are there.
func checkRelease(dir string, say io.Writer) error {
	rows, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	summed, all := map[string][]byte{}, map[string][]byte{}
	for _, row := range rows {
		data, err := os.ReadFile(filepath.Join(dir, row.Name()))
		if err != nil {
			return err
		}
		all[row.Name()] = data
		switch row.Name() {
		case "SHA256SUMS", "NOTES.md", "plimsoll.rb", "plimsoll.json":
		default:
			summed[row.Name()] = data
		}
	}
	same := func(name string, want []byte) error {
		if got, there := all[name]; !there || !bytes.Equal(got, want) {
			return fmt.Errorf("%s is missing in %s or does not agree with the archives; build the release again", name, dir)
		}
		return nil
	}
	sums := sumsOf(summed)
	if err := same("SHA256SUMS", []byte(sums)); err != nil {
		return err
	}
	version, checked := "", 0
	for name, data := range summed {
		if !strings.HasSuffix(name, ".tar.gz") && !strings.HasSuffix(name, ".zip") {
			continue
		}
		raw, err := extractProgram(name, data)
		if err != nil {
			return err
		}
		b, err := inspect(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if b.archive() != name {
			return fmt.Errorf("%s holds the program of %s; build the release again", name, b.archive())
		}
		bill, err := sbom(b)
		if err != nil {
			return err
		}
		if err := same(b.name()+".cdx.json", bill); err != nil {
			return err
		}
		version = b.version()
		checked++
	}
	if checked == 0 {
		return fmt.Errorf("%s has no archive in it; build the release first", dir)
	}
	for name, text := range manifests(version, sums) {
		if err := same(name, text); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(say, "%d archives of version %s: sums, SBOMs and manifests agree\n", checked, version)
	return err
}
