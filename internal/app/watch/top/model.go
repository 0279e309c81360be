package top

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

// Controls are the actions of a source on a run. Each returns a note for the person.
type Controls interface {
	Pause(id string) (note string, err error)
	Continue(id string) (note string, err error)
	End(id string) (note string, err error)
	// Raise asks for half as much again of what the run may spend, where that is used up, else for a quarter more memory.
	Raise(id string) (note string, err error)
}

// Every is the time between two screens.
const Every = time.Second

// model is the state of the screen and the person's choices. Only Update changes it.
type model struct {
	source Source
	every  time.Duration
	ctx    context.Context

	begins *beginning // the first look, nil when it is done
	failed error      // why there is none

	snap    Snapshot
	err     error // of the last look
	reading bool  // a look is under way
	again   bool  // and another one is wanted after it
	screen  Screen
	trees   map[string]bool
	all     bool // every tree is open

	typing  bool            // the filter is being written
	asking  *Row            // the run that is to be ended, if the person says yes
	leaving bool            // q was pressed, and runs are paused
	note    string          // what happened last
	paused  map[string]bool // by this screen
	help    bool

	open   string // the run whose page is open
	page   *runs.Run
	pageAt time.Time
	scroll int
}

type (
	tickMsg  struct{}
	begunMsg struct{} // the first look is done
	snapMsg  struct {
		snap Snapshot
		err  error
	}
	pageMsg struct {
		id  string
		run *runs.Run
		err error
	}
	doneMsg struct {
		note string
		err  error
		id   string
		then effect
	}
)

// newModel returns a model that shows a first snapshot.
func newModel(ctx context.Context, source Source, o Options, first Snapshot) *model {
	m := &model{
		source: source, every: cmp.Or(o.Every, Every), ctx: ctx, snap: first, all: o.Trees,
		screen: Screen{Width: 80, Height: 24, Sort: cmp.Or(o.Sort, ByMemory), Filter: o.Filter, Color: true},
		trees:  map[string]bool{}, paused: map[string]bool{},
	}
	m.fixSelection()
	return m
}

// maxBeginning bounds the wait of the screen for the first look. A store on a slow disk takes longer, and the person may leave.
const maxBeginning = time.Second / 4

// Init implements [tea.Model]. It waits for the first look, for maxBeginning at most: there is nothing to show before, and the writer to
// the terminal has begun its rounds meanwhile.
func (m *model) Init() tea.Cmd {
	if m.begins == nil {
		return m.wait(m.every)
	}
	select {
	case <-m.begins.done:
		return m.begin()
	case <-time.After(maxBeginning):
		return func() tea.Msg {
			<-m.begins.done
			return begunMsg{}
		}
	}
}

// begin takes over the result of the first look, or quits when that failed.
func (m *model) begin() tea.Cmd {
	m.source, m.snap, m.failed = m.begins.wait()
	m.begins = nil
	if m.failed != nil {
		return tea.Quit
	}
	m.fixSelection()
	return m.wait(m.every)
}

func (m *model) wait(d time.Duration) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return tickMsg{} })
}

// look returns a command that reads a snapshot. While one is being read it returns nil, and another one is read after it.
func (m *model) look() tea.Cmd {
	if m.reading {
		m.again = true
		return nil
	}
	m.reading, m.again = true, false
	want := Want{AllTrees: m.all, Trees: map[string]bool{}, Filter: m.screen.Filter, Sort: m.screen.Sort, Reverse: m.screen.Reverse}
	for id := range m.trees {
		want.Trees[id] = true
	}
	if m.open != "" {
		want.Trees[m.open] = true
	}
	return func() tea.Msg {
		snap, err := m.source.Read(m.ctx, want)
		return snapMsg{snap, err}
	}
}

// lookInto returns a command that reads the page of the open run.
func (m *model) lookInto() tea.Cmd {
	id := m.open
	return func() tea.Msg {
		run, err := m.source.Run(m.ctx, id)
		return pageMsg{id, run, err}
	}
}

// pageRests bounds the age of a run's page: it is read from the beginning of its file.
const pageRests = 2 * time.Second

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.screen.Width, m.screen.Height = msg.Width, msg.Height
	case begunMsg:
		return m, m.begin()
	case tickMsg:
		cmds := []tea.Cmd{m.look(), m.wait(m.every)}
		if m.open != "" && m.snap.Host.Time.Sub(m.pageAt).Abs() >= pageRests {
			cmds = append(cmds, m.lookInto())
		}
		return m, tea.Batch(cmds...)
	case snapMsg:
		m.reading, m.err = false, msg.err
		if msg.err == nil {
			m.snap = msg.snap
			m.fixSelection()
		}
		if m.again {
			return m, m.look()
		}
	case pageMsg:
		if msg.id != m.open {
			return m, nil
		}
		m.pageAt = m.snap.Host.Time
		if msg.run == nil || msg.err != nil {
			m.open, m.page, m.note = "", nil, errorText(msg.err)
			return m, nil
		}
		m.page = msg.run
	case doneMsg:
		m.note = msg.note
		if msg.err != nil {
			m.note = errorText(msg.err)
		} else if msg.then == pauses {
			m.paused[msg.id] = true
		} else if msg.then == goesOn {
			delete(m.paused, msg.id)
		}
		return m, m.look()
	case tea.KeyPressMsg:
		if m.begins != nil {
			if k := msg.String(); k == "q" || k == "ctrl+c" {
				return m, tea.Quit
			}
			return m, nil
		}
		return m, m.handleKey(msg)
	}
	return m, nil
}

// errorText returns "not done: " and the error, "" for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return "not done: " + err.Error()
}

// fixSelection selects the first row if the selected one is gone.
func (m *model) fixSelection() {
	rows := m.rows()
	if slices.ContainsFunc(rows, func(r Row) bool { return r.ID == m.screen.Selected }) {
		return
	}
	m.screen.Selected = ""
	if len(rows) > 0 {
		m.screen.Selected = rows[0].ID
	}
}

func (m *model) rows() []Row {
	return Arrange(m.snap.Runs, m.screen.Sort, m.screen.Reverse, m.screen.Filter)
}

// selected returns the selected row, nil when there is none.
func (m *model) selected() *Row {
	return rowIn(m.snap.Runs, m.screen.Selected)
}

// rowIn returns a pointer to the row with an id, nil if there is none.
func rowIn(rows []Row, id string) *Row {
	for i := range rows {
		if rows[i].ID == id {
			return &rows[i]
		}
	}
	return nil
}

// View implements [tea.Model].
func (m *model) View() tea.View {
	if m.failed != nil {
		return tea.NewView("") // the person's own screen stays
	}
	text := "reading what runs"
	if m.begins == nil {
		text = m.frame()
	}
	v := tea.NewView(text)
	v.AltScreen = true
	v.WindowTitle = "plimsoll top"
	return v
}

// frame returns the whole screen.
func (m *model) frame() string {
	s := &m.screen
	p := painter{color: s.Color}
	if m.help {
		return strings.Join(m.visible(helpLines(m.isReplay()), "any key goes back"), "\n")
	}
	if m.open != "" {
		lines := []string{"reading run " + printable.Name(m.open)}
		if row := rowIn(m.snap.Runs, m.open); m.page != nil {
			if row == nil { // it has left the screen
				last := rowOf(&m.page.Entry, m.snap.Host.Time, nil)
				row = &last
			}
			lines = pageLines(m.page, row, m.snap.Host.Time, s.Width, p)
		}
		return strings.Join(m.visible(lines, m.bottom(p)...), "\n")
	}
	s.Bottom = m.bottom(p)
	return Frame(m.snap, s)
}

// visible returns the part of lines that fits on the screen, scrolled by m.scroll, which it brings within bounds, and below it the lines in
// bottom.
func (m *model) visible(lines []string, bottom ...string) []string {
	room := max(1, m.screen.Height-len(bottom))
	m.scroll = max(0, min(m.scroll, len(lines)-room))
	out := make([]string, 0, m.screen.Height)
	out = append(out, lines[m.scroll:min(len(lines), m.scroll+room)]...)
	for i := range out {
		out[i] = fit(out[i], m.screen.Width)
	}
	for len(out) < room {
		out = append(out, "")
	}
	for _, b := range bottom {
		out = append(out, fit(b, m.screen.Width))
	}
	return out
}

// bottom returns the last two lines: a note or a question, and the keys.
func (m *model) bottom(p painter) []string {
	keys := "q quit  enter open  t tree  s sort  / filter  p pause  c continue  e end  ? keys"
	switch {
	case m.open != "":
		keys = "esc back  ↑↓ scroll  p pause  c continue  e end  q quit"
	case m.isReplay():
		keys = "q quit  space stop/go  ←→ 10 s  [ ] 5 min  + - speed  enter open  s sort  / filter"
	}
	note := printable.Name(m.note)
	switch r := m.selected(); {
	case m.typing:
		return []string{"filter: " + printable.Name(m.screen.Filter) + "_", "enter keeps it  esc shows all"}
	case m.asking != nil:
		return []string{
			p.bold(fmt.Sprintf("End %s in %s (run %s)?", printable.Name(m.asking.Tool), printable.Name(m.asking.Project), printable.Name(m.asking.ID))),
			"y asks it to end (SIGTERM), a second time kills what stays; every other key leaves it alone",
		}
	case m.leaving:
		return []string{
			p.bold(fmt.Sprintf("%d runs that were paused here stay paused: %s", len(m.paused), strings.Join(m.pausedIDs(), ", "))),
			"c lets them go on and leaves; q leaves them paused; every other key stays",
		}
	case m.err != nil:
		note = p.red("not read: " + printable.Name(m.err.Error()))
	case note == "" && r != nil:
		note = "run " + printable.Name(r.ID)
		if r.PID > 0 {
			note += fmt.Sprintf(", pid %d", r.PID)
		}
		if r.LargestTool != "" {
			note += ", largest result of " + printable.Name(r.LargestTool)
		}
		if r.DefinitionTokens > 0 {
			note += ", definitions of tools " + limit.Tokens(int64(r.DefinitionTokens)) + " tokens"
		}
		if words := r.spentWords(); words != "" {
			note += ", " + words
		}
		if r.Reason != "" {
			note += ": " + printable.Name(r.Reason)
		}
	}
	return []string{note, p.faint(keys)}
}

func (m *model) pausedIDs() []string {
	ids := make([]string, 0, len(m.paused))
	for id := range m.paused {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (m *model) isReplay() bool {
	_, is := m.source.(*Replay)
	return is
}

func helpLines(replay bool) []string {
	lines := []string{
		"plimsoll top", "",
		"  ↑ ↓ pgup pgdn home end   choose a run",
		"  enter                    open it: memory and window over time, kills, results",
		"  esc                      back; empty the filter",
		"  t, T                     processes of this run, of every run",
		"  s, S                     sort by the next column, the other way round",
		"  /                        filter by words of tool, project, state, id",
		"  p                        pause: every process stops and keeps its memory",
		"  c                        continue",
		"  +                        a quarter more memory, within what is free; for a run",
		"                           that may spend no more, half as much again to spend",
		"  e                        end (asks first)",
		"  q                        quit",
		"", "  MEM PEAK LIM RSVD  memory now, at most, allowed, reserved",
		"  CPU                of one processor",
		"  WINDOW             tokens of the last request, and what the model takes",
		"  DEFS               tokens of each request that the definitions of MCP tools take (on wide screens)",
		"  CUT                how often the conversation was shortened",
		"  RSLT               the largest result of a tool",
		"  KIL                processes that were killed for memory",
	}
	if replay {
		lines = append(lines, "", "  space stops the clock and lets it go; ← → 10 s, [ ] 5 min, + - its speed")
	}
	return lines
}
