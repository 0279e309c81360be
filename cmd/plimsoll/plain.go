package main

import (
	"io"

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
