package main

import (
	"fmt"
	"strings"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

// newManCommand prints the manual page. The library that draws the help has such a command,
// but breaks the description at its line ends and writes -n as --n.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the manual page: plimsoll man | man -l -",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := mango.NewManPage(1, cmd.Root())
			if err != nil {
				return err
			}
			what, _, _ := strings.Cut(cmd.Root().Long, "\n\n")
			page = page.WithLongDescription(strings.ReplaceAll(what, "\n", " ")+" plimsoll run -- claude").
				WithSection("Exit status", "That of the command; 128+N if signal N ended it; 125 if Plimsoll failed or refused, "+
					"126 if the command can't be executed, 127 if it is not there.").
				WithSection("Files", "~/.config/plimsoll/config.toml, and .plimsoll.toml in a project: plimsoll config init writes them with every key.")
			text := page.Build(roff.NewDocument())
			for _, c := range "nq" {
				text = strings.ReplaceAll(text, fmt.Sprintf(`\fB\-\-%c \-\-`, c), fmt.Sprintf(`\fB\-%c, \-\-`, c))
				text = strings.ReplaceAll(text, fmt.Sprintf(`\fB--%c --`, c), fmt.Sprintf(`\fB-%c, --`, c))
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
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
