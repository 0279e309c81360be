package app

import (
	"io"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
)

// PlainWriter writes text to a terminal or a file and lets nothing pass that would do something to a terminal.
type PlainWriter = printable.Writer

// NewPlainWriter makes a writer that passes text on to w.
func NewPlainWriter(w io.Writer) *PlainWriter { return printable.NewWriter(w) }

// Printable makes a name or a path fit for one cell of a listing on a terminal.
func Printable(name string) string { return printable.Name(name) }

// PrintableText works like [Printable] for a whole text: line ends and tabs stay.
func PrintableText(text string) string { return printable.Text(text) }

// Wrap breaks lines that are wider than width at words; see [printable.Wrap].
func Wrap(text string, width int) string { return printable.Wrap(text, width, printable.Hang) }

// WriteJSON writes v as JSON that is safe to show on a terminal, with a line end. indent "" puts it on one line.
func WriteJSON(w io.Writer, v any, indent string) error { return printable.WriteJSON(w, v, indent) }

// ErrorLines takes an error apart that several were joined to; see [printable.ErrorLines].
func ErrorLines(err error, text string) []string { return printable.ErrorLines(err, text) }

// Took writes a duration for a person: 0.4 s, 12 s, 3m 20s, 1h 5m.
func Took(d time.Duration) string { return printable.Duration(d) }
