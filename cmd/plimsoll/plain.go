package main

import (
	"io"
	"os"
	"strconv"

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

func unwrapWriter(w io.Writer) io.Writer {
	if p, ok := w.(*app.PlainWriter); ok {
		return p.Unwrap()
	}
	return w
}

// columns returns the width of the terminal that f is, or the one set in COLUMNS; 0 where neither is known.
func columns(f *os.File) int {
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
	return wrapWriter{w, columns(f)}
}
