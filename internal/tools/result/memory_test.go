package result

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// long reads before, then unit over and over up to size bytes, then after; along the way it
// notes the largest heap.
type long struct {
	before, unit, after []byte
	size, sent          int64
	part                bytes.Reader
	state, reads        int
	heap                uint64
}

func (l *long) Read(p []byte) (int, error) {
	if l.reads++; l.reads%1024 == 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		l.heap = max(l.heap, m.HeapAlloc)
	}
	for {
		if n, _ := l.part.Read(p); n > 0 {
			return n, nil
		}
		switch {
		case l.state == 0:
			l.part.Reset(l.before)
			l.state++
		case l.state == 1 && l.sent < l.size:
			l.part.Reset(l.unit)
			l.sent += int64(len(l.unit))
		case l.state == 1:
			l.part.Reset(l.after)
			l.state++
		default:
			return 0, io.EOF
		}
	}
}

// maxHeap is what a result of any size may cost: the chunk, what is held and the spool's
// buffers. Measured 0.15 MiB after a collection.
const maxHeap = 1 << 20

func TestAnySizeInConstantMemory(t *testing.T) {
	size := int64(night.Else(256<<20, 64<<20))
	if testing.Short() || raceDetector {
		size = 16 << 20
	}
	const needle = "the needle at the very end"
	item := bytes.Repeat([]byte(`{"id":12345,"name":"some name","labels":["a","b"]},`), 600)
	line := bytes.Repeat([]byte("a line of text of some length and nothing in it\n"), 700)
	for _, c := range []struct {
		name          string
		before, after string
		unit          []byte
		items         int64
	}{
		{"lines", `{"id":7,"result":{"content":[{"type":"text","text":"`, needle + `"}]}}`, []byte(inside(line)), -1},
		{"JSON in text", `{"id":7,"result":{"content":[{"type":"text","text":"{\"items\":[`, `{\"name\":\"` + needle + `\"}]}"}]}}`, []byte(inside(item)), -1},
		{"structured", `{"id":7,"result":{"content":[],"structuredContent":{"items":[`, `{"name":"` + needle + `"}]}}}`, item, -1},
		{"one string", `{"id":7,"result":{"content":[{"type":"text","text":"[{\"s\":\"`, needle + `\"}]"}]}}`, bytes.Repeat([]byte("0123456789"), 3200), 1},
		{"blocks", `{"id":7,"result":{"content":[`, `{"type":"text","text":"` + needle + `"}]}}`, bytes.Repeat([]byte(`{"type":"text","text":"`+strings.Repeat("block ", 600)+`"},`), 9), -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			o := options(s)
			var got []byte
			o.Deliver = func(f *transport.Frame) { got, _ = io.ReadAll(f.Reader()) }
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			l := &long{before: []byte(c.before), unit: c.unit, after: []byte(c.after), size: size}
			out := Bound(t.Context(), &transport.Frame{Rest: l}, o)
			if !out.Spilled || out.Cut != nil || out.Upstream < size || out.Delivered > 40<<10 {
				t.Fatalf("%+v %.300s", out, got)
			}
			if c.items > 0 && out.Items != c.items {
				t.Errorf("%d items", out.Items)
			}
			if grown := int64(l.heap) - int64(m.HeapAlloc); grown > maxHeap {
				t.Errorf("the heap grew by %d bytes, at most %d are allowed", grown, maxHeap)
			} else {
				t.Logf("%d items, heap grew by %d bytes", out.Items, grown)
			}
			r, err := s.Read(who, out.Handle)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			total := r.Totals().Bytes
			end, err := r.Range(t.Context(), total-100, 100)
			if err != nil || !strings.Contains(string(end.Text), needle) {
				t.Errorf("%q %v", end.Text, err)
			}
		})
	}
}

func inside(text []byte) string {
	q := string(rawjson.Quote(nil, text))
	return q[1 : len(q)-1]
}

func TestOtherLargeFramesInConstantMemory(t *testing.T) {
	for _, method := range []string{"prompts/get", CallTool} {
		o := options(open(t))
		o.Method = method
		o.TempDir = t.TempDir()
		var n int64
		o.Deliver = func(f *transport.Frame) { n, _ = io.Copy(io.Discard, f.Reader()) }
		l := &long{before: []byte(`{"method":"x","params":"`), unit: bytes.Repeat([]byte("x"), ChunkBytes), after: []byte(`"}`), size: 64 << 20}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		out := Bound(t.Context(), &transport.Frame{Rest: l}, o)
		if n != out.Upstream || n != 64<<20+26 || int64(l.heap)-int64(m.HeapAlloc) > maxHeap {
			t.Errorf("%s: %+v, %d bytes came, heap %d after %d", method, out, n, l.heap, m.HeapAlloc)
		}
		if left, err := os.ReadDir(o.TempDir); err != nil || len(left) != 0 {
			t.Errorf("%s: %d files are left, %v", method, len(left), err)
		}
	}
}

func BenchmarkLexer(b *testing.B) {
	line := []byte(strings.Repeat("a line of text of some length and nothing in it\n", 700))
	item := bytes.Repeat([]byte(`{"id":12345,"name":"some name","labels":["a","b"]},`), 600)
	for _, c := range []struct{ name, before, unit string }{
		{"text", `{"id":7,"result":{"content":[{"type":"text","text":"`, inside(line)},
		{"json-in-text", `{"id":7,"result":{"content":[{"type":"text","text":"`, inside(item)},
		{"base64", `{"id":7,"result":{"content":[{"type":"image","data":"`, strings.Repeat("QUJD", 8<<10)},
		{"structured", `{"id":7,"result":{"structuredContent":[`, string(item)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var (
				l lexer
				s prescan
			)
			l.reset(&s, CallTool)
			if err := l.Feed([]byte(c.before)); err != nil {
				b.Fatal(err)
			}
			unit := []byte(c.unit)
			b.SetBytes(int64(len(unit)))
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Feed(unit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBound(b *testing.B) {
	for _, size := range []int{1 << 10, 8 << 10} {
		b.Run(fmt.Sprintf("small-%d", size), func(b *testing.B) {
			text := []byte(textResponse(strings.Repeat("some text\n", size/10)))
			o := options(nil)
			o.Deliver = func(*transport.Frame) {}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Bound(b.Context(), &transport.Frame{Head: text}, o)
			}
		})
	}
	b.Run("spilled", func(b *testing.B) {
		s, err := spool.Open(spool.Options{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		o := options(s)
		o.Deliver = func(*transport.Frame) {}
		line := []byte(inside(bytes.Repeat([]byte("a line of text of some length and nothing in it\n"), 700)))
		b.SetBytes(64 << 20)
		for b.Loop() {
			l := &long{before: []byte(`{"id":7,"result":{"content":[{"type":"text","text":"`), unit: line, after: []byte(`"}]}}`), size: 64 << 20, reads: -1 << 40}
			Bound(b.Context(), &transport.Frame{Rest: l}, o)
		}
	})
}
