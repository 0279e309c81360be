package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func create(t testing.TB, s *Spool, src Source) *Writer {
	t.Helper()
	src.Principal = me
	w, err := s.Create(src)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func write(t testing.TB, w *Writer, text string) {
	t.Helper()
	if n, err := w.Write([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("%d of %d bytes: %v", n, len(text), err)
	}
}

func TestAPageWaitsForItsItemsAndNotForTheEnd(t *testing.T) {
	for _, size := range []int{0, 7} {
		s := open(t, Options{})
		w := create(t, s, Source{})
		r := read(t, s, w.Handle())
		pages := make(chan Page)
		go func() {
			for n := 1; n <= 3; n++ {
				p, err := r.Page(context.Background(), n, size)
				if err != nil {
					t.Error(err)
				}
				pages <- p
			}
		}()
		write(t, w, `{"kind":"List","items":[`)
		var seen []Page
		next := 0
		for len(seen) < 3 {
			select {
			case p := <-pages:
				seen = append(seen, p)
			default:
				write(t, w, fmt.Sprintf(`{"n":%d},`, next))
				next++
			}
		}
		for i, p := range seen {
			if p.Complete || !p.JSON || !bytes.HasPrefix(p.Text, []byte(`{"kind":"List","items":[{"n":`)) || int(p.From) != i*p.Size+1 {
				t.Errorf("page %+v", p)
			}
			if got := itemsOf(t, Totals{Envelope: true, Path: []string{"items"}}, p.Text); len(got) != p.Size {
				t.Errorf("%d items, want %d", len(got), p.Size)
			}
		}
		// What was given out stays the document, whatever follows.
		write(t, w, `{}],"more":[`+strings.Repeat(`"0123456789",`, 100_000)+`1],"but":not json`)
		if err := w.Begin(Text, ""); err != nil {
			t.Fatal(err)
		}
		write(t, w, strings.Repeat("another text\n", 200_000))
		if err := w.Complete(Final{Error: true}); err != nil {
			t.Fatal(err)
		}
		if tot := r.Totals(); tot.Items != int64(next)+1 || !tot.Complete || !tot.Failed || tot.Part != 0 || tot.Parts != 2 || tot.More() < 2_600_000 {
			t.Errorf("%+v", tot)
		}
		p, err := r.Page(t.Context(), 1, size)
		if err != nil || !p.Complete || len(itemsOf(t, r.Totals(), p.Text)) != p.Size {
			t.Errorf("%+v %v", p, err)
		}
	}
}

func TestWaitingEnds(t *testing.T) {
	s := open(t, Options{})
	w := create(t, s, Source{})
	r := read(t, s, w.Handle())
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := r.Page(ctx, 1, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	failed := make(chan error)
	go func() {
		_, err := r.Page(context.Background(), 1, 0)
		failed <- err
	}()
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*NotFound](<-failed); !ok {
		t.Error("a discarded result is still there")
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("a discarded result takes more")
	}
}

func TestWhatCameBeforeACutStays(t *testing.T) {
	s := open(t, Options{})
	for text, want := range map[string]struct {
		items int64
		shape Shape
	}{
		`{"data":{"rows":[` + strings.Repeat(`{"a":"bcdefghi"},`, 1000) + `{"a":"hal`: {1000, Array},
		`[` + strings.Repeat(`1,`, 1000) + `12`:                                       {1000, Array},
		strings.Repeat("a line\n", 999) + "half":                                      {1000, Lines},
		`{"text":"` + strings.Repeat("x", 20_000):                                     {3, Lines},
		``: {0, Lines},
	} {
		w := create(t, s, Source{})
		write(t, w, text)
		if err := w.Cut("the server went away"); err != nil {
			t.Fatal(err)
		}
		r := read(t, s, w.Handle())
		all := pages(t, r, 0)
		tot := r.Totals()
		if tot.Items != want.items || tot.Shape != want.shape || tot.Cut == "" || all[0].Cut != tot.Cut || !tot.Complete {
			t.Errorf("%.20q: %+v", text, tot)
		}
	}
}

func TestShapes(t *testing.T) {
	s := open(t, Options{})
	long := strings.Repeat("0123456789", 30)
	rows := strings.Repeat(`"`+long+`",`, 99) + `"end"`
	members := &strings.Builder{}
	for i := range 200 {
		fmt.Fprintf(members, `"k%d":{"v":%q},`, i, long)
	}
	for name, c := range map[string]struct {
		text     string
		shape    Shape
		items    int64
		path     string
		envelope bool
	}{
		"array":              {`[` + rows + `]`, Array, 100, "", false},
		"the larger array":   {`{"tags":["a","b"],"a":{"b":[` + rows + `]},"z":[1]}`, Array, 100, "a b", true},
		"array after a line": {"Here you are:\n[" + rows + "]", Lines, 5, "", false},
		"two documents":      {`{"a":1}` + "\n" + `{"a":2}`, Lines, 2, "", false},
		"large envelope":     {`{"log":"` + strings.Repeat("x", 3000) + `","rows":[` + rows + `]}`, Array, 100, "rows", false},
		"too deep":           {`{"a":{"b":{"c":{"d":{"e":{"f":{"g":[` + rows + `]}}}}}}}`, Object, 1, "a b c d e f", true},
		"object":             {`{` + members.String() + `"z":[1,2]}`, Object, 201, "", false},
		"object below keys":  {`{"ok":true,"data":{` + members.String() + `"z":[1,2]}}`, Object, 201, "data", true},
		"small array":        {`{` + members.String() + `"z":[1,2,3]}`, Object, 201, "", false},
		"broken":             {`[` + rows + `,]`, Lines, 4, "", false},
		"truncated":          {`[` + rows, Lines, 4, "", false},
		"string":             {`"` + long + `"`, Lines, 1, "", false},
		"log":                {"[2026-11-20] started\n[2026-11-20] ended\n", Lines, 2, "", false},
		"empty array":        {`[]`, Lines, 1, "", false},
		"empty":              {``, Lines, 0, "", false},
		"bomb":               {strings.Repeat(`[`, 1_000_000), Lines, 123, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := read(t, s, keep(t, s, Source{}, c.text, 999))
			tot := r.Totals()
			if tot.Shape != c.shape || tot.Items != c.items || strings.Join(tot.Path, " ") != c.path || tot.Envelope != c.envelope {
				t.Errorf("%+v", tot)
			}
			all := pages(t, r, 0)
			if c.shape == Lines {
				var text strings.Builder
				for _, p := range all {
					text.Write(p.Text)
				}
				if text.String() != c.text {
					t.Error("the pages are not the text")
				}
			}
		})
	}
}

func TestParts(t *testing.T) {
	s := open(t, Options{})
	big := strings.Repeat("a line of a large text\n", 2000)
	small := "see below"
	wide := `{"rows":[` + strings.Repeat(`{"a":1},`, 5000) + `{}]}`
	type given struct {
		kind Part
		text string
	}
	many := []given{}
	for i := range 50 {
		many = append(many, given{Text, fmt.Sprintf("{\n\"block\": %d, \"fill\": %q}", i, strings.Repeat("f", 600))})
	}
	for name, c := range map[string]struct {
		parts []given
		part  int
		shape Shape
		items int64
	}{
		"one":                     {[]given{{Text, big}}, 0, Lines, 2000},
		"a small one beside":      {[]given{{Text, small}, {Text, big}, {Text, small}}, 1, Lines, 2000},
		"structured once more":    {[]given{{Text, wide}, {Structured, wide}}, 0, Array, 5001},
		"structured first":        {[]given{{Structured, wide}, {Text, wide}}, 1, Array, 5001},
		"structured only":         {[]given{{Text, small}, {Structured, wide}}, 1, Array, 5001},
		"two large ones":          {[]given{{Text, big}, {Text, big}}, -1, Blocks, 12},
		"many":                    {many, -1, Blocks, 50},
		"media":                   {[]given{{Text, small}, {Media, strings.Repeat("QUJD", 9999)}}, 0, Lines, 1},
		"media only":              {[]given{{Media, strings.Repeat("QUJD", 9999)}}, 0, Lines, 5},
		"nothing":                 {nil, 0, Lines, 0},
		"empty ones":              {[]given{{Text, ""}, {Text, ""}}, 0, Lines, 0},
		"many and one of them is": {append([]given{{Text, big}}, many...), -1, Blocks, 56},
	} {
		t.Run(name, func(t *testing.T) {
			w := create(t, s, Source{})
			var want strings.Builder
			for _, p := range c.parts {
				if err := w.Begin(p.kind, ""); err != nil {
					t.Fatal(err)
				}
				write(t, w, p.text)
			}
			if err := w.Complete(Final{}); err != nil {
				t.Fatal(err)
			}
			r := read(t, s, w.Handle())
			tot := r.Totals()
			if tot.Shape != c.shape || tot.Items != c.items || tot.Part != c.part {
				t.Fatalf("%+v", tot)
			}
			if c.shape == Blocks {
				for _, p := range c.parts {
					want.WriteString(strings.TrimSuffix(p.text, "\n") + "\n")
				}
				for _, size := range []int{0, 3} {
					var got strings.Builder
					for _, p := range pages(t, r, size) {
						got.WriteString(string(p.Text))
					}
					if strings.TrimSuffix(got.String(), "\n") != strings.TrimSuffix(want.String(), "\n") {
						t.Errorf("%d bytes on pages, want %d", len(got.String()), len(want.String()))
					}
				}
			}
			if name == "many" {
				if got := everyMatch(t, r, SearchRequest{Pattern: `"block": 3\d`}); len(got) != 10 || got[0].Item != 31 {
					t.Errorf("%d matches", len(got))
				}
			}
		})
	}
}

func TestBrokenTextIsMadeWhole(t *testing.T) {
	s := open(t, Options{})
	text := "ok \xff\xfe ü\xc3" + strings.Repeat("\xe4", 40_000) + "é\xe2\x82"
	want := strings.Map(func(r rune) rune { return r }, text) // U+FFFD for each byte
	for _, step := range []int{1, 3, 1 << 20} {
		r := read(t, s, keep(t, s, Source{}, text, step))
		var got strings.Builder
		for _, p := range pages(t, r, 0) {
			got.WriteString(string(p.Text))
		}
		if got.String() != want {
			t.Fatalf("step %d: %d bytes, want %d", step, len(got.String()), len(want))
		}
	}
}

func TestRangeIsOfWholeCharacters(t *testing.T) {
	s := open(t, Options{})
	text := strings.Repeat("aé長😀", 1000)
	r := read(t, s, keep(t, s, Source{}, text, 100))
	got, at := "", int64(0)
	for n := int64(4); at < int64(len(text)); n = n%37 + 4 {
		p, err := r.Range(t.Context(), at, n)
		if err != nil || p.From != at || len(p.Text) == 0 || int64(len(p.Text)) > n {
			t.Fatalf("%+v %v", p, err)
		}
		got += string(p.Text)
		at = p.To
	}
	if got != text {
		t.Error("the pieces are not the text")
	}
	if p, err := r.Range(t.Context(), 2, 8); err != nil || string(p.Text) != "長😀"[:7] || p.From != 3 {
		t.Errorf("%+v %q %v", p, p.Text, err)
	}
	for _, off := range []int64{-1, int64(len(text)), 1 << 60} {
		if _, err := r.Range(t.Context(), off, 1); err == nil {
			t.Errorf("a range at %d", off)
		}
	}
}

func TestPagesThatAreNotThere(t *testing.T) {
	s := open(t, Options{})
	r := read(t, s, keep(t, s, Source{}, strings.Repeat("x\n", 1000), 100))
	for _, n := range []int{0, -5, 11, 1_000_000_000} {
		_, err := r.Page(t.Context(), n, 0)
		if e, ok := errors.AsType[*NoPage](err); !ok || e.Pages != 10 || !strings.Contains(err.Error(), "pages 1 to 10") {
			t.Errorf("page %d: %v", n, err)
		}
	}
}

func TestOtherPageSizesAreKept(t *testing.T) {
	s := open(t, Options{})
	h := keep(t, s, Source{}, "["+strings.Repeat(`{"a":"0123456789"},`, 100_000)+"1]", 1<<20)
	for range 2 { // made, then found
		for _, size := range []int{1, 2, 3, 4, 5, 100} {
			r := read(t, s, h)
			p, err := r.Page(t.Context(), 7, size)
			if err != nil || int(p.From) != 6*size+1 || p.TotalItems != 100_001 {
				t.Fatalf("%+v %v", p, err)
			}
			must(t, r.Close())
		}
	}
	if n := len(names(t, s, h)); n != 9 { // head, lock, text, meta, pages.1, and four tables
		t.Errorf("%v", names(t, s, h))
	}
	must(t, s.withLedger(func(l *ledger) error {
		if disk := s.diskUse(l.accounts[0].id.String()); l.accounts[0].bytes != disk {
			t.Errorf("the ledger has %d bytes, the disk %d", l.accounts[0].bytes, disk)
		}
		return nil
	}))
}

func names(t *testing.T, s *Spool, handle string) (all []string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(s.Dir(), idOf(digest("handle", handle)).String()))
	must(t, err)
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all
}

func TestPagesOfASizeThatWouldBeTooMany(t *testing.T) {
	before := maxRows
	maxRows = 10
	defer func() { maxRows = before }()
	s := open(t, Options{})
	for _, text := range []string{"[" + strings.Repeat(`{"a":"0123456789"},`, 500) + "1]", strings.Repeat("line\n", 501)} {
		r := read(t, s, keep(t, s, Source{}, text, 1<<20))
		all := pages(t, r, 7)
		if len(all) != 72 || len(r.made) != 0 {
			t.Errorf("%d pages, %d tables", len(all), len(r.made))
		}
		if _, err := r.Page(t.Context(), 73, 7); err == nil || !strings.Contains(err.Error(), "pages 1 to 72") {
			t.Error(err)
		}
	}
}
