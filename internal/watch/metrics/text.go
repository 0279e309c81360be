package metrics

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// contentType names version 0.0.4 of Prometheus' text format, which is the last: "Exposition formats" in Prometheus' guide.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// lineBuffer is the number of bytes of text put together before they are written.
const lineBuffer = 16 << 10

// textWriter writes samples in that format. After an error it writes nothing more, and flush returns the error.
type textWriter struct{ to *bufio.Writer }

func newTextWriter(to io.Writer) textWriter {
	return textWriter{bufio.NewWriterSize(to, lineBuffer)}
}

// head begins a family: no other line of it may come before, and none of another one after, until it is complete.
func (w textWriter) head(name, help, kind string) {
	w.put("# HELP ", name, " ")
	w.escaped(help, false)
	w.put("\n# TYPE ", name, " ", kind, "\n")
}

// sample writes a line. extra, unless it is "", is one more label, whose value is a number: le or quantile.
func (w textWriter) sample(name, suffix string, of labels, extra string, bound, value float64) {
	w.put(name, suffix)
	before := "{"
	for _, l := range of {
		w.put(before, l.key, `="`)
		w.escaped(l.value, true)
		w.put(`"`)
		before = ","
	}
	if extra != "" {
		w.put(before, extra, `="`)
		w.number(bound)
		w.put(`"`)
		before = ","
	}
	if before == "," {
		w.put("}")
	}
	w.put(" ")
	w.number(value)
	w.put("\n")
}

func (w textWriter) put(list ...string) {
	for _, s := range list {
		_, _ = w.to.WriteString(s) // flush returns the error
	}
}

// escaped writes a help text, or the value of a label with its double quotes escaped too when quoted is set. Backslashes and line feeds are
// escaped; invalid UTF-8, which the format does not allow, becomes U+FFFD.
func (w textWriter) escaped(s string, quoted bool) {
	special := "\\\n"
	if quoted {
		special = "\\\n\""
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	for {
		at := strings.IndexAny(s, special)
		if at < 0 {
			w.put(s)
			return
		}
		w.put(s[:at], `\`)
		if s[at] == '\n' {
			w.put("n")
		} else {
			w.put(s[at : at+1])
		}
		s = s[at+1:]
	}
}

// number writes v in the form that strconv.ParseFloat reads, so also NaN, +Inf and -Inf.
func (w textWriter) number(v float64) {
	_, _ = w.to.Write(strconv.AppendFloat(w.to.AvailableBuffer(), v, 'g', -1, 64))
}

func (w textWriter) flush() error { return w.to.Flush() }
