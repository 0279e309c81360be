package spool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func open(t testing.TB, o Options) *Spool {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

const me = "principal-1"

// keep writes a document in pieces of `step` bytes.
func keep(t testing.TB, s *Spool, src Source, text string, step int) string {
	t.Helper()
	src.Principal = me
	w, err := s.Create(src)
	if err != nil {
		t.Fatal(err)
	}
	for rest := text; rest != ""; {
		n := min(step, len(rest))
		if _, err := w.Write([]byte(rest[:n])); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Complete(Final{}); err != nil {
		t.Fatal(err)
	}
	return w.Handle()
}

func read(t testing.TB, s *Spool, handle string) *Result {
	t.Helper()
	r, err := s.Read(me, handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// pages reads all pages of a size and holds them against their promises.
func pages(t testing.TB, r *Result, size int) []Page {
	t.Helper()
	var all []Page
	next := int64(1)
	for n := 1; ; n++ {
		p, err := r.Page(t.Context(), n, size)
		if err != nil {
			t.Fatalf("page %d of size %d: %v", n, size, err)
		}
		if p.TotalItems > 0 {
			if p.From != next || p.To < p.From || int(p.To-p.From+1) > p.Size {
				t.Fatalf("page %d has items %d to %d, want from %d, at most %d", n, p.From, p.To, next, p.Size)
			}
			if len(p.Text) > r.Source().PageBytes {
				t.Fatalf("page %d has %d bytes, more than %d", n, len(p.Text), r.Source().PageBytes)
			}
			if p.JSON && !json.Valid(p.Text) {
				t.Fatalf("page %d is not JSON: %.300q", n, p.Text)
			}
		}
		next = p.To + 1
		all = append(all, p)
		if !p.HasNext() {
			if p.To != p.TotalItems {
				t.Fatalf("the last page ends with item %d of %d", p.To, p.TotalItems)
			}
			return all
		}
	}
}

func TestArrayIsPagedByItem(t *testing.T) {
	s := open(t, Options{})
	var items []string
	for i := range 819 {
		items = append(items, fmt.Sprintf(`{"n":%d,"name":"app-%d","big":12345678901234567890}`, i, i))
	}
	for name, text := range map[string]string{
		"array":    "[" + strings.Join(items, ",") + "]",
		"spaced":   "\ufeff \n[" + strings.Join(items, " ,\n  ") + "]\n",
		"envelope": `{"total":819,"labels":["a","b"],"items":[` + strings.Join(items, ",") + `],"kind":"List"}`,
		"deep":     `{"result":{"data":{"rows":[` + strings.Join(items, ",") + `]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, step := range []int{1, 7, 1 << 20} {
				r := read(t, s, keep(t, s, Source{}, text, step))
				for _, size := range []int{0, 1, 50, 1000} {
					var got []string
					for _, p := range pages(t, r, size) {
						got = append(got, itemsOf(t, r.Totals(), p.Text)...)
					}
					if strings.Join(got, "|") != strings.Join(items, "|") {
						t.Fatalf("%d items, want %d, or they differ", len(got), len(items))
					}
				}
				if tot := r.Totals(); tot.Items != 819 || tot.Shape != Array || !tot.Complete || tot.Bytes != int64(len(text)) {
					t.Errorf("totals %+v", tot)
				}
			}
		})
	}
}

func itemsOf(t testing.TB, tot Totals, page []byte) (items []string) {
	t.Helper()
	text := json.RawMessage(page)
	if tot.Envelope {
		for _, k := range tot.Path {
			var m map[string]json.RawMessage
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
			text = m[k]
		}
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatalf("%v: %.200s", err, page)
	}
	for _, i := range list {
		items = append(items, string(i))
	}
	return items
}

func TestLinesArePaged(t *testing.T) {
	s := open(t, Options{})
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d über\r\n", i)
	}
	b.WriteString(strings.Repeat("長", 100_000) + "\nlast")
	for _, step := range []int{1, 1000, 1 << 20} {
		r := read(t, s, keep(t, s, Source{}, b.String(), step))
		for _, size := range []int{0, 3, 5000} {
			var got strings.Builder
			for _, p := range pages(t, r, size) {
				got.Write(p.Text)
			}
			if got.String() != b.String() {
				t.Fatalf("%d bytes, want %d", got.Len(), b.Len())
			}
		}
	}
}
