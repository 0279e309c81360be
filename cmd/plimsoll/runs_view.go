package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/limit"
)

// sparkWidth is the number of letters in a line over time.
const sparkWidth = 40

// printRun writes a page about one run.
func printRun(out io.Writer, d watch.Details) error {
	var b strings.Builder
	r := d.Run
	fmt.Fprintf(&b, "%s in %s: %s", config.NameTool(r.Tool, r.Variant), r.Project, watch.StateWords(r.Condition()))
	if !r.StateSince.IsZero() {
		fmt.Fprintf(&b, " since %s", r.StateSince.Local().Format("15:04:05"))
	}
	if r.Reason != "" {
		fmt.Fprintf(&b, ", %s", r.Reason)
	}
	b.WriteString("\n")
	row := func(name, form string, args ...any) { fmt.Fprintf(&b, "  %-9s %s\n", name, fmt.Sprintf(form, args...)) }
	switch {
	case r.Engine != "" && r.Node != "":
		row("job", "%s, placed by %s on %s", r.ID, r.Engine, r.Node)
	case r.Engine != "":
		row("job", "%s, placed by %s", r.ID, r.Engine)
	default:
		row("run", "%s, %s, pid %d", r.ID, kindWords(r.Kind), r.PID)
	}
	if r.Job != "" && r.Job != r.ID {
		row("job", "%s", r.Job)
	}
	if r.Parent != "" {
		row("inside", "%s", r.Parent)
	}
	ended := ""
	if r.Ended != nil {
		ended = " to " + r.Ended.Local().Format("15:04:05")
	}
	row("time", "%s%s, %s", r.Started.Local().Format("2006-01-02 15:04:05"), ended, app.Took(r.Age()))
	if len(r.Report.Command) > 0 {
		row("command", "%s", limit.Short(strings.Join(r.Report.Command, " "), 400))
	}
	if r.Report.Layer != "" {
		e := r.Report.Enforcement
		row("held by", "%s: memory %s, swap %s, processes %s", r.Report.Layer, e.Memory, e.Swap, e.Pids)
	}
	admissionRows(row, r)
	if r.PeakBytes > 0 {
		row("memory", "%s", memoryLine(r))
	}
	if line := processesLine(r); line != "" {
		row("processes", "%s at its peak", line)
	}
	if r.Requests() > 0 {
		row("window", "%s", windowLine(r))
	} else if r.Window.NoProxy != "" {
		row("window", "no proxy, because %s", r.Window.NoProxy)
	}
	if d.Cost != nil {
		row("cost", "%s", limit.Dollars(*d.Cost))
	}
	if m := r.Report.MCP; m.Calls > 0 {
		row("tools", "%s, %s became %s; %d kept to be read in pages", limit.Count(m.Calls, "call"), limit.Bytes(m.UpstreamBytes).Human(), limit.Bytes(m.DeliveredBytes).Human(), m.Spilled)
	}
	if m := r.Report.MCP; m.DefinitionTokens > 0 {
		row("definitions", "about %d tokens of each request; %s found by search", m.DefinitionTokens, limit.Count(int64(m.Deferred), "more tool"))
	}
	if r.Editor.Requests > 0 {
		for i, line := range watch.SessionLines(r.Editor, r.Seen) {
			row(map[bool]string{true: "editor"}[i == 0], "%s", line)
		}
	}
	for _, w := range r.Report.Warnings {
		row("warned", "%s", limit.Short(w, 400))
	}
	if r.Newer {
		row("newer", "its file is of a newer plimsoll: what this one does not know is left out")
	}
	if r.Dropped > 0 || r.Damaged > 0 {
		row("missing", "%d events found no room (%s of a run's file are for them), %d cannot be read; the sums are whole", r.Dropped, watch.RunEventBytes.Human(), r.Damaged)
	}
	compactionTable(&b, r)
	toolTable(&b, r)
	killTable(&b, r)
	for _, next := range d.Next {
		row("next", "%s", next)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func kindWords(kind string) string {
	switch kind {
	case "run":
		return "a command"
	case "gateway":
		return "an MCP gateway"
	case "serve":
		return "a day of the daemon"
	case "ask":
		return "a question"
	case "chat":
		return "a conversation"
	}
	return kind
}

// admissionRows writes why the run got its memory, or why not.
func admissionRows(row func(string, string, ...any), r *watch.Run) {
	if r.Report.Estimate.Bytes > 0 {
		e := r.Report.Estimate
		row("estimate", "%s, %s", limit.Bytes(e.Bytes).Human(), run.EstimateWords(e))
	}
	switch a := r.Admission; {
	case r.Refusal != "":
		row("refused", "%s", strings.ReplaceAll(r.Refusal, "\n", "\n            "))
	case a != nil && a.Nested:
		row("admitted", "inside another run, on its reservation")
	case a != nil && a.AvailableBytes > 0:
		text := fmt.Sprintf("%s reserved; the host had %s, other runs had claimed %s of it, %s stays free", limit.Bytes(a.ReservationBytes).Human(),
			limit.Bytes(a.AvailableBytes).Human(), limit.Bytes(a.ClaimedBytes).Human(), limit.Bytes(a.MinFreeBytes).Human())
		if a.Waited >= time.Second {
			text += ", after waiting " + app.Took(a.Waited)
		}
		if a.Forced {
			text += "; by --force"
		}
		row("admitted", "%s", text)
	case a != nil:
		row("admitted", "%s reserved; the host's memory could not be read", limit.Bytes(a.ReservationBytes).Human())
	}
}

// memoryLine returns the peak of the memory with its limit, over time, and while the run lives what it takes now.
func memoryLine(r *watch.Run) string {
	text := limit.Bytes(r.PeakBytes).Human() + " peak"
	if r.LimitBytes > 0 {
		text += fmt.Sprintf(" of %s (%.0f %%)", limit.Bytes(r.LimitBytes).Human(), 100*float64(r.PeakBytes)/float64(r.LimitBytes))
	}
	if line := watch.Sparkline(r.MemorySeries(sparkWidth), 0); line != "" {
		text = line + "  " + text
	}
	if now := r.NewestSample(); r.Ended == nil && now.Working > 0 {
		text += ", now " + limit.Bytes(max(now.Working, now.Charged)).Human()
	}
	return text
}

// processesLine tells which processes held the memory when there was most of it; "" for a single one, or if that is not known.
func processesLine(r *watch.Run) string {
	if r.ByProcess == nil {
		return ""
	}
	held := r.ByProcess.AtPeak()
	if len(held) < 2 {
		return ""
	}
	parts := make([]string, len(held))
	for i, h := range held {
		parts[i] = cmp.Or(h.Name, "other processes") + " " + limit.Bytes(h.Bytes).Human()
	}
	return strings.Join(parts, ", ")
}

// windowLine returns the peak of the window with its limit, over time, the requests and the model.
func windowLine(r *watch.Run) string {
	tokens, most := r.PeakWindow()
	text := limit.Tokens(tokens) + " tokens peak"
	if most > 0 {
		text += fmt.Sprintf(" of %s (%.0f %%)", limit.Tokens(most), 100*float64(tokens)/float64(most))
	}
	if line := watch.Sparkline(r.WindowSeries(sparkWidth), most); line != "" {
		text = line + "  " + text
	}
	text += ", " + limit.Count(r.Requests(), "request")
	if r.Model != "" {
		text += " of " + r.Model
	}
	return text
}

// compactionTable writes how often the conversation was shortened, and a row for each time; nothing if it never was.
func compactionTable(b *strings.Builder, r *watch.Run) {
	if len(r.Compactions) == 0 {
		return
	}
	var cut int64
	for _, c := range r.Compactions {
		cut += c.CutBytes
	}
	// Of very many not all are held, and what was made inside the run is not in its own sums.
	fmt.Fprintf(b, "  shortened %d times, %s cut\n", max(r.Rooms(), int64(len(r.Compactions))), limit.Bytes(max(cut, r.Window.CutBytes+r.AgentCutBytes)).Human())
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, c := range r.Compactions {
		kept := ""
		if c.Checkpoint != "" {
			kept = "plimsoll runs --cuts " + c.Checkpoint
		}
		fmt.Fprintf(w, "    %s\t%s → %s tokens\t%s\t%s\t%s\t%s\n", c.Time.Local().Format("15:04:05"), limit.Tokens(c.Before), limit.Tokens(c.After),
			limit.Bytes(c.CutBytes).Human(), strings.Join(c.Rungs, ", "), c.Why(), kept)
	}
	_ = w.Flush()
}

// maxToolRows bounds the tools and results of a page; --json has all.
const maxToolRows = 10

// toolTable writes a row for each of the maxToolRows tools with the largest results, and how many more there are; nothing without tools.
func toolTable(b *strings.Builder, r *watch.Run) {
	if len(r.Tools) == 0 {
		return
	}
	b.WriteString("  results of tools, the largest sum first\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, t := range r.Tools[:min(len(r.Tools), maxToolRows)] {
		largest := ""
		if t.MaxBytes > 0 {
			largest = "largest " + limit.Bytes(t.MaxBytes).Human()
		}
		fmt.Fprintf(w, "    %s/%s\t%s\t%s → %s\t%s\n", t.Server, t.Tool, limit.Count(t.Calls, "call"), limit.Bytes(t.UpstreamBytes).Human(), limit.Bytes(t.DeliveredBytes).Human(), largest)
	}
	_ = w.Flush()
	if more := len(r.Tools) - maxToolRows; more > 0 {
		fmt.Fprintf(b, "    and %d more\n", more)
	}
}

// killTable writes a row for each process that was killed; nothing if none was.
func killTable(b *strings.Builder, r *watch.Run) {
	if len(r.Kills) == 0 {
		return
	}
	b.WriteString("  killed\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, k := range r.Kills {
		name := k.Name
		if k.PID > 0 {
			name += fmt.Sprintf(" (pid %d)", k.PID)
		}
		size := ""
		if k.Bytes > 0 {
			size = limit.Bytes(k.Bytes).Human()
		}
		fmt.Fprintf(w, "    %s\t%s\t%s\tby %s\t%s\n", k.Time.Local().Format("15:04:05"), name, size, k.By, k.What)
	}
	_ = w.Flush()
}
