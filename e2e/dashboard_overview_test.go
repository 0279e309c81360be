//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// kept is a run in the store of a world, whose journal is written here.
func (w *world) kept(id, tool, project string, command ...string) (*runs.Writer, *journal.Journal, *journal.Reporter) {
	start := journal.Report{Tool: tool, Project: project, Command: command, LimitBytes: 4 << 30, ReservationBytes: 2 << 30}
	writer := runs.Begin(runs.Options{Dir: w.state}, runs.Header{ID: id, Kind: runs.KindRun, Report: start})
	reporter := journal.NewReporter(start)
	j := journal.New(journal.Options{Observers: []journal.Observer{reporter, writer}})
	j.Append(journal.RunStarted{PID: 4711, LimitBytes: 4 << 30})
	return writer, j, reporter
}

// press presses keys one after the other, as a person does: a character comes only where nothing else was done about its key.
func (b *tab) press(keys string) {
	b.t.Helper()
	for key := range strings.SplitSeq(keys, "") {
		for _, e := range []input.DispatchKeyEventParams{{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: key}, {Type: input.DispatchKeyEventTypeKeyUp, Key: key}} {
			if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, e); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// TestDashboardOverview: what waits for its user, what went wrong with the command that helps, the memory of the host by run, and one list
// that is searched, 50 at a time, with keys; on a phone its rows are cards.
func TestDashboardOverview(t *testing.T) {
	w := newWorld(t)
	write(t, "[budget]\nday = 20\n", w.state, "config.toml")
	address := w.dashboard() // before the browser, which must not see it end
	b := openTab(t, chromedp.Flag("lang", "en-US"))
	b.do(chromedp.Navigate(address))
	b.shows("Nothing runs now.", "plimsoll run -- claude", "Nothing went wrong in the last 24 hours.", "Nothing has run yet.", "No run had memory in the last half hour.",
		"No run that began today has asked a model", "$0.00 of $20.00 for the day")
	b.look("overview-empty")
	for page, words := range map[string]string{"alerts": "Nothing needs a look.", "memory": "Nothing is remembered yet.", "mcp": "No MCP server was called yet", "agents": "No agent was asked yet", "ledger": "Nobody holds memory, and nobody waits."} {
		b.run(fmt.Sprintf(`location.hash = "#/%s"`, page))
		b.shows(words)
	}

	// 60 that have ended, one of them out of memory, and two that live, of which one has answered.
	const evil = "\x1b[31m<b>shop</b>\u202ekrow"
	for n := range 60 {
		writer, _, reporter := w.kept(fmt.Sprintf("past%02d", n), fmt.Sprintf("tool%02d", n), "a project with a name that is much longer than any column of the list is wide, however wide its window")
		if err := writer.End(reporter.Report()); err != nil {
			t.Fatal(err)
		}
	}
	writer, j, reporter := w.kept("killed", "builder", evil, "make", "all", "NAME=the shop")
	writer.Sample(runs.Sample{AtMS: 1, Working: 3 << 30, Charged: 4 << 30})
	j.Append(journal.OOMKills{New: 1, Total: 1})
	j.Append(journal.RunEnded{Outcome: journal.OutcomeOOM, Duration: time.Minute, PeakBytes: 4 << 30, OOMKills: 1})
	if err := writer.End(reporter.Report()); err != nil {
		t.Fatal(err)
	}
	busy, at, _ := w.kept("busy", "codex", "shop", "codex")
	at.Append(journal.WindowRequest{Request: 1, Model: "m-1", Tokens: 50_000, LimitTokens: 200_000})
	busy.Sample(runs.Sample{AtMS: 1, Working: 1 << 30, Charged: 2 << 30, Processes: 3})
	idle, answers, _ := w.kept("idle", "claude", "shop", "claude")
	answers.Append(journal.WindowRequest{Request: 1, Model: "m-1", Tokens: 150_000, LimitTokens: 200_000})
	answers.Append(journal.WindowResponse{Request: 1, Model: "m-1", Status: 200, Ended: "complete", EndsTurn: true, TokensIn: 150_000, TokensOut: 40, Cost: 4.1})
	answers.Append(journal.LimitSet{Limit: journal.Limit{Name: "cost_max", Unit: runs.UnitMoney, Hard: 5e6}})
	answers.Append(journal.LimitUsed{Name: "cost_max", Used: 4.1e6, Hard: 5e6})
	answers.Append(journal.LimitReached{Name: "cost_max", Line: journal.LineSoft})
	idle.Sample(runs.Sample{AtMS: 1, Working: 2 << 30, Charged: 3 << 30, Processes: 5})
	ended := false
	end := func() {
		for _, one := range []*runs.Writer{busy, idle} {
			if err := one.End(journal.Report{Outcome: journal.OutcomeOK}); err != nil && !ended {
				t.Error(err)
			}
		}
		ended = true
	}
	defer end()

	b.run(`location.hash = "#/"`)
	help := "plimsoll run --memory-max 6G -- make all 'NAME=the shop'"
	b.shows("waits for you", "codex", "The answer ended the turn at", "killed at its memory limit of 4 GiB", help, "50 of 63 runs", "Show 13 more", "builder in ",
		"$4.10 of $5.00 spent", "has spent $4.10 of $5.00", "plimsoll raise idle --cost +5", "Would cost", "150k")
	if got := value[string](b, `document.querySelector("article").innerText`); !strings.Contains(got, "waits for you") || !strings.Contains(got, "claude") {
		t.Errorf("first of what runs stands %q", got)
	}
	b.look("overview")
	if text := b.text(); strings.ContainsAny(text, "\x1b\u202e") || value[int](b, `document.querySelectorAll("main b").length`) != 0 {
		t.Error("what a project is called is not only text")
	}
	if got := value[string](b, `(() => { const e = document.querySelector('tr[data-run="past59"] .sub'); return [e.scrollWidth > e.clientWidth, e.title === e.textContent, getComputedStyle(e).textOverflow].join() })()`); got != "true,true,ellipsis" {
		t.Errorf("a long name in the list: %s", got)
	}

	// The keys, the search and the next 50.
	b.press("/")
	if got := value[string](b, `document.activeElement.id`); got != "find" {
		t.Errorf("after / the focus is on %q", got)
	}
	b.press("tool07")
	if got := value[string](b, `document.activeElement.value`); got != "tool07" {
		t.Fatalf("typed is %q", got)
	}
	b.shows("1 of 1 runs")
	b.press("?")
	b.shows("0 of 0 runs", "No run has this text.")
	if value[bool](b, `document.getElementById("keys").open`) {
		t.Error("? in the search opens the keys")
	}
	b.run(`(() => { const e = document.getElementById("find"); e.value = ""; e.dispatchEvent(new Event("input")); e.blur(); })()`)
	b.shows("50 of 63 runs")
	b.run(`[...document.querySelectorAll("main button")].find(e => e.textContent === "Show 13 more").click()`)
	b.shows("tool00")
	if n := value[int](b, `document.querySelectorAll("tr[data-run]").length`); n != 63 {
		t.Errorf("%d rows are shown of 63", n)
	}
	b.press("?")
	if !value[bool](b, `document.getElementById("keys").open && document.getElementById("keys").innerText.includes("search")`) {
		t.Error("? shows no keys")
	}
	b.run(`document.querySelector("#keys button").click()`)
	b.run(`location.hash = "#/alerts"`)
	b.shows("builder", help)
	b.press("/")
	wait.Until(t, "/ goes to the search of the list", func() bool { return value[string](b, `document.activeElement.id`) == "find" })

	// On a phone a row is a card.
	b.do(chromedp.EmulateViewport(390, 860))
	if got := value[string](b, `getComputedStyle(document.querySelector("tr[data-run]")).display + getComputedStyle(document.querySelector(".list thead")).position`); got != "gridabsolute" {
		t.Errorf("a row on a phone is %s", got)
	}
	b.do(chromedp.EmulateViewport(1280, 860))

	// What was answered is asked again: nothing waits any more.
	answers.Append(journal.WindowRequest{Request: 2, Model: "m-1", Tokens: 150_100, LimitTokens: 200_000})
	wait.Until(t, "nothing waits", func() bool { return !strings.Contains(b.text(), "waits for you") })

	b.run(`location.hash = "#/run/idle"`)
	b.shows("Spent", "$4.10 of $5.00 spent")
	b.look("run-spent")

	// The page of the run that was killed.
	b.run(`location.hash = "#/run/killed"`)
	b.shows("It ran out of memory, at ", help, "What happened last", "The kernel killed for memory: 1 process in all.")
	if n := value[int](b, `[...document.querySelectorAll(".events details")].filter(e => e.open).length`); n != 0 {
		t.Errorf("%d records are unfolded", n)
	}
	if strings.Contains(b.text(), `"total":1`) {
		t.Error("the record shows before it is unfolded")
	}
	b.run(`document.querySelector(".events details").open = true`)
	b.look("run-killed")
	end()
	wait.Until(t, "the chart takes its card", func() bool { // it follows a change of the width
		got := value[float64](b, `(() => { const c = document.querySelector(".chart"), u = c.querySelector(".uplot"); return u.getBoundingClientRect().width / c.clientWidth })()`)
		return 0.9 <= got && got <= 1
	})
}
