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

// pageLines returns the page of one run, as it was known at a time, in lines of at most width cells, which counts as 40 at least.
func pageLines(r *runs.Run, row *Row, at time.Time, width int, p painter) []string {
	g := page{run: r, row: row, at: at, width: max(width, 40), paint: p}
	for _, section := range []func(*page){
		(*page).about, (*page).memory, (*page).window, (*page).editor, (*page).shortened, (*page).kills, (*page).results, (*page).definitions, (*page).tools, (*page).processes,
	} {
		section(&g)
	}
	return g.lines
}

// page is a page that is being written, section by section.
type page struct {
	run   *runs.Run
	row   *Row
	at    time.Time
	width int
	paint painter
	lines []string
}

func (g *page) add(format string, a ...any) {
	g.lines = append(g.lines, fit(fmt.Sprintf(format, a...), g.width))
}

func (g *page) title(text string) { g.lines = append(g.lines, "", g.paint.bold(text)) }

func (g *page) about() {
	r, row := g.run, g.row
	g.add("%s in %s, run %s (%s), pid %d", printable.Name(row.Tool), printable.Name(row.Project), printable.Name(row.ID), printable.Name(row.Kind), row.PID)
	state := runs.DescribeState(row.State)
	if !row.StateSince.IsZero() {
		state += " since " + row.StateSince.Local().Format("15:04:05")
	}
	if row.Reason != "" {
		state += ": " + row.Reason
	}
	g.add("%s", printable.Name(state))
	word, took := "took", row.DurationMS
	if row.Live() {
		word, took = "for", row.AgeMS
	}
	g.add("began %s, %s %s", row.Started.Local().Format("2006-01-02 15:04:05"), word, shortTime(time.Duration(took)*time.Millisecond))
	if command := strings.Join(r.Report.Command, " "); command != "" {
		g.add("%s", printable.Name(limit.ShortRunes(command, 4*g.width)))
	}
	if r.Newer {
		g.add("written by a newer plimsoll: not all of it is known here")
	}
	if r.Dropped > 0 || r.Damaged > 0 {
		g.add("%d lines found no room in its file, %d could not be read", r.Dropped, r.Damaged)
	}
}

// memory adds the memory and processor, now and over the time until g.at, and what the run was admitted with if that is known.
func (g *page) memory() {
	r, row := g.run, g.row
	g.title("memory")
	g.add("now %s, peak %s, limit %s, reserved %s; cpu %s; %s", sizeOr(row.MemoryBytes, row.Live()), size(row.PeakBytes),
		sizeOr(row.LimitBytes, row.LimitBytes > 0), size(row.ReservationBytes), percent(row), limit.Count(row.Processes, "process"))
	memory, processor := series(r, g.at)
	if text := spark(memory, float64(cmp.Or(row.LimitBytes, row.PeakBytes)), g.width-2); text != "" {
		g.add("  %s", text)
		g.add("  cpu")
		g.add("  %s", spark(processor, max(100, highest(processor)), g.width-2))
	}
	if a := r.Admission; a != nil && a.AvailableBytes > 0 {
		g.add("admitted with %s: %s available, %s set aside by others, %s kept", size(a.ReservationBytes), size(a.AvailableBytes), size(a.ClaimedBytes), size(a.MinFreeBytes))
	}
}

// window adds the requests to models and what they cost; nothing if no tokens are known.
func (g *page) window() {
	r, row := g.run, g.row
	var tokens []float64
	var window int64
	for _, c := range r.Context {
		if !c.Time.After(g.at) {
			tokens, window = append(tokens, float64(c.Tokens)), max(window, c.Limit)
		}
	}
	if len(tokens) > 0 || row.WindowTokens > 0 {
		g.title("window")
		g.add("%s of %s tokens, %d requests, %s in, %s out; model %s", limit.Tokens(row.WindowTokens), limit.Tokens(row.WindowLimit),
			r.Requests(), limit.Tokens(r.Window.TokensIn), limit.Tokens(r.Window.TokensOut), printable.Name(cmp.Or(r.Model, "-")))
		if n := r.Window.Stalled; n > 0 {
			g.add("answers that stood still and were ended, so that the client tries again: %d", n)
		}
		if n := r.Window.Loops; n > 0 {
			g.add("repeated itself %s, the last time: %s", limit.Count(n, "time"), printable.Name(r.Window.Loop))
		}
		spent := *row
		if !row.Live() {
			spent.Spent = runs.SpendLimits(r.Report.Limits)
		}
		if words := spent.spentWords(); words != "" {
			g.add("%s", words)
		}
		if row.maySpendNoMore() {
			g.add("its requests are refused: + lets it spend half as much again")
		}
		if text := spark(tokens, float64(max(window, 1)), g.width-2); text != "" {
			g.add("  %s", text)
		}
	}
	if r.Window.NoProxy != "" {
		g.title("window")
		g.add("no proxy, because %s", printable.Name(r.Window.NoProxy))
	}
}

// editor adds the sessions of an editor; nothing if it has sent no request.
func (g *page) editor() {
	row := g.row
	if e := row.Editor; e.Requests > 0 {
		g.title(fmt.Sprintf("sessions of an editor (%d)", e.Open))
		for _, line := range watch.SessionLines(e, g.at) {
			g.add("  %s", printable.Name(line))
		}
	}
}

// shortened adds the newest times that a conversation was cut.
func (g *page) shortened() {
	r := g.run
	if n := len(r.Compactions); n > 0 {
		g.title("shortened (" + limit.Count(n, "time") + ")")
		for _, c := range r.Compactions[max(0, n-most):] {
			g.add("  %s  %s to %s tokens by %s, %s cut (%s)", c.Time.Local().Format("15:04:05"), limit.Tokens(c.Before), limit.Tokens(c.After),
				printable.Name(strings.Join(c.Rungs, ", ")), size(c.CutBytes), printable.Name(c.Why()))
		}
	}
}

// kills adds the newest processes that were killed for memory.
func (g *page) kills() {
	r := g.run
	if n := len(r.Kills); n > 0 {
		g.title(fmt.Sprintf("kills (%d)", n))
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
			g.lines = append(g.lines, g.paint.red(fit(text, g.width)))
		}
	}
}

func (g *page) results() {
	r := g.run
	if len(r.Largest) > 0 {
		g.title("largest results")
		for _, l := range r.Largest[:min(len(r.Largest), most)] {
			name := cmp.Or(l.Tool, l.Method)
			if l.Server != "" {
				name = l.Server + "/" + name
			}
			kept := ""
			if l.Spilled {
				kept = ", the rest kept for paging"
			}
			g.add("  %s  %s, %s handed on%s  %s", l.Time.Local().Format("15:04:05"), right(size(l.UpstreamBytes), 4), size(l.DeliveredBytes), kept, printable.Name(name))
		}
	}
}

// definitions adds the tokens that definitions of tools take of each request.
func (g *page) definitions() {
	row := g.row
	if n := row.DefinitionTokens; n > 0 {
		g.title("definitions of tools")
		text := "about " + limit.Tokens(int64(n)) + " tokens of each request"
		if row.WindowLimit > 0 {
			text += fmt.Sprintf(", %.0f %% of the window", 100*share(int64(n), row.WindowLimit))
		}
		if more := row.DeferredTools; more > 0 {
			text += fmt.Sprintf("; %d more are found by search", more)
		}
		g.add("%s", text)
	}
}

func (g *page) tools() {
	r := g.run
	if len(r.Tools) > 0 {
		g.title("tools by size")
		for _, t := range r.Tools[:min(len(r.Tools), most)] {
			name := t.Tool
			if t.Server != "" {
				name = t.Server + "/" + t.Tool
			}
			g.add("  %s in %s, largest %s  %s", right(size(t.UpstreamBytes), 4), limit.Count(t.Calls, "call"), size(t.MaxBytes), printable.Name(name))
		}
	}
}

func (g *page) processes() {
	row := g.row
	if len(row.Tree) > 0 {
		g.title(fmt.Sprintf("processes (%d)", len(row.Tree)))
		for i := range row.Tree {
			g.lines = append(g.lines, fit(processLine(&row.Tree[i]), g.width))
		}
	}
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

// highest returns the largest value, 0 if none is above 0.
func highest(values []float64) (high float64) {
	for _, v := range values {
		high = max(high, v)
	}
	return high
}

// percent returns the share of one processor, "-" if it is not known.
func percent(r *Row) string {
	if r.CPUPercent < 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", r.CPUPercent)
}
