package top

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

// Sort is the order of rows.
type Sort string

// The orders. All but Age and Tool put the most first, Age the oldest.
const (
	ByMemory  Sort = "memory"
	ByCPU     Sort = "cpu"
	ByWindow  Sort = "window"
	ByResult  Sort = "result"
	ByCost    Sort = "cost"
	ByAge     Sort = "age"
	ByTool    Sort = "tool"
	ByProject Sort = "project"
)

// Sorts returns all orders, as the key s goes through them.
func Sorts() []Sort {
	return []Sort{ByMemory, ByCPU, ByWindow, ByResult, ByCost, ByAge, ByTool, ByProject}
}

// Screen says how to show a snapshot.
type Screen struct {
	// Width and Height are in cells; a height of 0 shows every row.
	Width, Height int
	Sort          Sort
	Reverse       bool
	// Filter shows only the rows that contain each of its words.
	Filter string
	// Selected is the ID of the row that is marked, "" for none.
	Selected string
	// Bottom are the lines below the rows: the note and the keys.
	Bottom []string
	// Color allows escape sequences.
	Color bool
	// scroll is the index of the first row shown; Frame keeps the selected one in sight.
	scroll int
}

// Arrange returns the rows that match a filter: live ones in order, each followed by the runs inside it, then ended ones, the newest first.
func Arrange(rows []Row, by Sort, reverse bool, filter string) []Row {
	var live, ended []Row
	for _, r := range rows {
		switch {
		case !matches(&r, filter):
		case r.Live():
			live = append(live, r)
		default:
			ended = append(ended, r)
		}
	}
	order := func(a, b Row) int {
		c := compare(&a, &b, by)
		if reverse {
			c = -c
		}
		return cmp.Or(c, a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
	}
	sorting.By(live, order)
	sorting.By(ended, func(a, b Row) int { return cmp.Or(b.Ended.Compare(*a.Ended), strings.Compare(a.ID, b.ID)) })
	return append(nested(live), ended...)
}

// compare orders two rows by a column: the largest, the oldest or the first in the alphabet comes first.
func compare(a, b *Row, by Sort) int {
	switch by {
	case ByCPU:
		return cmp.Compare(b.CPUPercent, a.CPUPercent)
	case ByWindow:
		return cmp.Compare(share(b.WindowTokens, b.WindowLimit), share(a.WindowTokens, a.WindowLimit))
	case ByResult:
		return cmp.Compare(b.LargestBytes, a.LargestBytes)
	case ByCost:
		return cmp.Compare(b.cost(), a.cost())
	case ByAge:
		return a.Started.Compare(b.Started)
	case ByTool:
		return strings.Compare(a.Tool, b.Tool)
	case ByProject:
		return strings.Compare(a.Project, b.Project)
	}
	return cmp.Compare(b.MemoryBytes, a.MemoryBytes)
}

// share returns part of whole as a fraction, 0 if whole is not above 0.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// nested returns the rows with each run after the run that it is inside of.
func nested(rows []Row) []Row {
	inside := map[string][]Row{}
	here := map[string]bool{}
	for _, r := range rows {
		here[r.ID] = true
	}
	var out []Row
	for _, r := range rows {
		if r.Parent != "" && here[r.Parent] && r.Parent != r.ID {
			inside[r.Parent] = append(inside[r.Parent], r)
		}
	}
	done := map[string]bool{}
	var put func(r Row)
	put = func(r Row) {
		if done[r.ID] {
			return
		}
		done[r.ID] = true
		out = append(out, r)
		for _, c := range inside[r.ID] {
			put(c)
		}
	}
	for _, r := range rows {
		if r.Parent == "" || !here[r.Parent] {
			put(r)
		}
	}
	for _, r := range rows { // each the other's parent: a damaged file
		put(r)
	}
	return out
}

// matches reports whether each word of a filter occurs in the tool, project, state or another name of the row, in any case. "" matches all.
func matches(r *Row, filter string) bool {
	if filter == "" {
		return true
	}
	text := strings.ToLower(strings.Join([]string{r.Tool, r.Variant, r.Project, r.ID, r.State, r.Kind, r.User, r.Host, shortState(r.State)}, " "))
	for word := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// Frame returns a snapshot as a screen, lines joined by line ends, none of them wider than the screen. It raises s.Width to 40 at least, and keeps
// in s how far the table is scrolled.
func Frame(snap Snapshot, s *Screen) string {
	s.Width = max(s.Width, 40)
	rows := Arrange(snap.Runs, cmp.Or(s.Sort, ByMemory), s.Reverse, s.Filter)
	p := painter{color: s.Color}
	lines := hostLines(&snap.Host, s, p)
	w := widthsFor(s.Width)
	w.hosts = snap.Host.Fleet != nil
	lines = append(lines, p.reverse(fit(w.header(), s.Width)))

	var body []func() string // only what fits on the screen is written
	marked := 0
	for i := range rows {
		r := &rows[i]
		if r.ID == s.Selected {
			marked = len(body)
		}
		body = append(body, func() string { return w.row(r, r.ID == s.Selected, p, s.Width) })
		if note := r.note(snap.Host.Time); note != "" {
			body = append(body, func() string { return p.faint(fit("      "+note, s.Width)) })
		}
		for i := range r.Tree {
			body = append(body, func() string { return p.faint(fit(processLine(&r.Tree[i]), s.Width)) })
		}
	}
	if len(body) == 0 {
		text := "  nothing runs under plimsoll; start something: plimsoll run -- COMMAND"
		if len(snap.Runs) > 0 {
			text = fmt.Sprintf("  none of %d runs matches %q; esc shows all", len(snap.Runs), printable.Name(s.Filter))
		}
		body = append(body, func() string { return fit(text, s.Width) })
	}
	room, below := len(body), 0
	if s.Height > 0 {
		room = max(1, s.Height-len(lines)-len(s.Bottom))
		body, below = s.window(body, marked, room)
		if below > 0 && room > 1 {
			body[room-1] = func() string { return fit(fmt.Sprintf("  … %d more lines", below+1), s.Width) }
		}
	}
	for _, line := range body {
		lines = append(lines, line())
	}
	for range room - len(body) {
		lines = append(lines, "")
	}
	for _, b := range s.Bottom {
		lines = append(lines, fit(b, s.Width))
	}
	return strings.Join(lines, "\n")
}

// window returns the room lines that are shown, with the marked one in sight, and how many follow below; the marked one is never the last
// of them then, so that a note can replace that.
func (s *Screen) window(lines []func() string, marked, room int) (part []func() string, below int) {
	last := marked + 1 // what must show
	if last < len(lines) && room > 1 {
		last++
	}
	s.scroll = max(0, min(max(min(s.scroll, marked), last-room), len(lines)-room))
	end := min(len(lines), s.scroll+room)
	return lines[s.scroll:end], len(lines) - end
}

// hostLines returns the lines at the top: three, and one of the fleet.
func hostLines(h *Host, s *Screen, p painter) []string {
	waiting := len(h.Waiting)
	head := fmt.Sprintf("plimsoll top  %s  %d running, %d waiting", h.Time.Local().Format("15:04:05"), h.Running, waiting)
	if h.Replayed {
		head = fmt.Sprintf("plimsoll top  replay of %s  %d running, %d waiting", h.Time.Local().Format("2006-01-02 15:04:05"), h.Running, waiting)
	}
	head += "  by " + string(cmp.Or(s.Sort, ByMemory))
	if s.Reverse {
		head += " reversed"
	}
	if s.Filter != "" {
		head += "  /" + printable.Name(s.Filter)
	}
	memory := "host  "
	if h.TotalBytes > 0 {
		free := fmt.Sprintf("%s free of %s", size(h.AvailableBytes), size(h.TotalBytes))
		if h.AvailableBytes < h.MinFreeBytes {
			free = p.red(free)
		}
		memory += free + fmt.Sprintf(", %s kept; %s reserved", size(h.MinFreeBytes), size(h.ReservedBytes))
		if h.Pressure != nil {
			memory += fmt.Sprintf("; stalls: memory %.0f%%, disk %.0f%%", h.Pressure.MemorySome, h.Pressure.IOSome)
		}
	} else if h.Replayed {
		memory += size(h.ReservedBytes) + " reserved; its memory is not kept"
	}
	if h.Unread != "" {
		memory += map[bool]string{true: "", false: "; "}[memory == "host  "] + "not read: " + printable.Name(h.Unread)
	}
	wait := "nobody waits"
	if waiting > 0 {
		var names []string
		for _, w := range h.Waiting {
			names = append(names, fmt.Sprintf("%d. %s in %s for %s since %s", w.Position, printable.Name(w.Tool), printable.Name(w.Project),
				size(w.AsksBytes), shortTime(h.Time.Sub(w.Since))))
		}
		wait = "waits " + strings.Join(names, "; ")
	}
	if h.TotalBytes > 0 && h.IdleBytes > h.TotalBytes/4 {
		wait += "; " + p.yellow(fmt.Sprintf("idle runs hold %s, %d%%: e ends the selected one", size(h.IdleBytes), 100*h.IdleBytes/h.TotalBytes))
	}
	lines := []string{fit(head, s.Width), fit(memory, s.Width), fit(wait, s.Width)}
	if h.Fleet != nil {
		lines = append(lines, fit(h.Fleet.line(h.Time, p), s.Width))
	}
	return lines
}

// widths are the widths of the two columns that share what the others leave.
type widths struct {
	tool, project int
	definitions   bool // has a column for them
	hosts         bool // names of hosts stand before those of projects
}

// fixedColumns is the width of all other columns, the spaces between included.
const fixedColumns = 62

// definitionsFrom is the width from which a screen has a column for the tokens of tool definitions.
const definitionsFrom = 100

// widthsFor returns the widths of the columns that are not fixed. On narrow screens they are at least 8 and 4 cells, and the line is longer than
// the screen.
func widthsFor(screen int) widths {
	rest := max(12, screen-fixedColumns)
	wide := screen >= definitionsFrom
	if wide {
		rest -= 6
	}
	tool := min(max(8, rest*9/20), 24)
	return widths{tool: tool, project: max(4, min(rest-tool, 40)), definitions: wide}
}

// header returns the line with the names of the columns.
func (w widths) header() string {
	definitions, project := "", "PROJECT"
	if w.definitions {
		definitions = "  DEFS"
	}
	if w.hosts {
		project = "HOST:PROJECT"
	}
	return " " + cell("STATE", 5) + cell("TOOL", w.tool) + cell(project, w.project) +
		"  MEM PEAK  LIM RSVD  CPU    WINDOW" + definitions + " CUT RSLT KIL  AGE"
}

// row returns one line of the table.
func (w widths) row(r *Row, selected bool, p painter, width int) string {
	mark := " "
	if selected {
		mark = ">"
	}
	tool, project := config.NameTool(r.Tool, r.Variant), r.Project
	if r.Parent != "" && r.Live() {
		tool = "└" + tool
	}
	switch {
	case r.Host != "":
		project = r.Host + ":" + project
	case r.User != "":
		project = "user " + r.User
	}
	window := "-"
	if r.WindowLimit > 0 || r.WindowTokens > 0 {
		window = limit.Tokens(r.WindowTokens) + "/" + limit.Tokens(r.WindowLimit)
	}
	cpu := "-"
	if r.CPUPercent >= 0 && r.Live() && r.State != runs.Waiting {
		cpu = fmt.Sprintf("%.0f%%", r.CPUPercent)
	}
	memory := right(sizeOr(r.MemoryBytes, r.Live() && r.State != runs.Waiting), 4)
	state, kills, tokens := cell(shortState(r.State), 5), right(count(int64(r.Kills)), 3), right(window, 9)
	if r.Live() && !selected {
		state = stateColor(r.State, p)(state)
		memory = ratioColor(r.MemoryBytes, r.LimitBytes, p)(memory)
		tokens = ratioColor(r.WindowTokens, r.WindowLimit, p)(tokens)
		if r.Kills > 0 {
			kills = p.red(kills)
		}
	}
	if w.definitions {
		text := "-"
		if r.DefinitionTokens > 0 {
			text = limit.Tokens(int64(r.DefinitionTokens))
		}
		tokens += " " + right(text, 5)
	}
	line := mark + state + cell(printable.Name(tool), w.tool) + cell(printable.Name(project), w.project) +
		" " + memory + " " + right(sizeOr(r.PeakBytes, r.PeakBytes > 0), 4) + " " + right(sizeOr(r.LimitBytes, r.LimitBytes > 0), 4) +
		" " + right(sizeOr(r.ReservationBytes, r.ReservationBytes > 0), 4) + " " + right(cpu, 4) + " " + tokens +
		" " + right(count(r.Compactions), 3) + " " + right(sizeOr(r.LargestBytes, r.LargestBytes > 0), 4) + " " + kills +
		" " + right(shortTime(time.Duration(r.AgeMS)*time.Millisecond), 4)
	line = fit(line, width)
	switch {
	case selected:
		return p.reverse(line)
	case !r.Live():
		return p.faint(line)
	}
	return line
}

// note returns what the columns have no room for: why the run is stale, for how long it is idle, --force, orphans, how often the agent repeated
// itself, and what it has spent when that was all; mostly "".
func (r *Row) note(now time.Time) string {
	var parts []string
	if r.State == Stale {
		parts = append(parts, "stale: "+printable.Name(r.Reason))
	}
	if r.State == runs.Idle {
		parts = append(parts, "used by nobody for "+shortTime(now.Sub(r.StateSince)))
	}
	if r.Forced && r.Live() {
		parts = append(parts, "started by --force")
	}
	if r.Orphans > 0 {
		parts = append(parts, limit.Count(r.Orphans, "orphan"))
	}
	if r.maySpendNoMore() {
		parts = append(parts, r.spentWords()+" (+ gives it more)")
	}
	if r.Loops > 0 && r.Live() {
		parts = append(parts, "repeated itself "+limit.Count(r.Loops, "time"))
	}
	return strings.Join(parts, ", ")
}

// deepest bounds the indentation of a process in the tree.
const deepest = 12

// processLine returns the line of a process, indented by its depth, which counts up to deepest.
func processLine(t *Process) string {
	note := ""
	switch {
	case t.Daemon:
		note = "  (orphan, daemon)"
	case t.Orphan:
		note = "  (orphan)"
	}
	cpu := "-"
	if t.CPUMS >= 0 {
		cpu = shortTime(time.Duration(t.CPUMS) * time.Millisecond)
	}
	return fmt.Sprintf("      %7d %-1s %4s %4s  %s%s%s", t.PID, printable.Name(t.State), size(t.Bytes), cpu,
		strings.Repeat("  ", min(t.Depth, deepest)), printable.Name(t.Name), note)
}

// shortState returns a state in at most five letters.
func shortState(state string) string {
	switch state {
	case runs.Running:
		return "run"
	case runs.Waiting:
		return "wait"
	case runs.YourTurn:
		return "you"
	case Paused:
		return "pause"
	case "refused":
		return "refus"
	case "signalled":
		return "signl"
	case "failed":
		return "fail"
	}
	return printable.Name(ansi.Truncate(state, 5, ""))
}
