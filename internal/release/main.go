package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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
		return packagesOf(ctx, *dir, *version, *kinds, flags.Args(), out)
	case "check":
		if len(args) != 2 {
			return errors.New("check takes one folder, as in: release check out/release")
		}
		return check(args[1], out)
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
