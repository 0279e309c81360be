package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// painter adds escape sequences if color is true. It uses the sixteen colours that the person has set for the terminal.
type painter struct{ color bool }

func (p painter) with(code, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p painter) faint(text string) string   { return p.with("2", text) }
func (p painter) bold(text string) string    { return p.with("1", text) }
func (p painter) reverse(text string) string { return p.with("7", text) }
func (p painter) yellow(text string) string  { return p.with("33", text) }
func (p painter) red(text string) string     { return p.with("31", text) }
func (p painter) green(text string) string   { return p.with("32", text) }
func (painter) none(text string) string      { return text }

// stateColor returns what paints the words for a state; p.none for those that do not stand out.
func stateColor(state string, p painter) func(string) string {
	switch state {
	case runs.Running:
		return p.green
	case runs.YourTurn:
		return p.bold
	case runs.Waiting, runs.Idle, Paused:
		return p.yellow
	case Stale:
		return p.red
	}
	return p.none
}

// ratioColor returns yellow from three quarters of whole on and red from nine tenths, as the alerts do.
func ratioColor(part, whole int64, p painter) func(string) string {
	switch s := share(part, whole); {
	case s >= 0.9:
		return p.red
	case s >= 0.75:
		return p.yellow
	}
	return p.none
}

// fit cuts a line to a width in cells, and spaces at its end.
func fit(line string, width int) string {
	line = ansi.Truncate(line, width, "…")
	return strings.TrimRight(line, " ")
}

// cell returns text cut or padded to a width in cells, and a space.
func cell(text string, width int) string {
	text = ansi.Truncate(text, width, "…")
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text))+1)
}

// right fills text with blanks on its left; a text that is wider than width stays whole.
func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(text))) + text
}

// size returns bytes in at most four cells: "0", "512K", "1.5G", "12G".
func size(n int64) string {
	value, unit := float64(n), "B"
	for _, next := range []string{"K", "M", "G", "T"} {
		if value < 999.5 {
			break
		}
		value, unit = value/1024, next
	}
	if value < 9.95 && value > 0 && unit != "B" {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + unit
	}
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%.0f%s", value, unit)
}

// sizeOr returns the size, or "-" when it is not known.
func sizeOr(n int64, known bool) string {
	if !known {
		return "-"
	}
	return size(n)
}

// count returns n, "-" for 0 and thousands, rounded down, above 9999.
func count(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n > 9999:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// shortTime returns a duration in at most four cells: "12s", "14m", "3h", "5d".
func shortTime(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// bars are the eight heights of a sparkline.
var bars = []rune("▁▂▃▄▅▆▇█")

// spark draws values as a line of at most width cells, each with the highest of its values; full is the value of a full cell. It is "" if there is
// no value or no width, or full is not above 0.
func spark(values []float64, full float64, width int) string {
	if len(values) == 0 || width <= 0 || full <= 0 {
		return ""
	}
	cells := make([]float64, min(width, len(values)))
	for i, v := range values {
		at := i * len(cells) / len(values)
		cells[at] = max(cells[at], v)
	}
	var b strings.Builder
	for _, v := range cells {
		b.WriteRune(bars[max(0, min(len(bars)-1, int(v/full*float64(len(bars)))))])
	}
	return b.String()
}
