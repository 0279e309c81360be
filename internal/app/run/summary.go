package run

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Show writes the report of a run to w, as [Run] does at its end.
func Show(w io.Writer, colour bool, r journal.Report) {
	s := &speaker{w: w, colour: colour, said: map[string]bool{}}
	s.report(r, runs.Decision{}, 0, false)
}

// report prints the end of a run for a person: a few aligned lines. cpu is the processor time, or a lower bound unless exact is true.
func (s *speaker) report(r journal.Report, basis runs.Decision, cpu time.Duration, exact bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := [][2]string{
		{"memory", memoryRow(r)},
		{"estimate", estimateRow(r)},
		{"layer", layerRow(r)},
	}
	if row := windowRow(r.Window); row != "" {
		rows = append(rows, [2]string{"window", row})
	}
	if row := toolsRow(r.MCP); row != "" {
		rows = append(rows, [2]string{"tools", row})
	}
	if row := killedRow(r); row != "" {
		rows = append(rows, [2]string{"killed", row})
	}
	if row := leftoverRow(r); row != "" {
		rows = append(rows, [2]string{"left over", row})
	}
	for _, text := range Advice(r, basis) {
		rows = append(rows, [2]string{"next", text})
	}
	var b strings.Builder
	head := fmt.Sprintf("%s in %s", r.Tool, r.Project)
	verdict := s.style(green, "ok")
	if r.Outcome != journal.OutcomeOK {
		verdict = s.style(red, verdictOf(r))
	}
	fmt.Fprintf(&b, "\n%s %s · %s · %s", s.style(bold, "plimsoll"), printable.Name(head), verdict, roughly(time.Duration(r.DurationMS)*time.Millisecond))
	if cpu >= 100*time.Millisecond {
		least := " at least"
		if exact {
			least = ""
		}
		fmt.Fprintf(&b, " ·%s %s of CPU", least, roughly(cpu))
	}
	for _, row := range rows {
		text := printable.Text(row[1]) // names of processes, tools and servers among it
		if row[0] == "killed" {
			text = s.style(red, text)
		}
		b.WriteString("\n" + s.wrap(fmt.Sprintf("  %s %s", s.style(dim, fmt.Sprintf("%-9s", row[0])), text), 12))
	}
	s.line(b.String())
}

// verdictOf returns how a run ended, in words: of memory before all else, then by a signal, else with its exit status. It names a limit that the
// run had reached, if that ended it.
func verdictOf(r journal.Report) string {
	switch {
	case r.Outcome == journal.OutcomeOOM && r.OOMDKills > 0 && r.OOMKills == 0:
		return "ended by systemd-oomd"
	case r.Outcome == journal.OutcomeOOM:
		return "out of memory"
	case r.LimitReached != "" && r.Signal != "":
		return "ended at its limit " + r.LimitReached
	case r.Signal != "":
		return r.Signal
	case r.Outcome == journal.OutcomeLimit:
		return fmt.Sprintf("exit %d after reaching its limit %s", r.ExitCode, r.LimitReached)
	}
	return fmt.Sprintf("exit %d", r.ExitCode)
}

// inOneLine returns the result of a run and next, its advice, in one line for a log.
func inOneLine(r journal.Report, next string) string {
	text := verdictOf(r)
	if r.Outcome == journal.OutcomeOK {
		text = "ok"
	}
	text += fmt.Sprintf(": memory %s of %s", limit.Bytes(r.PeakBytes).Human(), limit.Bytes(r.LimitBytes).Human())
	if killed := killedRow(r); killed != "" {
		text += ", killed " + killed
	}
	return text + "; " + next
}

// memoryRow returns the peak, drawn as a bar against the limit if there is one.
func memoryRow(r journal.Report) string {
	peak := limit.Bytes(r.PeakBytes).Human()
	if !r.PeakExact {
		peak = "at least " + peak
	}
	if r.LimitBytes <= 0 {
		return peak + " peak, no limit"
	}
	share := float64(r.PeakBytes) / float64(r.LimitBytes)
	row := fmt.Sprintf("%s  %s peak of %s (%.0f %%)", gauge(share), peak, limit.Bytes(r.LimitBytes).Human(), 100*share)
	if cache := r.PeakBytes - r.PeakAnonBytes; r.PeakExact && cache > r.PeakBytes/10 && r.PeakAnonBytes > 0 {
		row += fmt.Sprintf(", working set %s, the rest file cache", limit.Bytes(r.PeakAnonBytes).Human())
	}
	return row
}

// gauge draws a bar of ten cells, filled up to share; below 0 it is empty, above 1 full.
func gauge(share float64) string {
	const cells = 10
	full := min(cells, max(0, int(share*cells+0.5)))
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}

// estimateRow returns what was expected, and how many times that was taken if it was learned and was too low by more than 5 %.
func estimateRow(r journal.Report) string {
	e := r.Estimate
	row := limit.Bytes(e.Bytes).Human() + " expected, " + EstimateWords(e)
	if ratio := float64(r.PeakBytes) / float64(max(e.Bytes, 1)); e.Source != estimate.SourceDefault && !e.Guessed && ratio > 1.05 {
		row += fmt.Sprintf("; it took %.1f times that", ratio)
	}
	return row
}

// EstimateWords names the source of an estimate.
func EstimateWords(e journal.Estimate) string {
	switch {
	case e.Guessed:
		return "a first guess; the runs so far were too short or too small to replace it"
	case e.Source == estimate.SourceProject:
		return fmt.Sprintf("from %s in this project", limit.Count(e.Samples, "run"))
	case e.Source == estimate.SourceTool:
		return fmt.Sprintf("from %s in other projects", limit.Count(e.Samples, "run"))
	case e.Source == estimate.SourceImport:
		return fmt.Sprintf("from %s on other hosts, imported", limit.Count(e.Samples, "run"))
	case e.Source == estimate.SourceFleet:
		return fmt.Sprintf("from %s on other hosts of the fleet", limit.Count(e.Samples, "run"))
	case e.Source == estimate.SourceReservation:
		return "as reserved by hand"
	case e.Source == estimate.SourceConfigured:
		return "as configured (initial_estimate)"
	case e.Source == estimate.SourceProfile:
		return "the built-in guess for this tool; no run has shown a need yet"
	}
	return "a first guess; no run has shown a need yet"
}

func layerRow(r journal.Report) string {
	e := r.Enforcement
	if e.Memory == e.Swap && e.Swap == e.Pids {
		return fmt.Sprintf("%s: memory, swap and processes %s", r.Layer, mechanismWords(e.Memory))
	}
	return fmt.Sprintf("%s: memory %s, swap %s, processes %s", r.Layer, mechanismWords(e.Memory), mechanismWords(e.Swap), mechanismWords(e.Pids))
}

func mechanismWords(m string) string {
	switch m {
	case "kernel":
		return "held by the kernel"
	case "process":
		return "limited per process"
	case "watched":
		return "watched"
	}
	return "not limited"
}

// killedRow returns how many processes were killed for memory and the names of at most four, "" if there were none.
func killedRow(r journal.Report) string {
	n := max(len(r.KilledChildren), r.OOMKills)
	if n == 0 {
		return ""
	}
	var names []string
	for i, c := range r.KilledChildren {
		if i == 4 {
			names = append(names, "…")
			break
		}
		name := printable.Text(c.Name)
		if c.Bytes > 0 {
			name += " (" + limit.Bytes(c.Bytes).Human() + ")"
		}
		names = append(names, name)
	}
	row := limit.Count(n, "process") + " for memory"
	if len(names) > 0 {
		row += ": " + strings.Join(names, ", ")
	}
	return row
}

// leftoverRow returns how many processes outlived the tool and the fate of at most four, "" if there were none.
func leftoverRow(r journal.Report) string {
	if len(r.Leftovers) == 0 {
		return ""
	}
	var names []string
	for i, l := range r.Leftovers {
		if i == 4 {
			names = append(names, "…")
			break
		}
		names = append(names, printable.Text(l.Name)+" ("+l.Fate+")")
	}
	return fmt.Sprintf("%d: %s", len(r.Leftovers), strings.Join(names, ", "))
}

// roughly returns a duration for a person: 0.4 s, 12 s, 3m 20s, 1h 5m.
func roughly(d time.Duration) string { return printable.Duration(d) }

// toolsRow returns what the MCP gateway did; "" for a run without MCP servers behind the gateway.
func toolsRow(m journal.MCP) string {
	if m.Calls == 0 && m.DefinitionTokens == 0 {
		return ""
	}
	row := "no call to MCP servers"
	if m.Calls > 0 {
		row = fmt.Sprintf("%s to MCP servers, %s sent, %s delivered", limit.Count(m.Calls, "call"), limit.Bytes(m.UpstreamBytes).Human(), limit.Bytes(m.DeliveredBytes).Human())
	}
	if m.Spilled > 0 {
		row += fmt.Sprintf(" · %s came in pages", limit.Count(m.Spilled, "result"))
	}
	if m.DefinitionTokens > 0 {
		row += fmt.Sprintf(" · definitions of about %d tokens", m.DefinitionTokens)
	}
	return row
}

// tooManyDefinitions returns a warning when the tool definitions of the MCP servers take more than a tenth of the model's window; "" when
// they do not, or no window is known.
func tooManyDefinitions(m journal.MCP, w journal.Window) string {
	if w.LimitTokens <= 0 || int64(m.DefinitionTokens) <= w.LimitTokens/10 {
		return ""
	}
	return fmt.Sprintf("the definitions of the tools of its MCP servers take about %d tokens of each request, more than a tenth of the window of %d; deny what is not used, or set tools_max of [mcp]",
		m.DefinitionTokens, w.LimitTokens)
}

// defers reports whether a tool, or the agent for which it translates, loads tool definitions only when it needs them.
func defers(tool string) bool {
	a, ok := profile.Find(tool)
	if ok && a.Adapter != nil {
		a, ok = profile.Find(a.Adapter.Agent)
	}
	return ok && a.DefersTools
}

// windowRow returns the fullest request against the model's window, and what the proxy did about it; for an agent without a proxy the reason, and
// "" for other commands and without requests.
func windowRow(w journal.Window) string {
	if w.Unknown {
		return "" // most commands ask no model; the dry run, the report and top say it
	}
	if w.NoProxy != "" {
		return "no proxy, because " + w.NoProxy
	}
	if w.Requests == 0 {
		return ""
	}
	var row string
	if w.LimitTokens > 0 {
		share := float64(w.PeakTokens) / float64(w.LimitTokens)
		row = fmt.Sprintf("%s  %s peak of %s tokens (%.0f %%)", gauge(share), limit.Tokens(w.PeakTokens), limit.Tokens(w.LimitTokens), 100*share)
	} else {
		row = limit.Tokens(w.PeakTokens) + " tokens peak, window unknown"
	}
	parts := []string{row, fmt.Sprintf("%s, %s tokens in", limit.Count(w.Requests, "request"), limit.Tokens(w.TokensIn))}
	if w.Compactions > 0 {
		parts = append(parts, fmt.Sprintf("shortened %s (%s cut)", times(w.Compactions), limit.Bytes(w.CutBytes).Human()))
	}
	if w.Repairs > 0 {
		parts = append(parts, limit.Count(w.Repairs, "repair"))
	}
	if w.OverflowRecoveries > 0 {
		parts = append(parts, fmt.Sprintf("recovered %s from “too long”", times(w.OverflowRecoveries)))
	}
	if w.Stalled > 0 {
		parts = append(parts, fmt.Sprintf("%s stood still and %s ended", limit.Count(w.Stalled, "answer"), map[bool]string{true: "was", false: "were"}[w.Stalled == 1]))
	}
	if w.Loops > 0 {
		parts = append(parts, "repeated itself "+times(w.Loops)+": "+printable.Name(w.Loop))
	}
	if w.RateWaits > 0 {
		waited := time.Duration(w.RateWaitedMS) * time.Millisecond
		parts = append(parts, fmt.Sprintf("%s waited for the provider, %s in all", limit.Count(w.RateWaits, "request"), waited.Round(time.Second)))
	}
	if w.Refused > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", w.Refused))
	}
	return strings.Join(parts, " · ")
}

func times(n int64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
