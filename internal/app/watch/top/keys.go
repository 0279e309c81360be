package top

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// maxFilter bounds the filter in bytes.
const maxFilter = 200

// handleKey handles a key that was pressed, wherever it belongs.
func (m *model) handleKey(msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	if k == "ctrl+c" {
		return tea.Quit
	}
	if k == "ctrl+z" {
		return tea.Suspend
	}
	switch {
	case m.help:
		m.help = false
		return nil
	case m.typing:
		return m.filterKey(k, msg.Text)
	case m.asking != nil:
		r := m.asking
		if m.asking = nil; k == "y" || k == "Y" {
			return m.control(r.ID, Controls.End, goesOn)
		}
		m.note = r.ID + " was left alone"
		return nil
	case m.leaving:
		return m.leaveKey(k)
	}
	m.note = ""
	if m.isReplay() && m.replayKey(k) {
		return m.look()
	}
	switch k {
	case "q":
		return m.quit()
	case "?", "h":
		m.help, m.scroll = true, 0
	case "esc":
		if m.open == "" {
			m.screen.Filter = ""
			m.fixSelection()
		}
		m.open, m.page = "", nil
	case "p":
		return m.controlSelected(Controls.Pause, pauses)
	case "c":
		return m.controlSelected(Controls.Continue, goesOn)
	case "+":
		return m.controlSelected(Controls.Raise, keepsState)
	case "e", "delete":
		if r := m.selected(); r != nil && m.controls() != nil {
			if !r.Live() {
				m.note = "it has ended"
				return nil
			}
			asking := *r
			m.asking = &asking
		} else if m.controls() == nil {
			m.note = noControls
		}
	default:
		if m.open != "" {
			m.scrollKey(k)
			return nil
		}
		return m.listKey(k)
	}
	return nil
}

// listKey handles a key that belongs to the list of runs.
func (m *model) listKey(k string) tea.Cmd {
	switch k {
	case "up", "k":
		m.moveSelection(-1)
	case "down", "j":
		m.moveSelection(1)
	case "pgup":
		m.moveSelection(-max(1, m.screen.Height-8))
	case "pgdown", "space":
		m.moveSelection(max(1, m.screen.Height-8))
	case "home", "g":
		m.moveSelection(-1 << 30)
	case "end", "G":
		m.moveSelection(1 << 30)
	case "enter":
		if r := m.selected(); r != nil {
			m.open, m.page, m.scroll = r.ID, nil, 0
			return tea.Batch(m.lookInto(), m.look())
		}
	case "t":
		if r := m.selected(); r != nil {
			if m.trees[r.ID] {
				delete(m.trees, r.ID)
			} else {
				m.trees[r.ID] = true
			}
			return m.look()
		}
	case "T":
		m.all = !m.all
		clear(m.trees)
		return m.look()
	case "s":
		all := Sorts()
		m.screen.Sort = all[(slices.Index(all, m.screen.Sort)+1)%len(all)]
	case "S":
		m.screen.Reverse = !m.screen.Reverse
	case "/":
		m.typing = true
	}
	return nil
}

// scrollKey handles a key that scrolls the open page; visible brings the result within bounds.
func (m *model) scrollKey(k string) {
	switch k {
	case "up", "k":
		m.scroll--
	case "down", "j":
		m.scroll++
	case "pgup":
		m.scroll -= max(1, m.screen.Height-4)
	case "pgdown", "space":
		m.scroll += max(1, m.screen.Height-4)
	case "home", "g":
		m.scroll = 0
	case "end", "G":
		m.scroll = 1 << 30
	}
}

// moveSelection selects the row that is by rows further down, or up if by is negative.
func (m *model) moveSelection(by int) {
	rows := m.rows()
	if len(rows) == 0 {
		return
	}
	i := slices.IndexFunc(rows, func(r Row) bool { return r.ID == m.screen.Selected })
	m.screen.Selected = rows[max(0, min(len(rows)-1, i+by))].ID
}

// filterKey handles a key while the filter is being typed.
func (m *model) filterKey(k, text string) tea.Cmd {
	switch k {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.screen.Filter = false, ""
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(m.screen.Filter)
		m.screen.Filter = m.screen.Filter[:len(m.screen.Filter)-n]
	case "ctrl+u":
		m.screen.Filter = ""
	default:
		if len(m.screen.Filter)+len(text) <= maxFilter {
			m.screen.Filter += text
		}
	}
	m.fixSelection()
	return nil
}

const noControls = "this is a replay: nothing can be done to what was"

// controls returns the source as Controls, nil if it has none, as that of a replay.
func (m *model) controls() Controls {
	c, _ := m.source.(Controls)
	return c
}

// effect says how a control changes the state of a run.
type effect int

const (
	keepsState effect = iota
	pauses
	goesOn
)

// controlSelected returns a command that calls what for the selected run. It returns nil if none is selected, and nil with a note on the screen if
// there are no controls or the run has ended.
func (m *model) controlSelected(what func(Controls, string) (string, error), then effect) tea.Cmd {
	r := m.selected()
	switch {
	case m.controls() == nil:
		m.note = noControls
		return nil
	case r == nil:
		return nil
	case !r.Live():
		m.note = "it has ended"
		return nil
	}
	return m.control(r.ID, what, then)
}

// control returns a command that calls what on a run and sends its result as a doneMsg. The source must have Controls.
func (m *model) control(id string, what func(Controls, string) (string, error), then effect) tea.Cmd {
	c := m.controls()
	return func() tea.Msg {
		note, err := what(c, id)
		return doneMsg{note: note, err: err, id: id, then: then}
	}
}

// quit returns the command that ends the program; nil if runs were paused from here, about which it asks first.
func (m *model) quit() tea.Cmd {
	for id := range m.paused {
		if r := rowIn(m.snap.Runs, id); r == nil || r.State != Paused {
			delete(m.paused, id) // somebody else has let it go on
		}
	}
	if len(m.paused) == 0 {
		return tea.Quit
	}
	m.leaving = true
	return nil
}

// leaveKey handles the answer to the question what to do about paused runs: q leaves them, c continues them and quits, any other key stays.
func (m *model) leaveKey(k string) tea.Cmd {
	m.leaving = false
	switch k {
	case "q":
		return tea.Quit
	case "c":
		c, ids := m.controls(), m.pausedIDs()
		return func() tea.Msg {
			for _, id := range ids {
				if _, err := c.Continue(id); err != nil {
					return doneMsg{err: err}
				}
			}
			return tea.Quit()
		}
	}
	return nil
}

// replayKey handles a key that sets the clock of a replay, and reports whether k is one.
func (m *model) replayKey(k string) bool {
	r := m.source.(*Replay)
	speed := func(change func(float64) float64) {
		if now := r.Speed(change); now == 0 {
			m.note = "the clock stands still"
		} else {
			m.note = fmt.Sprintf("the clock goes %g times as fast", now)
		}
	}
	switch k {
	case "space":
		speed(func(old float64) float64 {
			if old > 0 {
				return 0
			}
			return 1
		})
	case "left":
		r.Jump(-10 * time.Second)
	case "right":
		r.Jump(10 * time.Second)
	case "[":
		r.Jump(-5 * time.Minute)
	case "]":
		r.Jump(5 * time.Minute)
	case "+", "=":
		speed(func(old float64) float64 { return max(1, old*2) })
	case "-":
		speed(func(old float64) float64 { return max(1, old/2) })
	default:
		return false
	}
	return true
}
