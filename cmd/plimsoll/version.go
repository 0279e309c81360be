package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			commit, date, modified := checkout()
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

// version returns the module's version, or the commit of a build from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit, _, modified := checkout()
	switch {
	case commit == "":
		return "devel"
	case modified:
		return "devel-" + commit[:min(12, len(commit))] + "-dirty"
	}
	return "devel-" + commit[:min(12, len(commit))]
}

// checkout returns what the go command has stamped of the checkout that it built: the commit, its time (RFC 3339), and whether there
// were changes that are in no commit.
func checkout() (commit, date string, modified bool) {
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
