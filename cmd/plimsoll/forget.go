package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/limit"
)

// forgetting are the flags of `stats --forget`.
type forgetting struct {
	tool        string
	yes, dryRun bool
}

// run removes a tool's history, after asking a person. Nobody else is asked: a script says --yes.
func (f forgetting) run(cmd *cobra.Command, a *core.Core, o app.StatsOptions, asJSON bool) error {
	list, err := app.Forgettable(cmd.Context(), a, o)
	if err != nil {
		return err
	}
	if len(list) > 0 && !f.dryRun {
		if !f.yes {
			if !term.IsTerminal(int(os.Stdin.Fd())) || !stderrIsTerminal() {
				return fmt.Errorf("what is kept of %s would be removed in %s; nobody is here to be asked: --yes removes it, --dry-run lists it", f.tool, limit.Count(len(list), "project"))
			}
			errs := plainWriter(cmd.ErrOrStderr())
			if err := printForgotten(errs, "would remove", f.tool, list); err != nil {
				return err
			}
			fmt.Fprint(errs, "plimsoll: remove that for good? [y/N] ")
			if !saysYes(cmd) {
				return errors.New("nothing was removed")
			}
		}
		if list, err = app.Forget(cmd.Context(), a, list); err != nil {
			return err
		}
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), list)
	}
	verb := "removed"
	if f.dryRun {
		verb = "would remove"
	}
	return printForgotten(plainWriter(cmd.OutOrStdout()), verb, f.tool, list)
}

func printForgotten(w io.Writer, verb, tool string, list []app.Forgotten) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "nothing is kept of %s; plimsoll stats --all lists what there is\n", app.Printable(tool))
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", verb, app.Printable(f.Tool), app.Printable(f.ProjectKey), limit.Count(f.Runs, "run"))
	}
	return t.Flush()
}
