package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/limit"
)

// statusMemory is the heap, in bytes, from which the collector runs all the same. A glance at a file of 4 MiB takes 3 MiB.
const statusMemory = 64 << 20

// newStatusCommand returns the command status, which shows in a line what a run uses.
func newStatusCommand() *cobra.Command {
	var line, prompt, asJSON bool
	var colour string
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show at a glance what a run uses: for a status line or a prompt",
		Long: `Show what a run uses: its memory and limit, how full its context window is, how often it was shortened,
and what was killed. It is about the run that this process is in, else about the newest one of the
project of the working directory, or the one that is named as for plimsoll runs.

With --line it is one line: for the statusLine of Claude Code, whose JSON on standard input it takes, for tmux
and others. With --prompt it is a few characters, and nothing outside of a run: for a shell's prompt. Neither
reads the configuration.`,
		Example: `  plimsoll status
  plimsoll status --line --color always
  PS1='$(plimsoll status --prompt)\w \$ '`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			paint, err := painterFor(colour, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			// A collection would take a fifth of the time that this has, and it ends long before it needs one.
			debug.SetGCPercent(-1)
			debug.SetMemoryLimit(statusMemory)
			o := watch.GlanceOptions{Run: strings.Join(args, "")}
			if line {
				o.Client = readClient(cmd.InOrStdin())
			}
			s, err := watch.Look(o)
			out := plainWriter(cmd.OutOrStdout())
			switch {
			case err != nil && prompt: // a prompt is no place for it; plimsoll status tells
				return &exitError{exitFailed}
			case err != nil:
				return err
			case asJSON:
				return printJSON(cmd.OutOrStdout(), s)
			case prompt:
				if text := promptOf(s, paint); text != "" {
					_, err = fmt.Fprint(unwrapWriter(out), text+" ")
				}
				return err
			case line:
				_, err = fmt.Fprintln(unwrapWriter(out), lineOf(s, paint, time.Now()))
				return err
			}
			return printStatus(out, s, o.Run != "", time.Now())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&line, "line", false, "print one line")
	f.BoolVar(&prompt, "prompt", false, "print a few characters, nothing outside of a run")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&colour, "color", "auto", "colours of --line and --prompt: auto (on a terminal), always, never")
	cmd.MarkFlagsMutuallyExclusive("line", "prompt", "json")
	_ = cmd.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// readClient reads what a client writes to standard input; see [watch.ReadClient]. From a terminal or another device it reads nothing.
func readClient(in io.Reader) watch.Client {
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return watch.Client{}
		}
	}
	return watch.ReadClient(in)
}

// paint puts a text into the colour of how much of something is used, in percent.
type paint func(percent int64, text string) string

// Where a number stands out, in percent of its limit: where the alerts begin, too.
const (
	warnPercent     = 75
	criticalPercent = 90
)

// painterFor returns a function that colours a text by a percentage, yellow or red if that is high. when is auto, always or never.
func painterFor(when string, out io.Writer) (paint, error) {
	f, ok := unwrapWriter(out).(interface{ Fd() uintptr })
	on := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	switch when {
	case "auto":
	case "always":
		on = true
	case "never":
		on = false
	default:
		return nil, fmt.Errorf("--color %s: it is auto, always or never", app.Printable(when))
	}
	return func(percent int64, text string) string {
		switch {
		case !on || percent < warnPercent:
			return text
		case percent < criticalPercent:
			return "\x1b[33m" + text + "\x1b[0m"
		}
		return "\x1b[31m" + text + "\x1b[0m"
	}, nil
}

// lineOf returns the status on one line.
func lineOf(s watch.Glance, paint paint, now time.Time) string {
	var parts []string
	head := "plimsoll"
	if !s.Inside && s.Tool != "" {
		head += " " + app.Printable(s.Tool)
	}
	switch {
	case s.State == watch.NoRun:
		parts = append(parts, head+": no run here")
	case s.State == watch.Waiting:
		parts = append(parts, head+": "+app.Printable(cmp.Or(s.Reason, "waits")))
	case s.Ended != nil:
		text := head + ": " + app.Printable(s.State) + " " + formatDuration(now.Sub(*s.Ended)) + " ago"
		if s.PeakBytes > 0 {
			text += ", peak " + formatUsed(s.PeakBytes, s.LimitBytes)
		}
		parts = append(parts, paint(badEndPercent(s), text))
	default:
		parts = append(parts, head+": "+paint(percent(s.MemoryBytes, s.LimitBytes), formatUsed(s.MemoryBytes, s.LimitBytes)))
	}
	if words := stateWords(s, now); words != "" {
		parts = append(parts, words)
	}
	if s.State == watch.Running && s.Reason != "" {
		parts = append(parts, app.Printable(s.Reason))
	}
	if s.WindowTokens > 0 {
		parts = append(parts, paint(percent(s.WindowTokens, s.WindowLimit), windowOf(s)))
	}
	for _, l := range s.Spent {
		parts = append(parts, paint(percent(l.Used, l.Hard), watch.SpentWords(l)))
	}
	if s.Compactions > 0 {
		parts = append(parts, "shortened "+limit.Count(s.Compactions, "time"))
	}
	if s.Kills > 0 {
		parts = append(parts, paint(100, limit.Count(s.Kills, "kill")))
	}
	return strings.Join(parts, " · ")
}

// stateWords says that a run waits for its user or is idle, and for how long; "" for others.
func stateWords(s watch.Glance, now time.Time) string {
	if s.State != watch.YourTurn && s.State != watch.Idle {
		return ""
	}
	return watch.StateWords(s.State) + " for " + formatDuration(now.Sub(s.StateSince))
}

// badEndPercent returns criticalPercent, so that the end stands out, and 0 for ok, failed and signalled.
func badEndPercent(s watch.Glance) int64 {
	if s.State == "ok" || s.State == "failed" || s.State == "signalled" {
		return 0
	}
	return criticalPercent
}

// promptOf returns the status in a few characters, as in "[1.2G/4G 61% †1]"; "" outside of a run.
func promptOf(s watch.Glance, paint paint) string {
	if !s.Inside {
		return ""
	}
	memory := formatUsed(s.MemoryBytes, s.LimitBytes)
	memory = strings.NewReplacer(" of ", "/", "iB", "", " ", "").Replace(memory)
	text := "[" + paint(percent(s.MemoryBytes, s.LimitBytes), memory)
	if s.WindowLimit > 0 {
		p := percent(s.WindowTokens, s.WindowLimit)
		text += " " + paint(p, fmt.Sprintf("%d%%", p))
	}
	if s.Kills > 0 {
		text += " " + paint(100, fmt.Sprintf("†%d", s.Kills))
	}
	return text + "]"
}

// printStatus writes a line for each part of the status. named says that the run was asked for by its name.
func printStatus(out io.Writer, s watch.Glance, named bool, now time.Time) error {
	if s.State == watch.NoRun {
		_, err := fmt.Fprintf(out, "No run in project %s. One begins with: plimsoll run -- claude\n", app.Printable(s.Project))
		return err
	}
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "%-12s %s\n", name, text) }
	which := ", the newest in this project"
	switch {
	case named:
		which = " in " + app.Printable(s.Project)
	case s.Inside:
		which = ", the one that this is in"
	}
	row("run", strings.TrimSpace(s.ID+" "+app.Printable(s.Tool))+which)
	state := cmp.Or(stateWords(s, now), s.State)
	if s.Reason != "" {
		state += ": " + app.Printable(s.Reason)
	}
	if s.Ended != nil {
		state += ", " + formatDuration(now.Sub(*s.Ended)) + " ago"
	}
	row("state", state)
	if s.Ended == nil {
		row("memory", formatUsed(s.MemoryBytes, s.LimitBytes))
	} else {
		row("peak", formatUsed(s.PeakBytes, s.LimitBytes))
	}
	if s.WindowTokens > 0 {
		row("window", strings.TrimPrefix(windowOf(s), "window "))
	}
	row("shortened", limit.Count(s.Compactions, "time"))
	row("kills", fmt.Sprint(s.Kills))
	_, err := io.WriteString(out, b.String())
	return err
}

func formatUsed(bytes, most int64) string {
	if most <= 0 {
		return limit.Bytes(bytes).Human()
	}
	return limit.Bytes(bytes).Human() + " of " + limit.Bytes(most).Human()
}

func windowOf(s watch.Glance) string {
	if s.WindowLimit <= 0 {
		return "window " + shortTokens(s.WindowTokens)
	}
	return fmt.Sprintf("window %d %% of %s", percent(s.WindowTokens, s.WindowLimit), shortTokens(s.WindowLimit))
}

// shortTokens writes a number of tokens short, as 999, 12k (rounded down), 1.5M or 2M.
func shortTokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return strings.Replace(fmt.Sprintf("%.1fM", float64(n)/1e6), ".0M", "M", 1)
}

// percent returns n in percent of most, rounded down; 0 without a limit.
func percent(n, most int64) int64 {
	if most <= 0 {
		return 0
	}
	return int64(float64(n) / float64(most) * 100)
}

// formatDuration writes a time that has passed by its largest unit.
func formatDuration(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
