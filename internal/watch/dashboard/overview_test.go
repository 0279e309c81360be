package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// readJSON reads what is at an address into v.
func readJSON(t *testing.T, c *http.Client, address string, v any) {
	t.Helper()
	r, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(v); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", address, r.StatusCode, err)
	}
}

// The page of a run has its verdict, the steps that could be next, and its events as sentences; a run that waits for its user says so.
func TestTheStateOfARunInWords(t *testing.T) {
	t.Parallel()
	s, base, dir := serving(t)
	s.o.Help = func(*runs.Run) (string, []string) {
		return "plimsoll run --memory-max 6G -- make", []string{"give it more"}
	}
	c, base := enter(t, s, base)
	w := runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: "talks", Kind: runs.KindRun, Report: journal.Report{Tool: "claude"}})
	j := journal.New(journal.Options{Observers: []journal.Observer{w}})
	j.Append(journal.RunStarted{PID: 7, LimitBytes: 4 << 30})
	j.Append(journal.WindowRequest{Request: 1, Model: "m-1", Tokens: 1200})
	j.Append(journal.WindowResponse{Request: 1, Model: "m-1", Status: 200, Ended: "complete", EndsTurn: true, TokensOut: 12})
	type page struct {
		Verdict, Help string
		Next          []string
		Events        []told
		Records       any
	}
	read := func(id string) (p page) {
		t.Helper()
		readJSON(t, c, base+"/api/run/"+id, &p)
		return p
	}
	var state struct{ Now struct{ Rows []row } }
	wait.Until(t, "it has been written and read", func() bool {
		readJSON(t, c, base+"/api/state", &state)
		return len(state.Now.Rows) == 1 && state.Now.Rows[0].State == runs.YourTurn && !state.Now.Rows[0].StateSince.IsZero()
	})
	p := read("talks")
	if !strings.HasPrefix(p.Verdict, "It waits for you since ") || p.Records != nil || len(p.Events) != 3 || !strings.Contains(p.Events[0].Text, "ended the turn") || len(p.Events[0].Event) == 0 {
		t.Errorf("%+v", p)
	}
	if p.Help != "plimsoll run --memory-max 6G -- make" || !slices.Equal(p.Next, []string{"give it more"}) {
		t.Errorf("next is %q, %q", p.Help, p.Next)
	}
	j.Append(journal.ChildKilled{PID: 12, Name: "jest", Bytes: 3 << 30, By: "kernel"})
	wait.Until(t, "the kill has been written", func() bool { p = read("talks"); return len(p.Events) == 4 })
	if p.Help != "plimsoll raise talks --memory 6G" || !strings.Contains(p.Verdict, "jest was killed on the way") {
		t.Errorf("while it lives: %q, %q", p.Help, p.Verdict)
	}
	if err := w.End(journal.Report{Tool: "claude", Outcome: journal.OutcomeOK, DurationMS: 61_000}); err != nil {
		t.Fatal(err)
	}
	if p = read("talks"); !strings.HasPrefix(p.Verdict, "It ended well, after 1m1s.") {
		t.Errorf("at its end: %q", p.Verdict)
	}
}

// Each thing that happens is a sentence in which nothing is left of the form of a record.
func TestEventsAreSentences(t *testing.T) {
	t.Parallel()
	for _, e := range []journal.Event{
		journal.Waiting{Position: 2, Reason: "memory"},
		journal.Admitted{ReservationBytes: 1 << 30},
		journal.Admitted{Nested: true},
		journal.Refused{Reason: "no room\nmore"},
		journal.LayerChosen{Layer: "cgroup2", Memory: "kernel"},
		journal.RunStarted{PID: 1},
		journal.RunStarted{PID: 1, LimitBytes: 1 << 30},
		journal.ChildKilled{Name: "jest", PID: 2, By: "plimsoll"},
		journal.OOMKills{Total: 2},
		journal.OOMDKills{},
		journal.Pressure{Action: "kill", Reason: "it grows"},
		journal.MemoryRaised{FromBytes: 1, ToBytes: 2, Why: "asked"},
		journal.LimitReached{Name: "time_max", Line: "hard", Did: "killed"},
		journal.Leftover{Name: "x", Fate: "killed"},
		journal.Orphan{Name: "x"},
		journal.RunIdle{For: time.Hour},
		journal.RunWoke{By: "input"},
		journal.Forgotten{Text: "2 idle runs hold much"},
		journal.RunEnded{Outcome: "ok", Duration: 1234 * time.Millisecond},
		journal.ToolCalled{Server: "s", Tool: "t", UpstreamBytes: 1 << 20, Spilled: true, DeliveredBytes: 7000},
		journal.ToolResultLarge{Server: "s", Tool: "t", Bytes: 1 << 20},
		journal.ToolsListed{Server: "s", Tools: 3},
		journal.ToolRefused{Tool: "rm", Why: "denied"},
		journal.ToolServer{Server: "s", State: "given_up", Reason: "it ended"},
		journal.WindowRequest{Model: "m", Tokens: 10, LimitTokens: 100},
		journal.AgentRequest{Model: "m"},
		journal.WindowResponse{Model: "m", Status: 200, Ended: "complete"},
		journal.WindowResponse{Status: 529, Ended: "complete"},
		journal.WindowResponse{Ended: "client_gone"},
		journal.WindowCompacted{Reason: "trigger"},
		journal.AgentRoom{Why: "window"},
		journal.WindowOverflow{Action: "given_up"},
		journal.WindowStalled{},
		journal.WindowLoop{Text: "read was called 4 times in a row", Did: "stopped"},
		journal.WindowRateWaited{Requests: 2, Longest: time.Second},
		journal.WindowRateWaited{Waiting: 1},
		journal.WindowPlan{Window: "5h"},
		journal.WindowRepaired{What: "moved", Count: 2},
		journal.WindowBreaker{Model: "m", State: "tripped", Reason: "r"},
		journal.WindowOn{Client: "claude"},
		journal.WindowOff{Reason: "it is off"},
		journal.AgentQueryStarted{},
		journal.AgentQueryEnded{Outcome: "completed", Steps: 2},
		journal.AgentCalled{Tool: "t"},
	} {
		text := eventSentence(e)
		if strings.Contains(text, "_") && !strings.Contains(text, "time_max") || strings.HasPrefix(text, strings.Split(e.Kind(), ".")[0]+":") || strings.Contains(text, "%!") || strings.Contains(text, "  ") || !strings.HasSuffix(text, ".") && e.Kind() != "process.refused" {
			t.Errorf("%s: %q", e.Kind(), text)
		}
	}
	if text := eventSentence(journal.MemoryEvicted{}); text != "memory: evicted" {
		t.Errorf("a rare one: %q", text)
	}
	records := []journal.Record{{Event: journal.LimitUsed{Name: "memory"}}}
	for n := range 3 * maxEvents {
		records = append(records, journal.Record{Seq: uint64(n), Event: journal.OOMKills{}})
	}
	if list := newestEvents(records); len(list) != maxEvents || list[0].Seq != 3*maxEvents-1 {
		t.Errorf("%d events, the first is %d", len(list), list[0].Seq)
	}
	if list := newestEvents(records[:1]); len(list) != 0 {
		t.Errorf("a sum is an event: %+v", list)
	}
}

// A kill is told with its own time, not that of the end, and with the command that helps.
func TestAlertsHaveTheTimeOfTheKillAndACommand(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	kill, end := now.Add(-2*time.Hour), now.Add(-time.Minute)
	entry := runs.Entry{ID: "abc", Tool: "claude", Outcome: "oom", Reason: "killed at its memory limit of 4 GiB", Ended: &end, Observed: runs.Observed{KilledAt: kill}}
	child := runs.Entry{ID: "def", Tool: "claude", Outcome: "ok", KilledChildren: 2, Ended: &end, Observed: runs.Observed{KilledAt: kill}}
	loop := runs.Entry{ID: "ghi", Tool: "claude", Outcome: "ok", Ended: &end, Window: journal.Window{Loops: 2, Loop: "read was called 4 times"}}
	list := collectAlerts([]runs.Entry{entry, child, loop}, nil, now, 0, func(e *runs.Entry, what string) string { return "plimsoll " + what + " " + e.ID })
	if len(list) != 3 || list[0].What != "loop" || list[0].Level != "warning" || list[0].Text != "repeats itself: read was called 4 times" ||
		!list[1].Time.Equal(kill) || !list[2].Time.Equal(kill) || list[1].Help != "plimsoll oom abc" || list[2].Text != "2 of its processes were killed for memory" {
		t.Errorf("%+v", list)
	}
}

// Idle runs are an alert while they hold more than a quarter of the machine, each with the command that ends it; one inside another counts
// in that.
func TestForgottenRunsAreAnAlert(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	live := func(id, state, parent string, bytes int64) *runs.Run {
		return &runs.Run{
			Entry:   runs.Entry{ID: id, Tool: "claude", Outcome: runs.Running, State: state, StateSince: now.Add(-time.Hour), Parent: parent, PID: 4711},
			Samples: []runs.Sample{{AtMS: 1, Working: bytes}},
		}
	}
	list := []*runs.Run{live("a", runs.Idle, "", 1<<30), live("b", runs.Idle, "", 2<<30), live("c", runs.YourTurn, "", 8<<30), live("d", runs.Idle, "b", 2<<30)}
	help := func(e *runs.Entry, what string) string { return (&past{}).commandFor(nil, e, what) }
	if got := collectAlerts(nil, list, now, 12<<30, help); len(got) != 0 {
		t.Errorf("a quarter is not more: %+v", got)
	}
	got := collectAlerts(nil, list, now, 10<<30, help)
	if len(got) != 2 || got[0].Run != "b" || got[0].What != "idle" || got[0].Help != "kill 4711" || !strings.Contains(got[0].Text, "holds 2 GiB; all that are idle hold 30 % of this machine") {
		t.Errorf("%+v", got)
	}
}

// A run may live for days: what happens in it now is told before what happened to others, whatever began first, and runs near their limits
// leave room for that.
func TestNewerAlertsGoFirst(t *testing.T) {
	t.Parallel()
	now := time.Unix(2_000_000, 0)
	help := func(e *runs.Entry, what string) string { return "plimsoll " + what + " " + e.ID }
	long := runs.Entry{ID: "long", Tool: "claude", Outcome: runs.Running, Started: now.Add(-72 * time.Hour), KilledChildren: 1, Observed: runs.Observed{
		KilledAt: now.Add(-time.Minute), LargestResult: 900 << 10, LargestTool: "files/read_all", LargestAt: now.Add(-2 * time.Minute),
	}}
	entries := []runs.Entry{}
	for i := range maxAlerts { // the newest first, as a store has them
		end := now.Add(-time.Duration(i+10) * time.Minute)
		entries = append(entries, runs.Entry{ID: fmt.Sprint("short", i), Tool: "make", Outcome: "oom", Started: end.Add(-time.Minute), Ended: &end})
	}
	entries = append(entries, long)
	list := collectAlerts(entries, nil, now, 0, help)
	if len(list) != maxAlerts || list[0].Run != "long" || list[0].What != "oom" || list[1].What != "result" || list[2].Run != "short0" {
		t.Errorf("%d alerts, the first %+v", len(list), list[:3])
	}
	if text := list[1].Text; text != "read_all of the MCP server files gave a result of 900 KiB, much for a model to read; ask it for less" {
		t.Errorf("it says %q", text)
	}
	var live []*runs.Run
	for i := range 2 * maxAlerts {
		r := runs.Follow(runs.Header{ID: fmt.Sprint("near", i), Kind: runs.KindRun, Started: now.Add(-time.Hour), Report: journal.Report{Tool: "node", LimitBytes: 100}})
		r.Samples = []runs.Sample{{Working: 95}}
		live = append(live, r)
	}
	if list = collectAlerts(entries, live, now, 0, help); len(list) != maxAlerts || list[0].Run != "near0" || list[maxAlerts/2].Run != "long" {
		t.Errorf("%d alerts; in the middle %+v", len(list), list[maxAlerts/2])
	}
	gateways := []runs.Entry{
		{ID: "g1", Kind: runs.KindGateway, Parent: "long", Tool: "mcp:files", Started: now, Observed: runs.Observed{LargestResult: 1 << 20, LargestTool: "files/x"}},
		{ID: "g2", Kind: runs.KindGateway, Tool: "mcp:files", Started: now.Add(-time.Second), Observed: runs.Observed{LargestResult: 1 << 20, LargestTool: "files/x"}},
		long,
	}
	if list = collectAlerts(gateways, nil, now, 0, help); list[0].Tool != "claude" || list[1].Tool != "MCP server files" {
		t.Errorf("a gateway is called %q in a run, %q alone", list[0].Tool, list[1].Tool)
	}
}

// The memory of the host is stacked by run: each at its time, the largest by themselves and the others as one.
func TestTheMemoryOfTheHostByRun(t *testing.T) {
	t.Parallel()
	s, base, dir := serving(t)
	c, base := enter(t, s, base)
	for n := range maxBands + 4 {
		w := runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: fmt.Sprintf("run%d", n), Kind: runs.KindRun, Report: journal.Report{Tool: fmt.Sprintf("tool%d", n)}})
		w.Observe(journal.Record{Seq: 1, Event: journal.RunStarted{PID: 1}})
		w.Sample(runs.Sample{AtMS: 1, Working: int64(n+1) << 20, Charged: 1 << 30})
		if err := w.End(journal.Report{Tool: fmt.Sprintf("tool%d", n), Outcome: journal.OutcomeOK, PeakBytes: int64(n+1) << 20}); err != nil {
			t.Fatal(err)
		}
	}
	inner := runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: "inner", Parent: "run1", Kind: runs.KindRun, Report: journal.Report{Tool: "inner"}})
	inner.Sample(runs.Sample{AtMS: 1, Working: 1 << 40})
	if err := inner.End(journal.Report{Tool: "inner", Outcome: journal.OutcomeOK, PeakBytes: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	s.hub.past.addReading(Host{TotalBytes: 8 << 30, AvailableBytes: 5 << 30}, time.Now())
	for range 2 { // read, and kept
		var m hostMemory
		readJSON(t, c, base+"/api/memory", &m)
		if m.Total != 8<<30 || len(m.Used) != memoryParts || slices.Max(m.Used) != 3<<30 || m.Used[0] != -1 {
			t.Errorf("the host: %d, %v", m.Total, m.Used)
		}
		if len(m.Bands) != maxBands+1 || m.Bands[maxBands].Tool != "4 other runs" || slices.Max(m.Bands[maxBands].Bytes) < 4<<20 {
			t.Errorf("%d bands: %+v", len(m.Bands), m.Bands)
		}
		for i, b := range m.Bands[:maxBands] {
			if want := int64(i+5) << 20; slices.Max(b.Bytes) != want || b.Tool != fmt.Sprintf("tool%d", i+4) || b.Bytes[0] != 0 {
				t.Errorf("band %d: %s, %v", i, b.Tool, b.Bytes)
			}
		}
	}
}

// A sample counts until the next one, and the last until the run's end.
func TestTheSeriesOfARun(t *testing.T) {
	t.Parallel()
	from := time.Unix(1_000_000, 0)
	ms := func(steps int) int64 { return int64(steps) * memoryStep.Milliseconds() }
	got := memoryPerStep([]runs.Sample{{AtMS: 0, Working: 1}, {AtMS: ms(12), Working: 5}, {AtMS: ms(14), Charged: 3}}, from.Add(-10*memoryStep), from.Add(7*memoryStep), from)
	if want := []int64{1, 1, 5, 5, 3, 3, 3, 3, 0}; !slices.Equal(got[:9], want) {
		t.Errorf("%v, not %v", got[:9], want)
	}
	if got := memoryPerStep([]runs.Sample{{Working: 1}}, from.Add(-10*memoryStep), from.Add(-memoryStep), from); slices.Max(got) != 0 {
		t.Errorf("it ended before: %v", got)
	}
}
