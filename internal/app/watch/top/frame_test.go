package top

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/plimsoll/plimsoll/internal/testing/golden"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

const (
	mib = int64(1 << 20)
	gib = int64(1 << 30)
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// busy is a host with a bit of everything.
func busy() Snapshot {
	ended := noon.Add(-time.Minute)
	return Snapshot{
		Host: Host{
			Time: noon, TotalBytes: 16 * gib, AvailableBytes: 3 * gib, MinFreeBytes: 800 * mib, ReservedBytes: 9 * gib,
			Pressure: &Pressure{MemorySome: 1.2, IOSome: 12}, Running: 4,
			Waiting: []Waiter{{ID: "wwww0001", Tool: "codex", Project: "web", Position: 1, AsksBytes: 4 * gib, Since: noon.Add(-40 * time.Second)}},
		},
		Runs: []Row{
			{View: runs.View{ID: "oooo0001", Kind: runs.KindRun, Tool: "claude", Project: "docs", State: "oom", Reason: "killed at its memory limit of 4 GiB", Started: noon.Add(-10 * time.Minute), Ended: &ended, PeakBytes: 4 * gib, LimitBytes: 4 * gib, ReservationBytes: 4 * gib, CPUPercent: -1, WindowTokens: 90_000, WindowLimit: 200_000, Compactions: 1, Kills: 1}, PID: 11, AgeMS: 540_000},
			{View: runs.View{ID: "aaaa0001", Kind: runs.KindRun, Tool: "claude", Project: "shop", State: runs.Running, Started: noon.Add(-41 * time.Minute), MemoryBytes: 3700 * mib, PeakBytes: 3800 * mib, LimitBytes: 4 * gib, ReservationBytes: 4 * gib, CPUPercent: 64.4, Processes: 9, WindowTokens: 158_000, WindowLimit: 200_000, Compactions: 2, LargestBytes: 884 << 10, LargestTool: "argocd/list", Kills: 1, Spent: []journal.Limit{{Name: "cost_max", Unit: runs.UnitMoney, Hard: 5e6, Used: 5_020_000, Reached: journal.LineHard}}}, PID: 12, AgeMS: 41 * 60_000, DefinitionTokens: 23_400, Loops: 2},
			{View: runs.View{ID: "bbbb0001", Kind: runs.KindRun, Parent: "aaaa0001", Tool: "npm", Variant: "test", Project: "shop", State: runs.Running, Started: noon.Add(-95 * time.Second), MemoryBytes: 610 * mib, PeakBytes: 1200 * mib, LimitBytes: 2 * gib, ReservationBytes: 2 * gib, CPUPercent: 183}, PID: 13, AgeMS: 95_000, Forced: true, Orphans: 1, Tree: []Process{
				{PID: 100, Name: "npm test", State: "S", Bytes: 60 * mib, CPUMS: 900},
				{PID: 101, Parent: 100, Depth: 1, Name: "node\x1b[31m", State: "R", Bytes: 550 * mib, CPUMS: 90_000},
				{PID: 102, Parent: 1, Name: "watchman", State: "S", Bytes: mib, CPUMS: -1, Orphan: true},
			}},
			{View: runs.View{ID: "wwww0001", Kind: runs.KindRun, Tool: "codex", Project: "web", State: runs.Waiting, Reason: "waits for memory, 1 in the queue", Started: noon.Add(-40 * time.Second), LimitBytes: 4 * gib, ReservationBytes: 4 * gib, CPUPercent: -1}, Position: 1, AgeMS: 40_000},
			{View: runs.View{ID: "pppp0001", Kind: runs.KindRun, Tool: "日本語の長い名前", Project: "p\x1b]0;x\x07\u202eq\nr", State: Paused, Started: noon.Add(-50 * time.Hour), MemoryBytes: 1300 * mib, PeakBytes: 2 * gib, LimitBytes: 0, ReservationBytes: 0, CPUPercent: 0}, AgeMS: 50 * 3600_000},
			{View: runs.View{ID: "uuuu0001", Kind: runs.KindRun, Tool: "gemini", State: runs.Running, Started: noon.Add(-time.Hour), MemoryBytes: 2 * gib, ReservationBytes: 3 * gib, CPUPercent: -1}, User: "eve", AgeMS: 3600_000},
		},
	}
}

// forgotten is the same host with a run that waits for its user, and one that nobody uses and that holds much.
func forgotten() Snapshot {
	s := busy()
	s.Host.IdleBytes = 5 * gib
	s.Runs = append(s.Runs,
		Row{View: runs.View{ID: "iiii0001", Kind: runs.KindRun, Tool: "claude", Project: "old", State: runs.Idle, StateSince: noon.Add(-5 * time.Hour), Started: noon.Add(-6 * time.Hour), MemoryBytes: 5 * gib, PeakBytes: 5 * gib, LimitBytes: 8 * gib, ReservationBytes: 5 * gib}, PID: 14, AgeMS: 6 * 3600_000},
		Row{View: runs.View{ID: "yyyy0001", Kind: runs.KindRun, Tool: "codex", Project: "web", State: runs.YourTurn, StateSince: noon, Started: noon.Add(-time.Minute), MemoryBytes: gib}, PID: 15, AgeMS: 60_000},
	)
	return s
}

// fits holds what every frame keeps to: its size, and nothing but what it draws itself gets to the terminal.
func fits(t *testing.T, frame string, width, height int) {
	t.Helper()
	lines := strings.Split(frame, "\n")
	if height > 0 && len(lines) != height {
		t.Errorf("%d lines, not %d", len(lines), height)
	}
	for _, line := range lines {
		if n := ansi.StringWidth(line); n > width {
			t.Errorf("%d cells wide: %q", n, line)
		}
	}
	for _, bad := range []string{"\x1b[31mx", "\x1b]", "\a", "\u202e", "\r"} {
		if strings.Contains(frame, bad) {
			t.Errorf("%q gets to the terminal", bad)
		}
	}
}

func TestFramesStay(t *testing.T) {
	bottom := []string{"run aaaa0001, pid 12", "q quit"}
	for name, s := range map[string]Screen{
		"80x24":   {Width: 80, Height: 24, Selected: "aaaa0001", Bottom: bottom},
		"120x30":  {Width: 120, Height: 30, Sort: ByAge, Bottom: bottom},
		"80x10":   {Width: 80, Height: 10, Selected: "uuuu0001", Bottom: bottom},
		"filter":  {Width: 80, Height: 12, Filter: "shop run", Bottom: bottom},
		"nothing": {Width: 80, Height: 12, Filter: "no such", Bottom: bottom},
		"once":    {Width: 80},
	} {
		frame := Frame(busy(), &s)
		fits(t, frame, s.Width, s.Height)
		golden.Check(t, "testdata/"+name+".txt", frame+"\n")
	}
	idle := Frame(forgotten(), &Screen{Width: 100, Height: 24})
	fits(t, idle, 100, 24)
	golden.Check(t, "testdata/idle.txt", idle+"\n")
	empty := Frame(Snapshot{Host: Host{Time: noon, Unread: "the ledger: it is locked"}}, &Screen{Width: 80, Height: 8})
	fits(t, empty, 80, 8)
	golden.Check(t, "testdata/empty.txt", empty+"\n")
}

// Colours only add to a frame.
func TestColoursSayNothingThatWordsDoNot(t *testing.T) {
	with, without := Screen{Width: 100, Height: 30, Selected: "bbbb0001", Color: true}, Screen{Width: 100, Height: 30, Selected: "bbbb0001"}
	colored := Frame(busy(), &with)
	if !strings.Contains(colored, "\x1b[31m") || ansi.Strip(colored) != Frame(busy(), &without) {
		t.Errorf("%s", ansi.Strip(colored))
	}
}

// Whatever the window is, the selected row shows.
func TestTheSelectedRowShows(t *testing.T) {
	snap := Snapshot{Host: Host{Time: noon}}
	for i := range 60 {
		snap.Runs = append(snap.Runs, Row{View: runs.View{ID: "run" + string(rune('A'+i)), Tool: "t", State: runs.Running, Started: noon.Add(time.Duration(i) * time.Second)}})
	}
	s := Screen{Width: 80, Height: 12, Sort: ByAge, Bottom: []string{"", ""}}
	order := make([]int, 0, 240)
	for i := range 60 {
		order = append(order, i)
	}
	for i := range 60 {
		order = append(order, 59-i, 0, 30)
	}
	for _, i := range order {
		s.Selected = snap.Runs[i].ID
		if frame := Frame(snap, &s); !strings.Contains(frame, "\n> ") && !strings.Contains(frame, "\n>run") {
			t.Fatalf("row %d is not in\n%s", i, frame)
		}
	}
}

// story is a run that waited, grew, made room, and was killed.
func story() *runs.Run {
	ended := noon.Add(10 * time.Minute)
	r := &runs.Run{
		Entry: runs.Entry{
			ID: "ssss0001", Kind: runs.KindRun, Tool: "claude", Project: "shop", PID: 7, Started: noon, Ended: &ended, Outcome: "oom",
			Reason: "killed at its memory limit of 4 GiB", DurationMS: 600_000, PeakBytes: 4 * gib, LimitBytes: 4 * gib, ReservationBytes: 4 * gib, OOMKills: 1,
			Window: journal.Window{Requests: 6, TokensIn: 600_000, TokensOut: 9000, PeakTokens: 160_000, LimitTokens: 200_000, Compactions: 1, Stalled: 1, Loops: 2, Loop: "read was called 4 times in a row\x1b[2J"},
			MCP:    journal.MCP{Calls: 3, DefinitionTokens: 23_400, Deferred: 61},
		},
		Report: journal.Report{Command: []string{"claude", "-p", "fix\x1b[2Jit"}, Limits: []journal.Limit{
			{Name: "tokens_max", Unit: runs.UnitTokens, Hard: 2_000_000, Used: 609_000},
			{Name: "budget.day", Unit: runs.UnitMoney, Hard: 20e6, Used: 17_500_000, Reached: journal.LineSoft},
		}},
		Model:     "claude-opus-5-5",
		Admission: &journal.Admitted{ReservationBytes: 4 * gib, Waited: time.Minute, AvailableBytes: 12 * gib, ClaimedBytes: 2 * gib, MinFreeBytes: gib},
	}
	for i := range 9 {
		at := time.Duration(i+1) * time.Minute
		r.Samples = append(r.Samples, runs.Sample{AtMS: at.Milliseconds(), Working: int64(i+1) * 450 * mib, CPUMS: int64(i*i) * 1000, Processes: i + 1})
	}
	for i, tokens := range []int64{40_000, 90_000, 160_000, 70_000, 80_000, 95_000} {
		r.Context = append(r.Context, runs.Context{Time: noon.Add(time.Duration(i+2) * time.Minute), Tokens: tokens, Limit: 200_000, Model: r.Model})
	}
	r.Compactions = []runs.Compaction{{Time: noon.Add(4*time.Minute + time.Second), WindowCompacted: journal.WindowCompacted{
		Reason: "trigger", Rungs: []string{"results", "summary"}, Before: 160_000, After: 70_000, CutBytes: 300_000,
	}}}
	r.Kills = []runs.Kill{{Time: ended, Name: "claude", Bytes: 4 * gib, By: "kernel", What: "the command itself"}}
	r.Largest = []runs.Result{{Time: noon.Add(3 * time.Minute), ToolCalled: journal.ToolCalled{Server: "argocd", Tool: "list", UpstreamBytes: 900_000, DeliveredBytes: 6000, Spilled: true}}}
	r.Tools = []runs.Tool{{Server: "argocd", Tool: "list", Calls: 3, UpstreamBytes: 1_200_000, DeliveredBytes: 9000, MaxBytes: 900_000}}
	return r
}

func TestThePageOfARunStays(t *testing.T) {
	r := story()
	row := rowOf(&r.Entry, noon.Add(time.Hour), nil)
	page := strings.Join(pageLines(r, &row, noon.Add(time.Hour), 80, painter{}), "\n")
	fits(t, page, 80, 0)
	golden.Check(t, "testdata/page.txt", page+"\n")
}

// A replay shows a run as it was, and no later.
func TestARunAsItWas(t *testing.T) {
	r := story()
	for _, c := range []struct {
		after                   time.Duration
		state                   string
		memory, tokens, largest int64
		compactions             int64
		kills                   int
	}{
		{30 * time.Second, runs.Waiting, 0, 0, 0, 0, 0},
		{90 * time.Second, runs.Running, 450 * mib, 0, 0, 0, 0},
		{3*time.Minute + time.Second, runs.Running, 3 * 450 * mib, 90_000, 900_000, 0, 0},
		{5 * time.Minute, runs.Running, 5 * 450 * mib, 70_000, 900_000, 1, 0},
		{11 * time.Minute, "oom", 0, 160_000, 0, 1, 1},
	} {
		row := rowAt(r, noon.Add(c.after), nil)
		if row.State != c.state || row.MemoryBytes != c.memory || row.WindowTokens != c.tokens || row.Compactions != c.compactions || row.Kills != c.kills ||
			c.state == runs.Running && row.LargestBytes != c.largest {
			t.Errorf("after %s: %+v", c.after, row)
		}
		if row.Live() == (c.state == "oom") {
			t.Errorf("after %s: ended %v", c.after, row.Ended)
		}
	}
}

func TestSizesTakeFourCells(t *testing.T) {
	for n := int64(1); n > 0 && n < 900<<40; n = n*3 + 1 {
		if text := size(n); ansi.StringWidth(text) > 4 {
			t.Errorf("%d is %q", n, text)
		}
	}
	for _, c := range []struct {
		n    int64
		want string
	}{{0, "0"}, {999, "999B"}, {1000, "1K"}, {1536, "1.5K"}, {999 * mib, "999M"}, {1023 * mib, "1G"}, {4 * gib, "4G"}} {
		if got := size(c.n); got != c.want {
			t.Errorf("%d is %q, not %q", c.n, got, c.want)
		}
	}
	for d := time.Duration(0); d < 9000*24*time.Hour; d = d*2 + time.Second {
		if text := shortTime(d); len(text) > 5 {
			t.Errorf("%s is %q", d, text)
		}
	}
}
