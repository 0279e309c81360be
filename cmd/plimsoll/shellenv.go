package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app/shellenv"
)

// newShellenvCommand returns the command shellenv, which prints the functions that a shell evaluates.
func newShellenvCommand() *cobra.Command {
	var o shellenv.Options
	cmd := &cobra.Command{
		Use:   "shellenv [AGENT...]",
		Short: `Let agents run in their limits by their name alone: eval "$(plimsoll shellenv)"`,
		Long: `Print what a shell evaluates so that the agents which are installed run in their limits without typing
more: claude becomes plimsoll run -- claude. Put it at the end of ~/.bashrc, ~/.zshrc or config.fish, or let
plimsoll setup do it.

It defines a function for each agent, in interactive shells only: scripts, and what an agent starts, find the
agents as they were. Arguments, exit status and Ctrl-Z are the agent's own. "command claude" goes around it once,
and --undo takes the functions out of the shell that is open.

With names of commands it is about those and not about the agents that Plimsoll knows.`,
		Example: `  eval "$(plimsoll shellenv)"
  eval "$(plimsoll shellenv claude my-agent)"
  plimsoll shellenv | source
  eval "$(plimsoll shellenv --undo)"`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return shellenv.Known(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Tools = args
			}
			text, err := shellenv.Script(o)
			if err != nil {
				return err
			}
			if _, err := io.WriteString(cmd.OutOrStdout(), text); err != nil {
				return err
			}
			if term.IsTerminal(int(os.Stdout.Fd())) { // somebody looks at it
				fmt.Fprintln(plainWriter(cmd.ErrOrStderr()), `plimsoll: this is for the shell to read: eval "$(plimsoll shellenv)", and in fish: plimsoll shellenv | source`)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Shell, "shell", "", "bash, zsh, fish or sh, also as dash, ksh and other POSIX shells (default: the one that asks)")
	f.BoolVar(&o.Undo, "undo", false, "print what removes the functions again")
	_ = cmd.RegisterFlagCompletionFunc("shell", cobra.FixedCompletions(shellenv.Shells(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// bashAlone lets the completion for bash work without the package bash-completion, where
// each Tab would print that _get_comp_words_by_ref is not found.
const bashAlone = `
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    __plimsoll_init_completion() {
        COMPREPLY=()
        words=("${COMP_WORDS[@]}")
        cword=$COMP_CWORD
        cur=${words[cword]}
        prev=${words[cword-1]}
    }
fi
`

// addCompletion adds cobra's completion command, with bashAlone for bash.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	bash, _, err := root.Find([]string{"completion", "bash"})
	if err != nil || bash.RunE == nil {
		return
	}
	script := bash.RunE
	bash.RunE = func(cmd *cobra.Command, args []string) error {
		if err := script(cmd, args); err != nil {
			return err
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), bashAlone)
		return err
	}
}
