package top

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

// most bounds the lines of one section on the page of a run.
const most = 12

// pageLines returns the page of one run, as it was known at a time, in lines of at most width cells.
func pageLines(r *runs.Run, row *Row, at time.Time, width int, p painter) []string {
	width = max(width, 40)
	var lines []string
	add := func(format string, a ...any) { lines = append(lines, fit(fmt.Sprintf(format, a...), width)) }
	title := func(text string) { lines = append(lines, "", p.bold(text)) }

	add("%s in %s, run %s (%s), pid %d", printable.Name(row.Tool), printable.Name(row.Project), printable.Name(row.ID), printable.Name(row.Kind), row.PID)
	state := runs.StateWords(row.State)
	if !row.StateSince.IsZero() {
		state += " since " + row.StateSince.Local().Format("15:04:05")
	}
	if row.Reason != "" {
		state += ": " + row.Reason
	}
	add("%s", printable.Name(state))
	add("began %s, %s %s", row.Started.Local().Format("2006-01-02 15:04:05"), map[bool]string{true: "for", false: "took"}[row.Live()],
		shortTime(time.Duration(map[bool]int64{true: row.AgeMS, false: row.DurationMS}[row.Live()])*time.Millisecond))
	if command := strings.Join(r.Report.Command, " "); command != "" {
		add("%s", printable.Name(limit.ShortRunes(command, 4*width)))
	}
	if r.Newer {
		add("written by a newer plimsoll: not all of it is known here")
	}
	if r.Dropped > 0 || r.Damaged > 0 {
		add("%d lines found no room in its file, %d could not be read", r.Dropped, r.Damaged)
	}

	title("memory")
	add("now %s, peak %s, limit %s, reserved %s; cpu %s; %s", sizeOr(row.MemoryBytes, row.Live()), size(row.PeakBytes),
		sizeOr(row.LimitBytes, row.LimitBytes > 0), size(row.ReservationBytes), percent(row), limit.Count(row.Processes, "process"))
	memory, processor := series(r, at)
	if text := spark(memory, float64(cmp.Or(row.LimitBytes, row.PeakBytes)), width-2); text != "" {
		add("  %s", text)
		add("  cpu")
		add("  %s", spark(processor, max(100, highest(processor)), width-2))
	}
	if a := r.Admission; a != nil && a.AvailableBytes > 0 {
		add("admitted with %s: %s available, %s set aside by others, %s kept", size(a.ReservationBytes), size(a.AvailableBytes), size(a.ClaimedBytes), size(a.MinFreeBytes))
	}

	var tokens []float64
	var window int64
	for _, c := range r.Context {
		if !c.Time.After(at) {
			tokens, window = append(tokens, float64(c.Tokens)), max(window, c.Limit)
		}
	}
	if len(tokens) > 0 || row.WindowTokens > 0 {
		title("window")
		add("%s of %s tokens, %d requests, %s in, %s out; model %s", limit.Tokens(row.WindowTokens), limit.Tokens(row.WindowLimit),
			r.Requests(), limit.Tokens(r.Window.TokensIn), limit.Tokens(r.Window.TokensOut), printable.Name(cmp.Or(r.Model, "-")))
		if n := r.Window.Stalled; n > 0 {
			add("answers that stood still and were ended, so that the client tries again: %d", n)
		}
		if n := r.Window.Loops; n > 0 {
			add("repeated itself %s, the last time: %s", limit.Count(n, "time"), printable.Name(r.Window.Loop))
		}
		spent := *row
		if !row.Live() {
			spent.Spent = runs.SpendLimits(r.Report.Limits)
		}
		if words := spent.spentWords(); words != "" {
			add("%s", words)
		}
		if row.maySpendNoMore() {
			add("its requests are refused: + lets it spend half as much again")
		}
		if text := spark(tokens, float64(max(window, 1)), width-2); text != "" {
			add("  %s", text)
		}
	}
	if r.Window.NoProxy != "" {
		title("window")
		add("no proxy, because %s", printable.Name(r.Window.NoProxy))
	}
	if e := row.Editor; e.Requests > 0 {
		title(fmt.Sprintf("sessions of an editor (%d)", e.Open))
		for _, line := range watch.SessionLines(e, at) {
			add("  %s", printable.Name(line))
		}
	}
	if n := len(r.Compactions); n > 0 {
		title("shortened (" + limit.Count(n, "time") + ")")
		for _, c := range r.Compactions[max(0, n-most):] {
			add("  %s  %s to %s tokens by %s, %s cut (%s)", c.Time.Local().Format("15:04:05"), limit.Tokens(c.Before), limit.Tokens(c.After),
				printable.Name(strings.Join(c.Rungs, ", ")), size(c.CutBytes), printable.Name(c.Why()))
		}
	}
	if n := len(r.Kills); n > 0 {
		title(fmt.Sprintf("kills (%d)", n))
		for _, k := range r.Kills[max(0, n-most):] {
			text := fmt.Sprintf("  %s  %s", k.Time.Local().Format("15:04:05"), printable.Name(k.Name))
			if k.PID > 0 {
				text += fmt.Sprintf(" (pid %d)", k.PID)
			}
			if k.Bytes > 0 {
				text += " at " + size(k.Bytes)
			}
			text += ", by " + printable.Name(k.By)
			if k.What != "" {
				text += ": " + printable.Name(k.What)
			}
			lines = append(lines, p.red(fit(text, width)))
		}
	}
	if len(r.Largest) > 0 {
		title("largest results")
		for _, l := range r.Largest[:min(len(r.Largest), most)] {
			name := cmp.Or(l.Tool, l.Method)
			if l.Server != "" {
				name = l.Server + "/" + name
			}
			kept := ""
			if l.Spilled {
				kept = ", the rest kept for paging"
			}
			add("  %s  %s, %s handed on%s  %s", l.Time.Local().Format("15:04:05"), right(size(l.UpstreamBytes), 4), size(l.DeliveredBytes), kept, printable.Name(name))
		}
	}
	if n := row.DefinitionTokens; n > 0 {
		title("definitions of tools")
		text := "about " + limit.Tokens(int64(n)) + " tokens of each request"
		if row.WindowLimit > 0 {
			text += fmt.Sprintf(", %.0f %% of the window", 100*share(int64(n), row.WindowLimit))
		}
		if more := row.DeferredTools; more > 0 {
			text += fmt.Sprintf("; %d more are found by search", more)
		}
		add("%s", text)
	}
	if len(r.Tools) > 0 {
		title("tools by size")
		for _, t := range r.Tools[:min(len(r.Tools), most)] {
			name := t.Tool
			if t.Server != "" {
				name = t.Server + "/" + t.Tool
			}
			add("  %s in %s, largest %s  %s", right(size(t.UpstreamBytes), 4), limit.Count(t.Calls, "call"), size(t.MaxBytes), printable.Name(name))
		}
	}
	if len(row.Tree) > 0 {
		title(fmt.Sprintf("processes (%d)", len(row.Tree)))
		for i := range row.Tree {
			lines = append(lines, fit(processLine(&row.Tree[i]), width))
		}
	}
	return lines
}

// series returns the memory in bytes and the processor use in percent of each sample up to a time.
func series(r *runs.Run, at time.Time) (memory, processor []float64) {
	before := runs.Sample{}
	for _, s := range r.Samples {
		if s.AtMS > at.Sub(r.Started).Milliseconds() {
			break
		}
		memory = append(memory, float64(s.Memory()))
		used := 0.0
		if took := s.AtMS - before.AtMS; took > 0 {
			used = 100 * float64(s.CPUMS-before.CPUMS) / float64(took)
		}
		processor = append(processor, used)
		before = s
	}
	return memory, processor
}

func highest(values []float64) (high float64) {
	for _, v := range values {
		high = max(high, v)
	}
	return high
}

func percent(r *Row) string {
	if r.CPUPercent < 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", r.CPUPercent)
}
