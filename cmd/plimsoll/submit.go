package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/submit"
	"github.com/plimsoll/plimsoll/internal/config"
)

// newSubmitCommand returns the command submit, which has a run placed by a queue, Slurm or Kubernetes.
func newSubmitCommand() *cobra.Command {
	var o submit.Options
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "submit [flags] -- COMMAND [ARG...]",
		Short: "Have a run placed: in this host's queue, by Slurm or by Kubernetes",
		Long: `Hands a command to the engine that --on names, which places it on a machine and runs
plimsoll run -- COMMAND there, with the memory that earlier runs of it have shown to need.
plimsoll runs shows it from the queue, with the engine's own reason, to its report.

With --wait it behaves like the command: its output as it comes, and its exit status;
Ctrl-C cancels it, and once more leaves it. Without, it prints the job's name.

Of this environment nothing goes with it but what --env names; a job of this host has all.`,
		Example: `  plimsoll submit -- claude -p "fix the tests"
  plimsoll submit --on slurm --memory-max 8G --time-max 2h --wait -- make test
  plimsoll submit --on slurm --env ANTHROPIC_API_KEY -- claude -p "go on"
  plimsoll submit --on slurm --dry-run -- make test`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkWaitFlag(cmd.Flags(), args); err != nil {
				return errors.New("--wait takes no time here: with it submit stays until the job has ended; --time-max bounds the run")
			}
			// What is placed waits for its memory there.
			o.Command, o.Limits = args, append(runFlags(cmd.Flags()), config.Flag{Name: "--wait", Key: "wait", Value: "forever"})
			a, err := openApp(cmd, o.Limits)
			if err != nil {
				return err
			}
			if asJSON && o.Attended {
				return errors.New("--json and --wait do not go together: with --wait the output is the command's own")
			}
			plan, err := submit.Decide(a, o)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch {
			case dryRun && asJSON:
				return printJSON(out, plan)
			case dryRun:
				return printPlan(wrapped(plainWriter(out), os.Stdout), plan)
			}
			status, here, err := submit.Submit(cmd.Context(), a, plan, o, os.Stdout, os.Stderr) // the job's own bytes
			switch {
			case err != nil:
				return err
			case here:
				here := run.Options{Command: args, Tool: o.Tool, Stdout: out, Stderr: cmd.ErrOrStderr(), StderrIsTerminal: stderrIsTerminal(), Width: func() int { return screenColumns(os.Stderr) }}
				run.Run(cmd.Context(), a, here).Exit()
			case o.Attended && status != 0:
				return &exitError{status}
			case o.Attended:
			case asJSON:
				return printJSON(out, plan)
			default:
				_, err = fmt.Fprintf(out, "%s\n", plan.Name)
				fmt.Fprintf(plainWriter(cmd.ErrOrStderr()), "plimsoll: %s has it; what it is at: plimsoll runs %s; to end it: plimsoll cancel %[2]s\n", plan.Engine, plan.Name)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&o.On, "on", "", "who places it: "+strings.Join(submit.Names, ", ")+" (default: submit.on)")
	f.BoolVar(&o.Attended, "wait", false, "stay: print its output as it comes, and exit as it does")
	f.StringVar(&o.Name, "name", "", "the job's name; there is only one of a name (default: the tool's with letters behind it)")
	f.StringVar(&o.Tool, "tool", "", "count the command as this tool (default: by its name)")
	f.StringArrayVar(&o.Env, "env", nil, "a variable that goes with it, NAME or NAME=VALUE; may be repeated")
	f.StringVar(&o.Queue, "queue", "", "the engine's queue: a partition of Slurm, a queue of Kueue")
	f.StringVar(&o.Image, "image", "", "Kubernetes: the image with the command in it (default: submit.image)")
	f.StringVar(&o.Work, "work", "", "Kubernetes: what is in the work directory: archive, commit or claim:NAME (default: nothing)")
	f.StringArrayVar(&o.Secrets, "secret", nil, "Kubernetes: a Secret of the namespace, each key a variable; may be repeated")
	f.StringVar(&o.Priority, "priority", "", "Kubernetes: the name of a PriorityClass")
	f.IntVar(&o.Retries, "retry", 0, "how often the engine may start it again")
	f.BoolVarP(&dryRun, "dry-run", "n", false, "print what would be handed over, and hand nothing over")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	addLimitFlags(cmd, "wait")
	_ = cmd.RegisterFlagCompletionFunc("on", cobra.FixedCompletions(submit.Names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// printPlan writes what would be handed over.
func printPlan(out io.Writer, p *submit.Plan) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, form string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(form, args...)) }
	row("job", "%s, placed by %s", p.Name, p.Engine)
	row("command", "%s", app.Printable(strings.Join(p.Command, " ")))
	row("tool", "%s, project %s", p.Tool, app.Printable(p.Project))
	row("memory", "%s asked for (%s), %s at most", p.MemoryBytes.Human(), p.Because, p.LimitBytes.Human())
	if p.CPUs > 0 {
		row("cpus", "%g", p.CPUs)
	}
	if p.TimeMS > 0 {
		row("time", "%s", time.Duration(p.TimeMS)*time.Millisecond)
	}
	for name, n := range p.Slots {
		row("slots", "%d of %s", n, name)
	}
	row("variables", "%s", cmp.Or(strings.Join(p.Env, ", "), "none"))
	row("retries", "%d", p.Retries)
	row("would run", "%s", app.Printable(p.HandedOver))
	return w.Flush()
}

// newCancelCommand returns the command cancel, which ends a job that submit has handed over.
func newCancelCommand(open opener) *cobra.Command {
	return &cobra.Command{
		Use:     "cancel JOB",
		Short:   "End a job that plimsoll submit has handed over",
		Long:    "Has the engine end a job: one that waits is taken out of the queue, one that runs is asked to end and then killed.\nA run that nobody submitted is ended in plimsoll top, by the key e.",
		Example: "  plimsoll cancel claude-x3k9d2",
		Args:    oneArg("job", "plimsoll cancel claude-x3k9d2"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			was, err := submit.Cancel(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			words := "is being ended by " + was.Engine
			if was.Status.Phase.Over() {
				words = "had ended already"
			}
			_, err = fmt.Fprintf(plainWriter(cmd.OutOrStdout()), "%s %s\n", was.ID, words)
			return err
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			a, err := openApp(cmd, nil)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return submit.Living(a), cobra.ShellCompDirectiveNoFileComp
		},
	}
}
