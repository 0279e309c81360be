package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/upgrade"
)

// newVersionCommand returns the command version, which prints the version.
func newVersionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			commit, date, modified := buildCommit()
			v := struct {
				Version  string `json:"version"`
				Commit   string `json:"commit"`   // "" in a build that was not made in a checkout
				Date     string `json:"date"`     // of the commit
				Modified bool   `json:"modified"` // with changes that are in no commit
				Go       string `json:"go"`
				OS       string `json:"os"`
				Arch     string `json:"arch"`
			}{version(), commit, date, modified, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), v)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "plimsoll %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// version returns the module's version, or the commit of a build from a checkout, with a mark if files were changed; "devel" without a commit and
// "unknown" if the program tells nothing of its build.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit, _, modified := buildCommit()
	switch {
	case commit == "":
		return "devel"
	case modified:
		return "devel-" + commit[:min(12, len(commit))] + "-dirty"
	}
	return "devel-" + commit[:min(12, len(commit))]
}

// buildCommit returns what the go command has recorded of the checkout that it built: the commit, its time (RFC 3339), and whether there were
// changes that are in no commit. Without a record all are zero.
func buildCommit() (commit, date string, modified bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			date = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return commit, date, modified
}

// exitNewer is the status of plimsoll upgrade --check when a newer release is there.
const exitNewer = 10

// newUpgradeCommand returns the command upgrade, which only tells whether a newer release is there; without --check it is an error.
func newUpgradeCommand() *cobra.Command {
	var check, asJSON bool
	var from string
	cmd := &cobra.Command{
		Use:   "upgrade --check",
		Short: "Tell whether a newer release is there",
		Long: "Tell whether a newer release is there. Nothing is downloaded or replaced: that is for install.sh, or for what\n" +
			"installed plimsoll. One request without a token is sent, and only by this command.\n\n" +
			"The exit status is 0 if this is the newest release, 10 if there is a newer one, and 125 if it could not be found out.",
		Example: "  plimsoll upgrade --check\n  plimsoll upgrade --check --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !check {
				return errors.New("plimsoll does not replace itself; plimsoll upgrade --check tells whether a newer release is there, and install.sh installs it")
			}
			f, err := upgrade.Check(cmd.Context(), upgrade.Options{Version: version(), From: from})
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				err = printJSON(cmd.OutOrStdout(), f)
			case f.Newer:
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "plimsoll %s is there, this is %s. Install it as you installed this one. %s\n", f.Latest, f.Version, f.Page)
			default:
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "plimsoll %s is the newest (released: %s)\n", f.Version, f.Latest)
			}
			if err == nil && f.Newer {
				err = &exitError{exitNewer}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "ask for the newest release and compare")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&from, "from", "", "an `address` that answers as GitHub's releases API does")
	return cmd
}
