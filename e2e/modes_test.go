//go:build linux || darwin

package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// modes is what programs have switched on in a terminal, as far as agents do, by what was written to it: a terminal of the kind of xterm with the
// kitty keyboard protocol.
type modes struct {
	private  map[int]bool   // DEC private modes that are not as they are at first
	kitty    [2][]int       // the stacks of the normal and the alternate screen
	numbers  map[string]int // modifyOtherKeys, and the scroll region
	keypad   bool
	row      int    // of the cursor
	saved    [2]int // row, of each screen
	graphics bool   // letters are lines
	colours  bool
	atFirst  map[int]bool
}

var sequence = regexp.MustCompile(`\x1b\[([<=>?]?)([0-9;]*)( ?)([@-~])|\x1b\(([0B])|\x1b([=>78])|[^\x1b]`)

func modesAfter(output string) *modes {
	m := &modes{private: map[int]bool{}, numbers: map[string]int{}, atFirst: map[int]bool{7: true, 25: true}}
	for _, s := range sequence.FindAllStringSubmatch(output, -1) {
		var numbers []int
		for text := range strings.SplitSeq(s[2], ";") {
			n, _ := strconv.Atoi(text)
			numbers = append(numbers, n)
		}
		switch prefix, last := s[1], s[4]; {
		case s[0] == "\n":
			m.row++
		case s[5] != "":
			m.graphics = s[5] == "0"
		case s[6] == "=" || s[6] == ">":
			m.keypad = s[6] == "="
		case s[6] == "7":
			m.saved[m.screen()] = m.row
		case s[6] == "8":
			m.row = m.saved[m.screen()]
		case prefix == "?" && (last == "h" || last == "l"):
			for _, n := range numbers {
				m.set(n, last == "h")
			}
		case prefix == ">" && last == "u":
			m.kitty[m.screen()] = append(m.kitty[m.screen()], numbers[0])
		case prefix == "<" && last == "u":
			stack := m.kitty[m.screen()]
			m.kitty[m.screen()] = stack[:max(0, len(stack)-max(1, numbers[0]))]
		case prefix == ">" && last == "m":
			m.numbers["modifyOtherKeys"] = numbers[len(numbers)-1]
		case prefix == "" && last == "r":
			m.numbers["region"], m.row = numbers[0], 0
		case prefix == "" && last == "H":
			m.row = max(0, numbers[0]-1)
		case prefix == "" && last == "m":
			m.colours = numbers[len(numbers)-1] != 0
		}
	}
	return m
}

func (m *modes) screen() int {
	if m.private[1049] {
		return 1
	}
	return 0
}

func (m *modes) set(mode int, on bool) {
	if mode == 1049 && on {
		m.saved[0] = m.row
	}
	if m.private[mode] = on != m.atFirst[mode]; !m.private[mode] {
		delete(m.private, mode)
	}
	if mode == 1049 && !on {
		m.row = m.saved[0]
	}
}

// String names what is on, and where the cursor is.
func (m *modes) String() string {
	on := fmt.Sprint(slices.Sorted(maps.Keys(m.private)), m.kitty[0], m.kitty[1], m.numbers["modifyOtherKeys"], m.numbers["region"])
	if m.keypad || m.graphics || m.colours {
		on += fmt.Sprintf(" keypad %t, lines %t, colours %t", m.keypad, m.graphics, m.colours)
	}
	return on + fmt.Sprintf(" row %d", m.row)
}

// TestTerminalModesAreSetBack, whatever ends a program that has switched on all that agents switch on, in either screen.
func TestTerminalModesAreSetBack(t *testing.T) {
	t.Parallel()
	everyLayer(t, func(t *testing.T, m mode) {
		for _, screen := range []string{"normal", "alternate"} {
			for _, end := range []struct {
				how   string
				flags []string
			}{
				{"die 9", nil},
				{"die 15", nil},
				{"exit 1", nil},
				{"exit 0", nil},
				{"wait 0", []string{"--time-max", "2s", "--grace", "1s"}}, // before that all must be on
			} {
				t.Run(screen+" "+end.how, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					c := w.open([]string{"TMUX=", "STY="}, m.argv(end.flags, append([]string{testtool, "switchon", screen}, strings.Fields(end.how)...)...)...)
					c.wait()
					c.expect("all is on")
					_, _ = c.slave.WriteString("that was all") // behind whatever is still to be read
					c.expect("that was all")
					before, after, _ := strings.Cut(c.written(), "all is on")
					after, _, _ = strings.Cut(after, "that was all")
					on, left := modesAfter(before), modesAfter(before+"all is on"+after)
					if len(on.private) < 8 || on.numbers["modifyOtherKeys"] == 0 {
						t.Fatalf("the program switches nothing on: %s", on)
					}
					if got := left.String(); got != "[] [] [] 0 0 row "+map[string]string{"normal": "11", "alternate": "2"}[screen] {
						t.Errorf("left on: %s", got)
					}
					if end.how != "exit 0" {
						c.restored()
					}
				})
			}
		}
	})
}

// TestTerminalThatNobodyChangedIsLeftAlone: what a plain program writes is all that reaches the terminal.
func TestTerminalThatNobodyChangedIsLeftAlone(t *testing.T) {
	t.Parallel()
	everyLayer(t, func(t *testing.T, m mode) {
		for _, verb := range []string{"exit 0", "exit 3", "die 15"} {
			w := newWorld(t)
			c := w.open(nil, m.argv(nil, append([]string{testtool}, strings.Fields(verb)...)...)...)
			c.wait()
			if got := c.written(); strings.Contains(got, "\x1b") {
				t.Errorf("after %s: %q", verb, got)
			}
		}
	})
}

// written is all that was written to the terminal, with its controls.
func (c *console) written() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.output)
}
