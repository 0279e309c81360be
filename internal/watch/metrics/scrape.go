package metrics

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// maxScrapes bounds the scrapes that are answered at the same time: each may wait for a slow reader.
const maxScrapes = 8

// exposition is the content of a scrape: instruments that somebody counts with, and those that sources make for this scrape alone.
type exposition struct {
	mu       sync.Mutex
	counting *instruments // nil where nobody counts
	sources  []func(*instruments)

	running chan struct{}
}

// newExposition returns an exposition. counting may be nil; the sources are called at each scrape.
func newExposition(counting *instruments, sources ...func(*instruments)) *exposition {
	return &exposition{counting: counting, sources: sources, running: make(chan struct{}, maxScrapes)}
}

// add shows what a source makes, in every scrape. It may be called at any time; the source is called by several scrapes at once.
func (e *exposition) add(source func(*instruments)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sources = append(e.sources, source)
}

// families returns all instruments of one scrape, sorted by name: those that are counted with, and those that the sources make now. No two must have
// one name.
func (e *exposition) families() []*instrument {
	e.mu.Lock()
	sources := slices.Clone(e.sources)
	e.mu.Unlock()
	var now instruments
	for _, source := range sources {
		source(&now)
	}
	list := now.list
	if e.counting != nil {
		list = append(list, e.counting.list...)
	}
	sorting.By(list, func(a, b *instrument) int { return strings.Compare(a.name, b.name) })
	return list
}

// write writes the families in wanted, or all of them where it is empty. No more than the series of one instrument are held for it.
func (e *exposition) write(to io.Writer, wanted []string) error {
	w := newTextWriter(to)
	for _, i := range e.families() {
		if len(wanted) == 0 || slices.Contains(wanted, i.name) {
			i.write(w)
		}
	}
	return w.flush()
}

// ServeHTTP answers a scrape: with the families that the query names as name[], as for Prometheus' own handlers, or with all. Beyond maxScrapes at
// once it answers with status 503.
func (e *exposition) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case e.running <- struct{}{}:
		defer func() { <-e.running }()
	default:
		http.Error(w, fmt.Sprintf("%d scrapes are being answered: try again later.", maxScrapes), http.StatusServiceUnavailable)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Add("Vary", "Accept-Encoding")
	var to io.Writer = w
	if acceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		defer zip.Close() // who left does not miss the end
		to = zip
	}
	_ = e.write(to, r.URL.Query()["name[]"]) // the status is sent: an answer without its end is all that the scraper can be told
}

// acceptsGzip reports whether a request asks for gzip by name: RFC 9110, section 12.5.3.
func acceptsGzip(h http.Header) bool {
	for _, line := range h.Values("Accept-Encoding") {
		for one := range strings.SplitSeq(line, ",") {
			name, weight, _ := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			q, given := strings.CutPrefix(strings.ToLower(strings.TrimSpace(weight)), "q=")
			if !given {
				return true
			}
			v, err := strconv.ParseFloat(q, 64)
			return err == nil && v > 0
		}
	}
	return false
}

// contentType names version 0.0.4 of Prometheus' text format, which is the last: "Exposition formats" in Prometheus' guide.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// lineBuffer is the number of bytes of text put together before they are written.
const lineBuffer = 16 << 10

// textWriter writes samples in that format. After an error it writes nothing more, and flush returns the error.
type textWriter struct{ to *bufio.Writer }

// newTextWriter returns a writer that buffers, so flush has to be called at the end.
func newTextWriter(to io.Writer) textWriter {
	return textWriter{bufio.NewWriterSize(to, lineBuffer)}
}

// writeHead begins a family: no other line of it may come before, and none of another one after, until it is complete.
func (w textWriter) writeHead(name, help, kind string) {
	w.writeText("# HELP ", name, " ")
	w.writeEscaped(help, false)
	w.writeText("\n# TYPE ", name, " ", kind, "\n")
}

// writeSample writes a line. extra, unless it is "", is one more label, whose value is a number: le or quantile.
func (w textWriter) writeSample(name, suffix string, of labels, extra string, bound, value float64) {
	w.writeText(name, suffix)
	before := "{"
	for _, l := range of {
		w.writeText(before, l.key, `="`)
		w.writeEscaped(l.value, true)
		w.writeText(`"`)
		before = ","
	}
	if extra != "" {
		w.writeText(before, extra, `="`)
		w.writeNumber(bound)
		w.writeText(`"`)
		before = ","
	}
	if before == "," {
		w.writeText("}")
	}
	w.writeText(" ")
	w.writeNumber(value)
	w.writeText("\n")
}

// writeText writes some texts one after the other.
func (w textWriter) writeText(list ...string) {
	for _, s := range list {
		_, _ = w.to.WriteString(s) // flush returns the error
	}
}

// writeEscaped writes a help text, or the value of a label with its double quotes escaped too when quoted is set. Backslashes and line feeds are
// escaped; invalid UTF-8, which the format does not allow, becomes U+FFFD.
func (w textWriter) writeEscaped(s string, quoted bool) {
	special := "\\\n"
	if quoted {
		special = "\\\n\""
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	for {
		at := strings.IndexAny(s, special)
		if at < 0 {
			w.writeText(s)
			return
		}
		w.writeText(s[:at], `\`)
		if s[at] == '\n' {
			w.writeText("n")
		} else {
			w.writeText(s[at : at+1])
		}
		s = s[at+1:]
	}
}

// writeNumber writes v in the form that strconv.ParseFloat reads, so also NaN, +Inf and -Inf.
func (w textWriter) writeNumber(v float64) {
	_, _ = w.to.Write(strconv.AppendFloat(w.to.AvailableBuffer(), v, 'g', -1, 64))
}

// flush writes what is buffered, and returns the first error of all writes.
func (w textWriter) flush() error { return w.to.Flush() }
