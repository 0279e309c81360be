package main

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
)

// tableGap stands between two columns, and tableHang before the last column where it stands below the others, because it would get less
// than tableLeast.
const tableGap, tableHang, tableLeast = 2, 4, 24

// terminalWidth returns the width to which tables and lines on standard output are wrapped; 0 where it is no terminal, as a program reads
// whole lines.
func terminalWidth() int {
	if !term.IsTerminal(int(os.Stdout.Fd())) {
		return 0
	}
	return columns(os.Stdout)
}

// table is a table whose last column, which may be a sentence, is wrapped at words within itself. A line break in it stays.
type table struct{ rows [][]string }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the table within width columns; 0 wraps nothing. Where the last column would get less than a third, it stands below the others.
func (t *table) write(w io.Writer, width int) error {
	last := 0
	for _, row := range t.rows {
		last = max(last, len(row)-1)
	}
	wide := make([]int, last)
	for _, row := range t.rows {
		for i, cell := range row[:min(last, len(row))] {
			wide[i] = max(wide[i], ansi.StringWidth(cell))
		}
	}
	indent := 0
	for _, n := range wide {
		indent += n + tableGap
	}
	below := width > 0 && indent > width-max(width/3, tableLeast)
	if below {
		indent = tableHang
	}
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row[:min(last, len(row))] {
			line.WriteString(cell + strings.Repeat(" ", wide[i]+tableGap-ansi.StringWidth(cell)))
		}
		text := ""
		if len(row) > last {
			text = row[last]
		}
		if text != "" && below && ansi.StringWidth(line.String()+text) > width {
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
			line.Reset()
			line.WriteString(strings.Repeat(" ", indent))
		}
		text = strings.ReplaceAll(app.Wrap(text, max(0, width-indent)), "\n", "\n"+strings.Repeat(" ", indent))
		b.WriteString(strings.TrimRight(line.String()+text, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
