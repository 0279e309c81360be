package toolserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// large describes a big result.
type large struct {
	Bytes  int64  `json:"bytes"` // at least so many, of the text before it is escaped
	Items  int64  `json:"items"` // exactly so many, instead of Bytes
	Kind   string `json:"kind"`
	Needle string `json:"needle"`
	IDLast bool   `json:"id_last"` // the response's id comes after its result
	Mark   string `json:"mark"`    // "error" adds isError
	cut    int64  // end after so many bytes of text; 0 means never
	fault  error
}

// blockBytes is the size of a text block of kind "blocks".
const blockBytes = 1 << 10

// body returns a function that writes the result as l describes it, piece by piece, so that it is never in memory as a whole.
func (l *large) body() body {
	return func(w *bufio.Writer) error {
		if l.Kind == "blocks" {
			return l.blocks(w)
		}
		if l.Mark == "error" {
			w.WriteString(`"isError":true,`)
		}
		w.WriteString(`"content":[{"type":"text","text":"`)
		if err := l.document(&escaper{w: w}); err != nil {
			return err
		}
		w.WriteString(`"}]`)
		if l.Kind == "structured" {
			w.WriteString(`,"structuredContent":`)
			return l.document(w)
		}
		return nil
	}
}

// document writes the text of the result.
func (l *large) document(to io.Writer) error {
	d := &document{w: to, l: l}
	switch l.Kind {
	case "", "json", "structured":
		d.write(`{"kind":"list","total":"all","items":[`)
		d.items()
		d.write(`]}`)
	case "items":
		d.write(`[`)
		d.items()
		d.write(`]`)
	case "one-item":
		d.write(`[{"id":0,"blob":"`)
		d.filler(" abcdefghijklmnopqrstuvwxyz012345", true)
		d.write(l.Needle + `"}]`)
	case "lines":
		d.lines()
	case "text":
		d.filler("the quick brown fox jumps over it ", false)
		d.write(l.Needle)
	default:
		d.err = fmt.Errorf("big: kind %q: use json, items, one-item, lines, text, structured or blocks", l.Kind)
	}
	return d.err
}

func (l *large) blocks(w *bufio.Writer) error {
	count := max(l.Items, (l.Bytes+blockBytes-1)/blockBytes, 1)
	w.WriteString(`"content":[`)
	d := &document{w: &escaper{w: w}, l: l}
	for n := range count {
		if n > 0 {
			w.WriteByte(',')
		}
		w.WriteString(`{"type":"text","text":"`)
		at := d.n
		d.write("block " + strconv.FormatInt(n, 10) + ": ")
		for d.err == nil && d.n-at < blockBytes-64 {
			d.write("some text of this block, \"quoted\" ")
		}
		if n == count-1 {
			d.write(l.Needle)
		}
		if d.err != nil {
			return d.err
		}
		w.WriteString(`"}`)
	}
	return w.WriteByte(']')
}

// document counts what it writes and breaks off where it was told to.
type document struct {
	w   io.Writer
	l   *large
	n   int64
	err error
	buf []byte
}

func (d *document) write(s string) {
	d.buf = append(d.buf[:0], s...)
	d.writeBytes(d.buf)
}

// writeBytes writes b. At l.cut bytes in all it stops with l.fault as the error, and writes nothing any more.
func (d *document) writeBytes(b []byte) {
	if d.err != nil {
		return
	}
	if d.l.cut > 0 && d.n+int64(len(b)) >= d.l.cut {
		_, _ = d.w.Write(b[:d.l.cut-d.n])
		d.err = d.l.fault
		return
	}
	_, d.err = d.w.Write(b)
	d.n += int64(len(b))
}

// items writes items of about 120 bytes, with the digits, quotes and letters that real ones have.
func (d *document) items() {
	var b []byte
	for n := int64(0); d.err == nil; n++ {
		last := n+1 >= d.l.Items
		if d.l.Items == 0 {
			last = d.n+128 >= d.l.Bytes
		}
		b = b[:0]
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"id":`...)
		b = strconv.AppendInt(b, n, 10)
		b = append(b, `,"name":"item-`...)
		b = strconv.AppendInt(b, n, 10)
		b = append(b, `","status":"`...)
		b = append(b, [...]string{"Synced", "OutOfSync", "Unknown"}[n%3]...)
		b = append(b, `","health":{"status":"Healthy"},"text":"größer \"als\" 日本","n":9007199254740993`...)
		if last && d.l.Needle != "" {
			b = append(b, `,"needle":`...)
			quoted, _ := json.Marshal(d.l.Needle)
			b = append(b, quoted...)
		}
		b = append(b, '}')
		d.writeBytes(b)
		if last {
			return
		}
	}
}

func (d *document) lines() {
	var b []byte
	for n := int64(1); d.err == nil; n++ {
		last := n >= d.l.Items
		if d.l.Items == 0 {
			last = d.n+80 >= d.l.Bytes
		}
		b = fmt.Appendf(b[:0], "2026-07-28T12:00:00Z level=info line=%d msg=\"the request was served\" status=200", n)
		if last && d.l.Needle != "" {
			b = append(append(b, " needle="...), d.l.Needle...)
		}
		b = append(b, '\n')
		d.writeBytes(b)
		if last {
			return
		}
	}
}

// filler repeats a text until the document is as long as it should be.
func (d *document) filler(text string, letters bool) {
	chunk := make([]byte, 0, 8<<10)
	for len(chunk)+len(text) <= cap(chunk) {
		chunk = append(chunk, text...)
	}
	left := d.l.Bytes - d.n - int64(len(d.l.Needle))
	if letters {
		left -= 4
	}
	for ; left > 0 && d.err == nil; left -= int64(len(chunk)) {
		d.writeBytes(chunk[:min(left, int64(len(chunk)))])
	}
}

// escaper writes text as the inside of a JSON string.
type escaper struct{ w *bufio.Writer }

// Write implements io.Writer.
func (e *escaper) Write(p []byte) (int, error) {
	from := 0
	for i, c := range p {
		if c != '"' && c != '\\' && c >= ' ' {
			continue
		}
		if _, err := e.w.Write(p[from:i]); err != nil {
			return i, err
		}
		switch c {
		case '"', '\\':
			e.w.Write([]byte{'\\', c})
		case '\n':
			e.w.WriteString(`\n`)
		default:
			fmt.Fprintf(e.w, `\u%04x`, c)
		}
		from = i + 1
	}
	if _, err := e.w.Write(p[from:]); err != nil {
		return from, err
	}
	return len(p), nil
}
