package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

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
