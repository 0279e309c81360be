package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
)

// opener loads the configuration for a command that needs it; version and completion do not, and work with a broken one.
type opener func(cmd *cobra.Command) (*core.Core, error)

// exitFailed is Plimsoll's own failure, kept apart from every status of a command.
const exitFailed = 125

// exitError ends the program with a status without a message: what there is to say has been said.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// newRootCommand returns the root command with its subcommands. args are the arguments of this process, nil for all subcommands. If args begins
// with run, only that command is made: the others, with all their flags, are a tenth of the memory that a supervisor takes until it waits.
func newRootCommand(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "plimsoll",
		Short: "Runs any AI agent and keeps it inside its limits",
		Long: `Plimsoll runs any AI agent and keeps it inside its limits: memory, swap and processes,
held by the kernel where it can, and the context window of its model, by a proxy. The
agent needs no change:

  plimsoll run -- claude`,
		Example: `  plimsoll run -- claude
  plimsoll run --memory-max 8G -- npm test
  plimsoll doctor`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	addAllFlag(root, "every command")
	root.Version = version()
	root.SetOut(plainWriter(os.Stdout))
	root.SetErr(plainWriter(os.Stderr))
	root.SetHelpFunc(showHelp)
	root.SetFlagErrorFunc(flagError)
	if len(args) > 0 && args[0] == "run" {
		root.CompletionOptions.DisableDefaultCmd = true
		root.AddCommand(newRunCommand())
		return root
	}
	open := func(cmd *cobra.Command) (*core.Core, error) {
		a, err := openApp(cmd, nil)
		if err == nil {
			for _, w := range a.Config.Warnings {
				fmt.Fprintln(plainWriter(cmd.ErrOrStderr()), "plimsoll: "+w.String())
			}
		}
		return a, err
	}
	root.AddCommand(
		newRunCommand(),
		newSubmitCommand(),
		newCancelCommand(orDefaults(open)),
		newRecommendCommand(open),
		newDemoCommand(),
		newAskCommand(),
		newChatCommand(),
		newAgentCommand(),
		newServeCommand(),
		newMCPCommand(),
		newDoctorCommand(orDefaults(open)),
		newStatsCommand(open),
		newTopCommand(orDefaults(open)),
		newRaiseCommand(orDefaults(open)),
		newRunsCommand(orDefaults(open)),
		newSpendCommand(orDefaults(open)),
		newStatusCommand(),
		newWatchCommand(),
		newMetricsCommand(open),
		newMemoryCommand(orDefaults(open)),
		newModelsCommand(orDefaults(open)),
		newGCCommand(orDefaults(open)),
		newConfigCommand(open),
		newVersionCommand(),
		newUpgradeCommand(),
		newHealthCommand(),
		newCopyToCommand(),
		newSetupCommand(),
		newShellenvCommand(),
		newManCommand(),
	)
	addCompletion(root)
	return root
}

// orDefaults returns an opener for a command that finds out what is wrong. If the configuration has mistakes, it prints them and opens the
// App with the defaults.
func orDefaults(open opener) opener {
	return func(cmd *cobra.Command) (*core.Core, error) {
		a, err := open(cmd)
		mistakes, ok := errors.AsType[*config.Error](err)
		if !ok {
			return a, err
		}
		fmt.Fprintln(plainWriter(cmd.ErrOrStderr()), "plimsoll: the configuration has mistakes, this goes by the defaults:\n"+mistakes.Error())
		return core.New(core.Options{Environ: withoutConfiguration(os.Environ()), Dir: string(os.PathSeparator)})
	}
}

// withoutConfiguration returns environ without the user's file and the variables that set keys. The variables that name the directories of
// state stay, because the runs to be shown are there.
func withoutConfiguration(environ []string) []string {
	kept := []string{"PLIMSOLL_CONFIG=" + os.DevNull}
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "PLIMSOLL_") || strings.HasSuffix(name, "_DIR") || name == "PLIMSOLL_RUN_ID" {
			kept = append(kept, e)
		}
	}
	return kept
}

// openApp loads the configuration with the given flag values.
func openApp(cmd *cobra.Command, flags []config.Flag) (*core.Core, error) {
	errs := cmd.ErrOrStderr()
	return core.New(core.Options{
		Flags: flags,
		Warn:  func(text string) { fmt.Fprintln(wrapped(plainWriter(errs), os.Stderr), "plimsoll: "+text) },
	})
}

// showError writes an error for a person, with a hint at the usage after a mistyped command line. It writes nothing for an *exitError, whose
// message was written already.
func showError(w io.Writer, err error) {
	if _, silent := errors.AsType[*exitError](err); silent {
		return
	}
	w = wrapped(plainWriter(w), os.Stderr)
	text := err.Error()
	if e, ok := errors.AsType[*config.Error](err); ok {
		if text = e.Error(); len(e.Problems) != 1 || e.Problems[0].Where.Origin != config.OriginFlag { // the mistake is not in what was typed
			text = "the configuration has mistakes, nothing was done:\n" + text
		}
	}
	fmt.Fprintln(w, "plimsoll: "+strings.Join(app.ErrorLines(err, text), "\nplimsoll: "))
	if rest, ok := strings.CutPrefix(text, "unknown command "); ok {
		// The text goes on with the command and, in quotes, with what it was looked for in.
		of := "plimsoll"
		if _, after, ok := strings.Cut(rest, ` for "plimsoll `); ok {
			name, _, _ := strings.Cut(after, `"`)
			of += " " + name
		}
		fmt.Fprintln(w, "Try: "+of+" --help")
	}
}

// flagError adds to an error about flags how to list the flags of c, and the flag that begins like an unknown one.
func flagError(c *cobra.Command, err error) error {
	next := "Try: " + c.CommandPath() + " --help"
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := missing.GetSpecifiedName()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if len(name) > 2 && (strings.HasPrefix(f.Name, name) || strings.HasPrefix(name, f.Name)) {
				next = "Did you mean --" + f.Name + "? " + next
			}
		})
	}
	return fmt.Errorf("%w\n%s", err, next)
}

// oneArg returns a check that there is exactly one argument, whose error shows an example. what is the name of the argument.
func oneArg(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%s takes one %s, not %d; write it as in: %s", cmd.Name(), what, len(args), example)
	}
}

// exitCode returns the exit status for an error: 0 for nil, that of an *exitError, else exitFailed.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitFailed
}

func stderrIsTerminal() bool { return term.IsTerminal(int(os.Stderr.Fd())) }
