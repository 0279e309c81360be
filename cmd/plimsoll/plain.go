package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
)

// plainWriter returns a writer for what people read: control characters of names and paths do not pass.
// The root command has both of its writers behind it, so that no command can forget.
func plainWriter(w io.Writer) io.Writer {
	if p, ok := w.(*app.PlainWriter); ok {
		return p
	}
	return app.NewPlainWriter(w)
}

// unwrapWriter returns the writer beneath a *app.PlainWriter, which lets escapes pass; any other w as it is.
func unwrapWriter(w io.Writer) io.Writer {
	if p, ok := w.(*app.PlainWriter); ok {
		return p.Unwrap()
	}
	return w
}

// screenColumns returns the number of columns that COLUMNS gives, at most 1000, else that of the terminal f; 0 if neither is known.
func screenColumns(f *os.File) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(n, 1000)
	}
	if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
		return n
	}
	return 0
}

// wrapWriter wraps what is written to it at words, each write by itself: it is for whole lines.
type wrapWriter struct {
	w     io.Writer
	width int
}

func (w wrapWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.w, app.Wrap(string(text), w.width)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// wrapped returns w for lines that are wrapped to the terminal that f is; w itself where f is none, as a program reads whole lines.
func wrapped(w io.Writer, f *os.File) io.Writer {
	if !term.IsTerminal(int(f.Fd())) {
		return w
	}
	return wrapWriter{w, screenColumns(f)}
}

// tableGap stands between two columns, and tableHang before the last column where it stands below the others, because it would get less
// than tableLeast.
const tableGap, tableHang, tableLeast = 2, 4, 24

// terminalWidth returns the width to which tables and lines on standard output are wrapped; 0 where it is no terminal, as a program reads
// whole lines.
func terminalWidth() int {
	if !term.IsTerminal(int(os.Stdout.Fd())) {
		return 0
	}
	return screenColumns(os.Stdout)
}

// table is a table whose last column, which may be a sentence, is wrapped at words within itself. A line break in it stays.
type table struct{ rows [][]string }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// writeWithin writes the table within width columns; 0 wraps nothing. Where the last column would get less than a third, it stands below the others.
func (t *table) writeWithin(w io.Writer, width int) error {
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

// standardOutput is the writer that commands print on. It remembers a write that failed, on a full disk say: what a script reads must be
// all of it, or the exit status must tell, and not every printing of a line can ask.
type standardOutput struct {
	*os.File
	failure atomic.Pointer[error]
}

func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	o.note(err)
	return n, err
}

func (o *standardOutput) WriteString(s string) (int, error) {
	n, err := o.File.WriteString(s)
	o.note(err)
	return n, err
}

// ReadFrom keeps what [os.File] can do with a file or a pipe.
func (o *standardOutput) ReadFrom(r io.Reader) (int64, error) {
	n, err := o.File.ReadFrom(r)
	o.note(err)
	return n, err
}

// note keeps the first error of a write.
func (o *standardOutput) note(err error) {
	if err != nil {
		o.failure.CompareAndSwap(nil, &err)
	}
}

// check returns err, or for nil the error that not all of the output was written, if a write failed.
func (o *standardOutput) check(err error) error {
	if failure := o.failure.Load(); err == nil && failure != nil {
		return fmt.Errorf("not all of the output was written: %w", *failure)
	}
	return err
}
