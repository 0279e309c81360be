package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/limit"
)

func newRaiseCommand(open opener) *cobra.Command {
	var (
		memory        string
		asJSON, force bool
	)
	cmd := &cobra.Command{
		Use:   "raise RUN --memory SIZE",
		Short: "Give a run that lives more memory",
		Long: `Give a run that lives a higher memory limit, without a restart.

RUN is an id as plimsoll runs and plimsoll top show it, the beginning of one, the name of a tool of which one
run lives, or last: the newest that lives. The limit only grows, and only within what other runs have not set aside; --force gives it all the
same. What a program was told of its memory when it started it keeps: the heap of a Node.js, say. In the layer
rlimit the limit is each process's own and cannot grow.

By itself a run grows to twice its limit at most, where nobody has named one (memory_grow).`,
		Example: `  plimsoll raise claude --memory 6G
  plimsoll raise last --memory 6G
  plimsoll raise 4k2jq --memory 12G --force`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if memory == "" {
				return errors.New("--memory says how much the run may have in all: --memory 6G")
			}
			to, err := limit.ParseBytes(memory)
			if err != nil {
				return fmt.Errorf("--memory: %w", err)
			}
			a, err := open(cmd)
			if err != nil {
				return err
			}
			r, err := a.Raise(cmd.Context(), args[0], to, force)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			if r.Note != "" {
				r.Note = "; " + r.Note
			}
			_, err = fmt.Fprintf(plainWriter(cmd.OutOrStdout()), "%s (%s) may use %s, before it was %s%s\n", r.ID, r.Tool, r.ToBytes.Human(), r.FromBytes.Human(), r.Note)
			return err
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			a, err := openApp(cmd, nil)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.LivingRuns(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&memory, "memory", "", "the new memory limit `SIZE`, as 6G")
	cmd.Flags().BoolVar(&force, "force", false, "also where other runs have set that memory aside")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("memory", cobra.NoFileCompletions)
	return cmd
}
