package spool

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/testing/night"
)

// FuzzShape holds the finder against encoding/json: the pages of what it takes for an
// array are JSON and hold every item once, in order; what is not JSON is lines, and the
// pages of those are the text.
func FuzzShape(f *testing.F) {
	for _, seed := range []string{
		`[1,2,3]`, `{"items":[{"a":1},{"b":[2]}],"n":2}`, `[`, `{"a":{"b":[]}}`, `[1e5,-0.1E+2,"\u00e9\n",true,null]`, "\xef\xbb\xbf [\n]",
		`[01]`, `["` + "\x01" + `"]`, `{"a":1,}`, `[1] 2`, `{"a":[1],"a":[1,2,3]}`, "x\ny", `{"a":{"a":{"a":[{},{}]}}}`, "[\"\xff\"]", `[[],[[]],{}]`,
	} {
		f.Add(seed, uint16(3))
	}
	f.Fuzz(func(t *testing.T, text string, step uint16) {
		if len(text) > 1<<16 {
			return
		}
		clean := string([]rune(text)) // each byte that is no UTF-8 is U+FFFD
		s := open(t, Options{})
		r := read(t, s, keep(t, s, Source{PageBytes: 1024, PageItems: 3}, text, int(step)+1))
		tot := r.Totals()
		if tot.Bytes != int64(len(clean)) {
			t.Fatalf("%d bytes, want %d", tot.Bytes, len(clean))
		}
		body := strings.TrimPrefix(clean, "\ufeff")
		if !json.Valid([]byte(body)) && tot.Shape != Lines {
			t.Fatalf("%q is no JSON and was taken for %s", clean, tot.Shape)
		}
		for _, size := range []int{0, 1} {
			all := pages(t, r, size)
			switch tot.Shape {
			case Lines:
				var got strings.Builder
				for _, p := range all {
					got.Write(p.Text)
				}
				if got.String() != clean {
					t.Fatalf("%q on pages, want %q", got.String(), clean)
				}
			case Array:
				var got, want []json.RawMessage
				if err := json.Unmarshal(main(t, r, body), &want); err != nil {
					t.Fatal(err)
				}
				for _, p := range all {
					inner := p.Text
					if tot.Envelope {
						inner = inner[tot.envelopeHead(t, r):]
						dec := json.NewDecoder(bytes.NewReader(inner))
						var list json.RawMessage
						if err := dec.Decode(&list); err != nil {
							t.Fatalf("%v: %q", err, p.Text)
						}
						inner = list
					}
					var list []json.RawMessage
					if err := json.Unmarshal(inner, &list); err != nil {
						t.Fatalf("%v: %q", err, p.Text)
					}
					got = append(got, list...)
				}
				if !slices.EqualFunc(got, want, func(a, b json.RawMessage) bool {
					return bytes.Equal(a, b) || bytes.HasPrefix(a, []byte(`{"plimsoll/omitted":`)) && len(b) > 512
				}) {
					t.Fatalf("%q on pages, want %q", got, want)
				}
			}
		}
	})
}

// envelopeHead is where in a page the array begins.
func (tot Totals) envelopeHead(t *testing.T, r *Result) int64 {
	t.Helper()
	head := r.v.m.Begin - r.v.m.DocBegin
	if b, err := r.Range(t.Context(), r.v.m.DocBegin, 4); err == nil && bytes.HasPrefix(b.Text, []byte("\ufeff")) {
		head -= 3
	}
	return head
}

// main is the text of the main array.
func main(t *testing.T, r *Result, _ string) []byte {
	t.Helper()
	d, err := r.Document(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.File.Close()
	b := make([]byte, d.ItemsSize)
	if _, err := d.File.ReadAt(b, d.ItemsOffset); err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzLines holds the lines against their text.
func FuzzLines(f *testing.F) {
	f.Add("a\nb\n\nc", uint8(1), uint8(9))
	f.Add(strings.Repeat("長", 50), uint8(4), uint8(3))
	f.Fuzz(func(t *testing.T, text string, step, longest uint8) {
		text = strings.ToValidUTF8(text, "")
		var got []string
		s := newLineScanner(func(start, end int64) bool {
			got = append(got, text[start:end])
			return true
		}, 0, int64(longest))
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), int(step)+1)
			s.feed(rest[:n])
			rest = rest[n:]
		}
		s.finish()
		if strings.Join(got, "") != text {
			t.Fatalf("%q of %q", got, text)
		}
		for _, l := range got {
			if l == "" || !utf8.ValidString(l) || len(l) > int(s.longest) || strings.Contains(l[:len(l)-1], "\n") {
				t.Fatalf("line %q of at most %d bytes", l, s.longest)
			}
		}
	})
}

// The budget of a writer and of a reader, in bytes of live heap: a text buffer of 64 KiB
// and one for repair, tables of 4 KiB; a scan buffer and a window of 128 KiB each. A whole
// gateway has 24 MiB.
const (
	writerBudget = 400 << 10
	readerBudget = 800 << 10
)

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestConstantMemory(t *testing.T) {
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	for name, c := range map[string]struct {
		open, piece, shut string
	}{
		"one item":      {`{"items":[1,{"text":"`, string(chunk), `"},"last"]}`},
		"no newline":    {"", string(chunk), ""},
		"tiny lines":    {"", strings.Repeat("\n", len(chunk)), "last\n"},
		"tiny items":    {"[", strings.Repeat("7,", len(chunk)/2), `"last"]`},
		"broken at end": {"[", strings.Repeat(`{"a":1}, `, len(chunk)/9), "oops last\n"},
		"nesting":       {"[", strings.Repeat("[", 9) + strings.Repeat("]", 9) + ",", `"last"]`},
		"members":       {"{", strings.Repeat(`"key":"value of it",`, len(chunk)/20), `"z":"last"}`},
		"no text":       {"", strings.Repeat("\xff\xfe", len(chunk)/6), "last"},
		"space":         {"[1", strings.Repeat(" ", len(chunk)), `,"last"]`},
	} {
		t.Run(name, func(t *testing.T) {
			size := 16 << 20
			if len(c.piece) == len(chunk) && !testing.Short() {
				size = night.Else(64<<20, 32<<20) // these are quick
			}
			if n, err := strconv.Atoi(os.Getenv("SPOOL_TEST_BYTES")); err == nil {
				size = n // how it was tried with 1 GiB
			}
			s := open(t, Options{})
			before := heap()
			w := create(t, s, Source{})
			write(t, w, c.open)
			for n := 0; n < size; n += len(c.piece) {
				write(t, w, c.piece)
			}
			if grown := heap() - before; grown > writerBudget {
				t.Errorf("the heap grew by %d bytes while writing, the budget is %d", grown, writerBudget)
			}
			write(t, w, c.shut)
			must(t, w.Complete(Final{}))
			runtime.KeepAlive(w)
			h := w.Handle()
			w = nil
			r := read(t, s, h)
			tot := r.Totals()
			last, err := r.Page(t.Context(), int(tot.Pages), 0)
			if err != nil || c.shut != "" && !bytes.Contains(last.Text, []byte("last")) {
				t.Fatalf("%.300q %v", last.Text, err)
			}
			if name == "one item" {
				if tot.Items != 3 || last.Omitted != 1 {
					t.Errorf("%+v", tot)
				}
			}
			if c.shut != "" {
				m, err := r.Search(t.Context(), SearchRequest{Pattern: "last"})
				if err != nil || m.Total != 1 {
					t.Fatalf("%d matches, %v", m.Total, err)
				}
			}
			_, _ = r.Page(t.Context(), 2, 7)
			if grown := heap() - before; grown > readerBudget {
				t.Errorf("the heap grew by %d bytes while reading, the budget is %d", grown, readerBudget)
			}
		})
	}
}
