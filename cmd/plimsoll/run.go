package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/config"
)

// newRunCommand returns the command run, which runs a command inside its limits.
func newRunCommand() *cobra.Command {
	var o run.Options
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run an agent, or any command, inside its limits",
		Long: `Runs a command inside memory, swap and process limits, after checking that the machine
can carry it. The command's streams, terminal and signals are its own. The exit status is
the command's; 128+N if signal N ended it; 125 if Plimsoll failed or refused, 126 if the
command can't be executed, 127 if it is not there.

For agents it knows, Plimsoll puts a proxy before the model provider: it counts each
request, repairs what would be refused, and makes room when the context window is nearly
full. --dry-run says whether it would, and if not why.

Flags of Plimsoll stand before --. What follows is the command's own.`,
		Example: `  plimsoll run -- claude
  plimsoll run --memory-max 8G --wait -- npm test
  plimsoll run --dry-run -- codex`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Command = args
			o.Stdout, o.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if !o.JSON {
				o.Stdout = wrapped(o.Stdout, os.Stdout)
			}
			o.StderrIsTerminal, o.Width = stderrIsTerminal(), func() int { return screenColumns(os.Stderr) }
			if cmd.Flags().Changed("all") {
				return errors.New("--all goes with --help: plimsoll run --help --all")
			}
			if err := checkWaitFlag(cmd.Flags(), args); err != nil {
				return err
			}
			if cmd.Flags().Changed("proxy") && cmd.Flags().Changed("no-proxy") {
				return errors.New("--proxy and --no-proxy say the opposite; give one of them")
			}
			a, err := openApp(cmd, runFlags(cmd.Flags()))
			if err != nil {
				return err
			}
			if flag := lostFlag(args); flag != "" && cmd.ArgsLenAtDash() < 0 && !o.Quiet {
				fmt.Fprintf(plainWriter(o.Stderr), "plimsoll: %s stands behind the command and goes to it; for a limit of the run: plimsoll run %[1]s … -- %s\n", flag, args[0])
			}
			// The other commands, with all their flags, would be in memory as long as this one waits.
			cmd.Root().ResetCommands()
			run.Run(cmd.Context(), a, o).Exit()
			return nil
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	addAllFlag(cmd, "every flag")
	f.StringVar(&o.Tool, "tool", "", "count the command as this tool (default: by its name)")
	f.BoolVar(&o.Force, "force", false, "start even if the machine can't carry it")
	f.BoolVarP(&o.DryRun, "dry-run", "n", false, "print the decision and do not run")
	f.BoolVar(&o.JSON, "json", false, "with --dry-run: print JSON")
	f.StringVar(&o.ReportFile, "report", "", "write the run report as JSON to this file")
	f.Bool("proxy", false, "put the proxy in front of the model provider, also for a command that Plimsoll does not know")
	f.Bool("no-proxy", false, "leave the proxy out")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "no report at the end, no warnings")
	addLimitFlags(cmd, "")
	return cmd
}

// addLimitFlags adds a flag for each key of the configuration that has one, except the flag without.
func addLimitFlags(cmd *cobra.Command, without string) {
	f := cmd.Flags()
	for _, k := range config.Keys() {
		if k.Flag == "" || k.Flag == without {
			continue
		}
		f.String(k.Flag, "", k.Usage)
		f.Lookup(k.Flag).NoOptDefVal = k.Bare
		if k.Choices != nil {
			// The only error is a flag that does not exist.
			_ = cmd.RegisterFlagCompletionFunc(k.Flag, cobra.FixedCompletions(k.Choices, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// checkWaitFlag returns an error for "--wait 10m -- COMMAND", in which 10m would be taken for the command.
func checkWaitFlag(f *pflag.FlagSet, args []string) error {
	if !f.Changed("wait") || len(args) < 2 || args[1] != "--" {
		return nil
	}
	if _, err := time.ParseDuration(args[0]); err != nil {
		return nil
	}
	return fmt.Errorf("--wait %s: the time needs a = before it; write --wait=%s", args[0], args[0])
}

// choicesOf lists what shell completion offers for a key, from the key's own schema.
func choicesOf(key string) []cobra.Completion {
	for _, k := range config.Keys() {
		if k.ID() == key {
			return k.Choices
		}
	}
	return nil
}

// runFlags returns the configuration values that were given on the command line.
func runFlags(f *pflag.FlagSet) []config.Flag {
	var flags []config.Flag
	for _, k := range config.Keys() {
		if flag := f.Lookup(k.Flag); flag != nil && flag.Changed && flag.Value.Type() == "string" {
			flags = append(flags, config.Flag{Name: "--" + k.Flag, Key: k.ID(), Value: flag.Value.String()})
		}
	}
	for flag, value := range map[string]string{"proxy": "on", "no-proxy": "off"} {
		if on, err := f.GetBool(flag); err == nil && on {
			flags = append(flags, config.Flag{Name: "--" + flag, Key: "window.proxy", Value: value})
		}
	}
	return flags
}

// lostFlag returns the first argument after the command's name that is a flag of `plimsoll run`, such as --memory-max, and so stands at the
// wrong place; "" if there is none. Only names with "-max" at their end count, because other programs have flags of the others' names.
func lostFlag(args []string) string {
	for _, arg := range args[min(1, len(args)):] {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if strings.HasPrefix(arg, "--") && strings.HasSuffix(name, "-max") && slices.ContainsFunc(config.Keys(), func(k *config.Key) bool { return k.Flag == name }) {
			return "--" + name
		}
	}
	return ""
}
