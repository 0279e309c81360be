package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/config"
)

// newConfigCommand returns the command config with the commands that write, show, explain and check the configuration.
func newConfigCommand(open opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Write, show, explain and check the configuration",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigInitCommand(), newConfigShowCommand(open), newConfigExplainCommand(open), newConfigCheckCommand())
	return cmd
}

// newConfigInitCommand returns the command config init, which opens no App: a broken file is a reason to write a fresh one.
func newConfigInitCommand() *cobra.Command {
	var force, project bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a file with every key, its default and what it does, all commented out",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := config.NewDirs(os.Getenv).ConfigFile()
			if project {
				file, err = filepath.Abs(config.ProjectFile)
			}
			if err != nil {
				return err
			}
			if err := config.Create(file, force); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), file)
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	cmd.Flags().BoolVar(&project, "project", false, "write "+config.ProjectFile+" in the working directory instead of your own file")
	return cmd
}

// newConfigShowCommand returns the command config show, which prints every value in force and its source.
func newConfigShowCommand(open opener) *cobra.Command {
	var asJSON bool
	var tool string
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show every value in force and where it comes from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			settings, err := a.Config.For(tool)
			if err != nil {
				return err
			}
			values, err := a.Config.Values(tool)
			if err != nil {
				return err
			}
			warnings := append(append([]config.Problem{}, a.Config.Warnings...), settings.Warnings...)
			if asJSON {
				settings.Warnings = nil
				return printJSON(cmd.OutOrStdout(), struct {
					Tool        string               `json:"tool"`
					UserFile    string               `json:"user_file"`
					ProjectFile string               `json:"project_file"`
					Settings    config.Settings      `json:"settings"`
					Values      []config.Explanation `json:"values"`
					Warnings    []config.Problem     `json:"warnings"`
				}{settings.Tool, a.Config.UserFile, a.Config.ProjectFile, settings, values, warnings})
			}
			var t table
			t.row("KEY", "VALUE", "FROM")
			for _, v := range values {
				t.row(v.Key, shownValue(v.Value), v.Source.String())
			}
			writeConfigWarnings(cmd.ErrOrStderr(), warnings)
			return t.writeWithin(plainWriter(cmd.OutOrStdout()), terminalWidth())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: sizes in bytes (null for auto), durations in milliseconds")
	cmd.Flags().StringVar(&tool, "tool", "", "show what is in force for this tool")
	return cmd
}

// newConfigExplainCommand returns the command config explain, which tells where one value comes from, or what a table holds.
func newConfigExplainCommand(open opener) *cobra.Command {
	var asJSON bool
	var tool string
	cmd := &cobra.Command{
		Use:   "explain KEY",
		Short: "Say where a value comes from and what it overrides, or what a whole table holds",
		Args:  oneArg("key", "plimsoll config explain memory_max"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, k := range config.Keys() {
				name := k.Name
				if strings.Contains(typed, ".") {
					name = k.Table + "." + k.Name
				}
				if len(args) == 0 && strings.HasPrefix(name, typed) {
					names = append(names, name+"\t"+k.Doc)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := open(cmd)
			if err != nil {
				return err
			}
			if t, ok, err := a.Config.ExplainTable(args[0], tool); err != nil || ok {
				return printTable(cmd, t, asJSON, err)
			}
			e, err := a.Config.Explain(args[0], tool)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), e)
			}
			width := terminalWidth()
			out := wrapWriter{plainWriter(cmd.OutOrStdout()), width}
			of := ""
			if e.Tool != "" {
				of = " for " + e.Tool
			}
			fmt.Fprintf(out, "%s = %s%s\n%s\n\n", e.Key, shownValue(e.Value), of, e.Doc)
			var t table
			t.row("in force", shownValue(e.Value), e.Source.String())
			for _, o := range e.Overridden {
				word := "overridden"
				if o.Ignored != "" {
					word = "ignored"
				}
				t.row(word, shownValue(o.Value), o.Source.String())
			}
			if err := t.writeWithin(out.w, width); err != nil {
				return err
			}
			for _, o := range e.Overridden {
				if o.Ignored != "" {
					fmt.Fprintf(out, "\n%s is ignored: %s.\n", o.Source, o.Ignored)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&tool, "tool", "", "explain the value for this tool")
	return cmd
}

// printTable prints what each key of a table does and the value in force.
func printTable(cmd *cobra.Command, t config.TableExplanation, asJSON bool, err error) error {
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), t)
	}
	out := wrapWriter{plainWriter(cmd.OutOrStdout()), terminalWidth()}
	fmt.Fprintf(out, "[%s]: %s\n", t.Table, t.Doc)
	if len(t.Near) > 0 {
		fmt.Fprintf(out, "The limits of a run are other keys: plimsoll config explain %s\n", strings.Join(t.Near, ", or "))
	}
	for _, e := range t.Keys {
		fmt.Fprintf(out, "\n%s = %s (%s)\n    %s\n", e.Key, shownValue(e.Value), e.Source, e.Doc)
	}
	_, err = fmt.Fprintf(out, "\nplimsoll config explain %s shows what one of them overrides\n", t.Keys[0].Key)
	return err
}

// newConfigCheckCommand returns the command config check, which opens no App, because that fails where a check is wanted most. Problems of the
// project file that are only warnings elsewhere end it with status 1.
func newConfigCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE...]",
		Short: "Check files, or without any all sources in force here",
		RunE: func(cmd *cobra.Command, args []string) error {
			out := wrapWriter{cmd.OutOrStdout(), terminalWidth()}
			if len(args) > 0 {
				if err := config.Check(args...); err != nil {
					return checkFailed(cmd.ErrOrStderr(), err)
				}
				for _, file := range args {
					fmt.Fprintf(out, "%s: ok\n", file)
				}
				return nil
			}
			loaded, err := config.Load(config.Options{})
			if err != nil {
				return checkFailed(cmd.ErrOrStderr(), err)
			}
			warnings := append([]config.Problem{}, loaded.Warnings...)
			seen, wrong := map[string]bool{}, len(loaded.ProjectProblems) > 0
			for _, tool := range append([]string{""}, loaded.Tools()...) {
				s, err := loaded.For(tool)
				if err != nil {
					return err
				}
				if p, ok := run.DistrustedEstimate(s); !ok {
					wrong = true
					s.Warnings = append(s.Warnings, p)
				}
				for _, p := range s.Warnings {
					if !seen[p.String()] {
						seen[p.String()] = true
						warnings = append(warnings, p)
					}
				}
			}
			writeConfigWarnings(cmd.ErrOrStderr(), warnings)
			for _, file := range []string{loaded.UserFile, loaded.ProjectFile} {
				if file != "" && (file != loaded.ProjectFile || !wrong) {
					fmt.Fprintf(out, "%s: ok\n", file)
				}
			}
			if wrong {
				return &exitError{1}
			}
			if s, err := loaded.For(""); err == nil {
				fmt.Fprintln(out, "memory: "+remember.Reach{}.Describe(s))
			}
			if loaded.UserFile == "" && loaded.ProjectFile == "" {
				fmt.Fprintln(out, "no configuration file; the built-in defaults count (plimsoll config init writes a file)")
			}
			return nil
		},
	}
}

// checkFailed prints the problems of a *config.Error as they are, one per line, and returns status 1: a check that finds something has not failed
// itself. Any other error is returned as it is, and nothing is printed.
func checkFailed(w io.Writer, err error) error {
	if _, ok := errors.AsType[*config.Error](err); !ok {
		return err
	}
	fmt.Fprintln(wrapped(plainWriter(w), os.Stderr), err)
	return &exitError{1}
}

// writeConfigWarnings writes a line for each warning, after "plimsoll: warning:".
func writeConfigWarnings(w io.Writer, warnings []config.Problem) {
	for _, p := range warnings {
		fmt.Fprintf(wrapped(plainWriter(w), os.Stderr), "plimsoll: warning: %s\n", p)
	}
}

// shownValue keeps an empty value visible in a listing.
func shownValue(v string) string {
	if v == "" {
		return `""`
	}
	return v
}
