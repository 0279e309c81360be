package main

import (
	"io"

	"github.com/plimsoll/plimsoll/app"
)

// plain is a writer for listings: control characters of names and paths do not pass.
func plain(w io.Writer) io.Writer { return plainWriter{w} }

type plainWriter struct{ w io.Writer }

func (p plainWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.w, app.PrintableText(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
