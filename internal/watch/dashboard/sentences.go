package dashboard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// maxEvents bounds the events on the page of a run; `plimsoll runs ID --json` has more of them.
const maxEvents = 100

// told is an event of a run: a sentence, with the record itself folded below it.
type told struct {
	Seq   uint64          `json:"seq"`
	Time  time.Time       `json:"time"`
	Kind  string          `json:"kind"`
	Text  string          `json:"text"`
	Event json.RawMessage `json:"event"`
}

// newestEvents returns the newest things that happened in a run, the newest first, at most maxEvents.
func newestEvents(records []journal.Record) []told {
	list := []told{}
	for i := len(records) - 1; i >= 0 && len(list) < maxEvents; i-- {
		switch records[i].Event.(type) {
		case journal.LimitSet, journal.LimitUsed, journal.MemoryReach, journal.ToolsTallied:
			continue // settings and sums, which stand elsewhere
		}
		text, err := json.Marshal(records[i].Event)
		if err != nil {
			continue
		}
		list = append(list, told{records[i].Seq, records[i].Time, records[i].Event.Kind(), eventSentence(records[i].Event), text})
	}
	return list
}

// stateSentence returns a sentence about how a run ended, or what it does now.
func stateSentence(r *runs.Run) string {
	killed := ""
	if n := len(r.Kills); n > 0 && r.Outcome != "oom" {
		killed = fmt.Sprintf(" %s was killed on the way, at %s.", r.Kills[n-1].Name, formatClock(r.Kills[n-1].Time))
	}
	took := r.Age().Round(time.Second).String()
	switch {
	case r.State == runs.YourTurn:
		return fmt.Sprintf("It waits for you since %s: the answer ended the turn, and nothing was asked since.%s", formatClock(r.StateSince), killed)
	case r.State == runs.Idle:
		return fmt.Sprintf("Nobody uses it since %s: no request, no input, no processor time. One that is forgotten: kill %d.%s", formatClock(r.StateSince), r.PID, killed)
	case r.Outcome == runs.Waiting:
		return "It has not started: it " + r.Reason + "."
	case r.Outcome == runs.Running && r.Reason != "":
		return "It " + r.Reason + "." + killed
	case r.Outcome == runs.Running:
		return "It runs." + killed
	case r.Outcome == "ok":
		return "It ended well, after " + took + "." + killed
	case r.Outcome == "oom":
		at := ""
		if !r.KilledAt.IsZero() {
			at = ", at " + formatClock(r.KilledAt)
		}
		return fmt.Sprintf("It ran out of memory%s: %s.", at, cmp.Or(r.Reason, "it was killed"))
	case r.Outcome == "refused":
		return "It was not started: " + r.Reason + "."
	case r.Outcome == runs.Died:
		return "It has no end: its plimsoll was killed. What is below is what had been written until then."
	}
	if n := len(r.Kills); n > 0 && strings.Contains(r.Reason, " was killed for memory") { // it names what was
		killed = fmt.Sprintf(" The kill was at %s.", formatClock(r.Kills[n-1].Time))
	}
	return fmt.Sprintf("It ended after %s: %s.%s", took, cmp.Or(r.Reason, r.Outcome), killed)
}

// formatClock returns the local time of day.
func formatClock(at time.Time) string { return at.Local().Format("15:04:05") }

// formatSize returns a number of bytes for people.
func formatSize(n int64) string { return limit.Bytes(n).Human() }

// formatDuration returns a duration in milliseconds below a second, else in tenths of a second.
func formatDuration(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second / 10).String()
}

// eventSentence returns a sentence about an event. For rare kinds that is only the kind in words, since the page shows the record too.
func eventSentence(e journal.Event) string {
	if text := windowSentence(e); text != "" {
		return text
	}
	switch e := e.(type) {
	case journal.Waiting:
		return fmt.Sprintf("It waits in the queue for %s, at place %d.", e.Reason, e.Position)
	case journal.Admitted:
		if e.Nested {
			return "It may start, inside another run."
		}
		return fmt.Sprintf("It may start: %s are set aside for it.", formatSize(e.ReservationBytes))
	case journal.Refused:
		first, _, _ := strings.Cut(e.Reason, "\n")
		return "It may not start: " + first
	case journal.LayerChosen:
		return fmt.Sprintf("Its limits are held by %s: memory by %s.", e.Layer, e.Memory)
	case journal.LayerFailed:
		return fmt.Sprintf("The layer %s did not work: %s", e.Layer, e.Error)
	case journal.RunStarted:
		if e.LimitBytes == 0 {
			return fmt.Sprintf("The command runs, as process %d.", e.PID)
		}
		return fmt.Sprintf("The command runs, as process %d, with at most %s.", e.PID, formatSize(e.LimitBytes))
	case journal.ChildKilled:
		at := ""
		if e.Bytes > 0 {
			at = " at " + formatSize(e.Bytes)
		}
		return fmt.Sprintf("%s (process %d) was killed for memory%s, by %s.", e.Name, e.PID, at, map[bool]string{true: "the kernel", false: e.By}[e.By == "kernel"])
	case journal.OOMKills:
		return fmt.Sprintf("The kernel killed for memory: %s in all.", limit.Count(int64(e.Total), "process"))
	case journal.OOMDKills:
		return "systemd-oomd ended it, because the machine was short of memory."
	case journal.Pressure:
		return fmt.Sprintf("The machine is short of memory: %s %s (%s).", e.Action, cmp.Or(e.Name, "the run"), e.Reason)
	case journal.MemoryRaised:
		return fmt.Sprintf("Its memory limit grew from %s to %s: %s.", formatSize(e.FromBytes), formatSize(e.ToBytes), e.Why)
	case journal.LimitReached:
		return fmt.Sprintf("It reached the %s line of its limit %s%s.", e.Line, e.Name, map[bool]string{true: "; Plimsoll " + e.Did}[e.Did != ""])
	case journal.RunIdle:
		return fmt.Sprintf("It is idle: nobody has used it for %s.", formatDuration(e.For))
	case journal.RunWoke:
		return "It is used again, by the sign: " + e.By + "."
	case journal.Forgotten:
		return "When it started: " + e.Text + "."
	case journal.Leftover:
		return fmt.Sprintf("%s (process %d) was still there when the command had ended: %s.", e.Name, e.PID, e.Fate)
	case journal.Orphan:
		return fmt.Sprintf("%s (process %d) runs on without its parent, with %s.", e.Name, e.PID, formatSize(e.Bytes))
	case journal.Warned:
		return "A warning: " + e.Text
	case journal.RunEnded:
		outcome := string(e.Outcome)
		if e.Outcome == journal.OutcomeOOM {
			outcome = "out of memory"
		}
		return fmt.Sprintf("The command ended after %s: %s. It used at most %s.", formatDuration(e.Duration), outcome, formatSize(e.PeakBytes))
	case journal.ToolCalled:
		text := fmt.Sprintf("%s answered with %s in %s", cmp.Or(e.Tool, e.Method)+" of "+e.Server, formatSize(e.UpstreamBytes), formatDuration(e.Duration))
		switch {
		case e.Failed:
			text += ", an error"
		case e.Spilled:
			text += fmt.Sprintf("; the agent got a page of %s", formatSize(e.DeliveredBytes))
		}
		return text + "."
	case journal.ToolResultLarge:
		return fmt.Sprintf("A result of %s was large: %s.", strings.TrimPrefix(e.Server+"/"+e.Tool, "/"), formatSize(e.Bytes))
	case journal.ToolsListed:
		return fmt.Sprintf("The agent was told of %s of %s.", limit.Count(int64(e.Tools), "tool"), e.Server)
	case journal.ToolRefused:
		return fmt.Sprintf("A call of %s was not passed on: %s.", strings.TrimPrefix(e.Server+"/"+e.Tool, "/"), e.Why)
	case journal.ToolServer:
		return fmt.Sprintf("The MCP server %s: %s%s.", e.Server, strings.ReplaceAll(e.State, "_", " "), map[bool]string{true: ", " + e.Reason}[e.Reason != ""])
	}
	plane, what, _ := strings.Cut(e.Kind(), ".")
	return plane + ": " + strings.ReplaceAll(what, "_", " ")
}

// windowSentence returns a sentence about an event of requests to models and their answers; "" for other events.
func windowSentence(e journal.Event) string {
	switch e := e.(type) {
	case journal.WindowRequest:
		return requestSentence(e.Model, e.Tokens, e.LimitTokens)
	case journal.AgentRequest:
		return requestSentence(e.Model, e.Tokens, e.LimitTokens)
	case journal.WindowResponse:
		switch {
		case e.Ended != "complete":
			return fmt.Sprintf("The answer broke off after %s: %s.", formatDuration(e.Duration), strings.ReplaceAll(e.Ended, "_", " "))
		case e.Status/100 != 2:
			return fmt.Sprintf("%s answered with the status %d.", cmp.Or(e.Upstream, "The provider"), e.Status)
		case e.EndsTurn:
			return fmt.Sprintf("%s answered in %s with %s tokens, which ended the turn.", e.Model, formatDuration(e.Duration), limit.Tokens(e.TokensOut))
		}
		return fmt.Sprintf("%s answered in %s with %s tokens.", e.Model, formatDuration(e.Duration), limit.Tokens(e.TokensOut))
	case journal.WindowCompacted:
		return fmt.Sprintf("The conversation was shortened from %s to %s tokens (%s).", limit.Tokens(e.Before), limit.Tokens(e.After), e.Why())
	case journal.AgentRoom:
		return fmt.Sprintf("The conversation was shortened to %s tokens (%s).", limit.Tokens(e.Tokens), e.Why)
	case journal.WindowOverflow:
		return fmt.Sprintf("The provider refused the request as too long: %s.", strings.ReplaceAll(e.Action, "_", " "))
	case journal.WindowRefused:
		return fmt.Sprintf("Plimsoll answered the request itself, with the status %d: %s", e.Status, e.Text)
	case journal.WindowStalled:
		return fmt.Sprintf("The answer stood still for %s and was ended.", formatDuration(e.Quiet))
	case journal.WindowLoop:
		return fmt.Sprintf("The agent repeats itself: %s%s.", e.Text, e.Then())
	case journal.WindowRateWaited:
		return rateSentence(&e)
	case journal.WindowPlan:
		return fmt.Sprintf("%.0f %% of the plan's window of %s are used.", 100*e.Utilization, e.Window)
	case journal.WindowRepaired:
		return fmt.Sprintf("Calls and results in the conversation were paired again: %s %s.", strings.ReplaceAll(e.What, "_", " "), limit.Count(int64(e.Count), "one"))
	case journal.WindowBreaker:
		return fmt.Sprintf("The working window of %s is %s: %s.", e.Model, strings.ReplaceAll(e.State, "_", " "), e.Reason)
	case journal.WindowOn:
		return "Its requests to models go through the proxy, as " + e.Client + "."
	case journal.WindowOff:
		return "Its requests to models do not go through the proxy: " + e.Reason + "."
	case journal.AgentQueryStarted:
		return "A question was asked."
	case journal.AgentQueryEnded:
		return fmt.Sprintf("The question was answered after %s: %s, %s.", formatDuration(e.Duration), e.Outcome, limit.Count(int64(e.Steps), "step"))
	case journal.AgentCalled:
		return fmt.Sprintf("The tool %s answered with %s.", e.Tool, formatSize(e.Bytes))
	}
	return ""
}

// requestSentence returns a sentence about a request to a model, with the size of its window if that is not 0.
func requestSentence(model string, tokens, windowSize int64) string {
	if windowSize > 0 {
		return fmt.Sprintf("%s was asked, with %s of %s tokens.", model, limit.Tokens(tokens), limit.Tokens(windowSize))
	}
	return fmt.Sprintf("%s was asked, with %s tokens.", model, limit.Tokens(tokens))
}

// rateSentence returns a sentence about requests that wait, or have waited, for their provider.
func rateSentence(e *journal.WindowRateWaited) string {
	if e.Waiting > 0 {
		return fmt.Sprintf("%s %s for the provider.", limit.Count(int64(e.Waiting), "request"), map[bool]string{true: "waits", false: "wait"}[e.Waiting == 1])
	}
	return fmt.Sprintf("%s went on after waiting for the provider, %s at the longest.", limit.Count(int64(e.Requests), "request"), formatDuration(e.Longest))
}
