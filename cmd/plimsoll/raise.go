package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/limit"
)

// newRaiseCommand returns the command raise, which gives a living run higher limits. With several it stops at the first that cannot be raised;
// those before it stay raised.
func newRaiseCommand(open opener) *cobra.Command {
	var asJSON bool
	o := raiseFlags{spent: map[string]*string{"tokens": new(string), "cost": new(string), "quota": new(string)}}
	cmd := &cobra.Command{
		Use:   "raise RUN --memory SIZE",
		Short: "Give a run that lives a higher limit",
		Long: `Give a run that lives a higher limit, of memory or of what it may spend, without a restart.

RUN is an id as plimsoll runs and plimsoll top show it, the beginning of one, the name of a tool of which one
run lives, or last: the newest that lives. Limits only grow. Memory grows only within what other runs have not
set aside; --force gives it all the same. What a program was told of its memory when it started it keeps: the
heap of a Node.js, say. In the layer rlimit the limit is each process's own and cannot grow. By itself a run grows
to twice its limit at most, where nobody has named one (memory_grow).

A run whose tokens_max, cost_max or quota_max is used up lives, and goes on in the same conversation once the
limit is raised: +5 gives it five more, 5 makes it five in all.`,
		Example: `  plimsoll raise claude --memory 6G
  plimsoll raise last --memory 6G
  plimsoll raise 4k2jq --memory 12G --force
  plimsoll raise claude --cost +5
  plimsoll raise claude --tokens +2M`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			raises, err := o.toRaises(cmd)
			if err != nil {
				return err
			}
			a, err := open(cmd)
			if err != nil {
				return err
			}
			for _, raise := range raises {
				r, err := run.Raise(cmd.Context(), a, args[0], raise)
				if err != nil {
					return err
				}
				if asJSON {
					if err := printJSON(cmd.OutOrStdout(), r); err != nil {
						return err
					}
					continue
				}
				if _, err := fmt.Fprintf(plainWriter(cmd.OutOrStdout()), "%s (%s) %s\n", r.ID, r.Tool, raisedWords(r)); err != nil {
					return err
				}
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			a, err := openApp(cmd, nil)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return run.LivingRuns(cmd.Context(), a), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&o.memory, "memory", "", "the new memory limit `SIZE`, as 6G")
	cmd.Flags().StringVar(o.spent["tokens"], "tokens", "", "the new limit of tokens, `N` in all or +N more, as +2M")
	cmd.Flags().StringVar(o.spent["cost"], "cost", "", "the new limit in US dollars, `N` in all or +N more, as +5")
	cmd.Flags().StringVar(o.spent["quota"], "quota", "", "the new part of a subscription's window, `P` as 80%")
	cmd.Flags().BoolVar(&o.force, "force", false, "also where other runs have set that memory aside")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("memory", cobra.NoFileCompletions)
	return cmd
}

// raiseFlags are those of plimsoll raise.
type raiseFlags struct {
	memory string
	force  bool
	// spent has the flags for what may be spent. Each is the name of its limit without _max.
	spent map[string]*string
}

// toRaises returns the limits that the flags ask for, memory first. None is an error.
func (o *raiseFlags) toRaises(cmd *cobra.Command) (raises []run.RaiseOptions, err error) {
	if o.memory != "" {
		to, err := limit.ParseBytes(o.memory)
		if err != nil {
			return nil, fmt.Errorf("--memory: %w", err)
		}
		raises = append(raises, run.RaiseOptions{Memory: to, Force: o.force})
	}
	for _, flag := range slices.Sorted(maps.Keys(o.spent)) {
		if !cmd.Flags().Changed(flag) {
			continue
		}
		r, err := parseRaise(flag, *o.spent[flag])
		if err != nil {
			return nil, err
		}
		raises = append(raises, r)
	}
	if len(raises) == 0 {
		return nil, errors.New("--memory says how much the run may have in all, --cost or --tokens what more it may spend: --memory 6G, --cost +5")
	}
	return raises, nil
}

// raisedWords says what a run may use now.
func raisedWords(r run.Raised) string {
	words := r.Words
	if words == "" {
		words = fmt.Sprintf("may use %s, before it was %s", r.ToBytes.Human(), r.FromBytes.Human())
	}
	if r.Note != "" {
		words += "; " + r.Note
	}
	return words
}

// parseRaise reads "+5", five more, or "5", five in all, of the limit that a flag is for, in the form that the limit has in the configuration.
func parseRaise(flag, text string) (run.RaiseOptions, error) {
	r := run.RaiseOptions{Limit: flag + "_max"}
	number, more := strings.CutPrefix(strings.TrimSpace(text), "+")
	v, err := config.ParseNumber(r.Limit, strings.TrimPrefix(number, "$"))
	if err != nil {
		example := map[string]string{"tokens": "+2M", "cost": "+5", "quota": "80%"}[flag]
		return r, fmt.Errorf("--%s %s is no limit: write --%[1]s %[3]s", flag, app.Printable(text), example)
	}
	if r.To = v; more {
		r.By, r.To = v, 0
	}
	return r, nil
}
