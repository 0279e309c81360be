package spool

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// everyMatch reads all pages of a search.
func everyMatch(t testing.TB, r *Result, q SearchRequest) (all []Match) {
	t.Helper()
	for q.Page = 1; ; q.Page++ {
		m, err := r.Search(t.Context(), q)
		if err != nil {
			t.Fatalf("%q: %v", q.Pattern, err)
		}
		size := 0
		for _, one := range m.Matches {
			size += one.size()
		}
		if len(m.Matches) > m.Size || len(m.Matches) > 1 && size > r.Source().PageBytes {
			t.Fatalf("page %d has %d matches in %d bytes", q.Page, len(m.Matches), size)
		}
		all = append(all, m.Matches...)
		if m.Total == 0 || m.To == m.Total {
			return all
		}
	}
}

func TestSearchFindsWhatRegexpFinds(t *testing.T) {
	s := open(t, Options{})
	var text strings.Builder
	var lines []string
	for i := range 30_000 {
		line := fmt.Sprintf("2026-11-20 host-%d level=%s id=%x Kelvin", i%7, []string{"info", "warn", "ERROR"}[i%3], i*7919)
		lines = append(lines, line)
		text.WriteString(line + "\n")
	}
	r := read(t, s, keep(t, s, Source{}, text.String(), 1<<20))
	for _, q := range []SearchRequest{
		{Pattern: `id=3a98f`},
		{Pattern: `host-3 level=ERROR id=[0-9a-f]*99`},
		{Pattern: `ID=3A98`, IgnoreCase: true},
		{Pattern: `^2026.*id=.*beef`},
		{Pattern: `(ca|be)fe.*n$`},
		{Pattern: `\bid=[0-9]{3}\b`},
		{Pattern: "id=7919 k", IgnoreCase: true},
		{Pattern: `nothing like it`},
		{Pattern: `[0-9]dead`},
		{Pattern: `deadb|=cafe|id=(1ee7|f00d)`},
		{Pattern: `(host-1|HOST-2).*(ERROR|warn) id=[0-9]+7 K`, IgnoreCase: true},
		{Pattern: `x|id=1ee7`},
	} {
		expr := q.Pattern
		if q.IgnoreCase {
			expr = "(?i)" + expr
		}
		re := regexp.MustCompile(expr)
		var want []string
		for i, l := range lines {
			if re.MatchString(l) {
				want = append(want, fmt.Sprint(i+1, " ", l))
			}
		}
		var got []string
		for _, m := range everyMatch(t, r, q) {
			got = append(got, fmt.Sprint(m.Item, " ", string(m.Text)))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q: %d matches, want %d\n%.300s\n%.300s", q.Pattern, len(got), len(want), got, want)
		}
	}
}

func TestSearchGivesContext(t *testing.T) {
	s := open(t, Options{})
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "line %d.\n", i)
	}
	r := read(t, s, keep(t, s, Source{}, text.String(), 1000))
	for _, c := range []struct {
		pattern       string
		before, after string
	}{
		{`line 500\.`, "line 498.,line 499.", "line 501.,line 502."},
		{`line 0\.`, "", "line 1.,line 2."},
		{`line 998\.`, "line 996.,line 997.", "line 999."},
	} {
		m, err := r.Search(t.Context(), SearchRequest{Pattern: c.pattern, Context: 2})
		if err != nil || len(m.Matches) != 1 {
			t.Fatalf("%s: %+v, %v", c.pattern, m, err)
		}
		if got := m.Matches[0]; strings.Join(got.Before, ",") != c.before || strings.Join(got.After, ",") != c.after {
			t.Errorf("%s: %q … %q", c.pattern, got.Before, got.After)
		}
	}
}

func TestSearchOfItems(t *testing.T) {
	s := open(t, Options{})
	var b strings.Builder
	b.WriteString(`{"total":3000,"needle":"in the envelope","items":[`)
	for i := range 3000 {
		if i > 0 {
			b.WriteString(", ")
		}
		switch i {
		case 1234:
			b.WriteString(`{"name":"` + strings.Repeat("x", 300_000) + ` needle é` + strings.Repeat("y", 50_000) + `"}`)
		case 2999:
			b.WriteString(`{"name":"needle at the end"}`)
		default:
			fmt.Fprintf(&b, `{"name":"item %d"}`, i)
		}
	}
	b.WriteString(`]}`)
	r := read(t, s, keep(t, s, Source{}, b.String(), 1<<20))
	for _, pattern := range []string{"needle", "n[e]edle", "needle.*", "NEEDLE"} {
		got := everyMatch(t, r, SearchRequest{Pattern: pattern, IgnoreCase: pattern == "NEEDLE"})
		if len(got) != 2 || got[0].Item != 1235 || got[1].Item != 3000 || got[0].Whole || !got[1].Whole {
			t.Fatalf("%s: %+v", pattern, got)
		}
		if !bytes.Contains(got[0].Text, []byte("needle é")) || len(got[0].Text) > snippetSize+8 {
			t.Errorf("%s: snippet %q", pattern, got[0].Text)
		}
	}
	// An item larger than a page is read by its offset.
	page, err := r.Page(t.Context(), 62, 20)
	if err != nil || page.Omitted != 1 || !bytes.Contains(page.Text, []byte(`{"plimsoll/omitted":{"item":1235,"bytes":350`)) {
		t.Fatalf("%+v %v", page, err)
	}
	if p, err := r.Range(t.Context(), got1235(t, page.Text), 50); err != nil || !bytes.HasPrefix(p.Text, []byte(`{"name":"xxx`)) {
		t.Errorf("%+v %v", p, err)
	}
}

func got1235(t *testing.T, page []byte) (offset int64) {
	t.Helper()
	_, rest, _ := bytes.Cut(page, []byte(`"offset":`))
	if _, err := fmt.Sscan(strings.SplitN(string(rest), "}", 2)[0], &offset); err != nil {
		t.Fatal(err)
	}
	return offset
}

func TestSearchAcrossThePiecesOfALongLine(t *testing.T) {
	s := open(t, Options{})
	for _, at := range []int{maxLine - 12, maxLine - 3, 5 * maxLine, 200_000} {
		text := strings.Repeat("z", at) + "needle-4711" + strings.Repeat("z", 100_000)
		r := read(t, s, keep(t, s, Source{}, text, 1<<20))
		for _, pattern := range []string{"needle-4711", "needle-[0-9]+", "n[a-z]+-4711", "[n]e+dle.4"} {
			if got := everyMatch(t, r, SearchRequest{Pattern: pattern}); len(got) != 1 || !bytes.Contains(got[0].Text, []byte("needle-4")) {
				t.Errorf("%s at %d: %d matches", pattern, at, len(got))
			}
		}
	}
}

func TestTooManyMatches(t *testing.T) {
	s := open(t, Options{})
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "code=%d\n", []int{200, 404, 200, 500}[i%4])
	}
	r := read(t, s, keep(t, s, Source{}, b.String(), 1<<20))
	_, err := r.Search(t.Context(), SearchRequest{Pattern: `code=\d+`})
	many, ok := errors.AsType[*TooMany](err)
	if !ok || many.Total != 5000 || many.Texts[0] != (Count{"code=200", 2500}) || many.Tenths[3] < 490 {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "5000 lines match") || !strings.Contains(err.Error(), "narrower") {
		t.Error(err)
	}
	for _, pattern := range []string{"", "(", `a{1000}{1000}`, `(?=x)`, strings.Repeat("a", 2000), "\xff", `(((\pL{10}){10}){10}){5}`} {
		if _, err := r.Search(t.Context(), SearchRequest{Pattern: pattern}); err == nil {
			t.Errorf("%.50q: no error", pattern)
		} else if _, ok := errors.AsType[*BadPattern](err); !ok {
			t.Errorf("%.50q: %v", pattern, err)
		}
	}
	if _, err := r.Search(t.Context(), SearchRequest{Pattern: "code=404 nothing", Page: 7}); err == nil {
		t.Error("page 7 of no matches")
	}
}

// FuzzSearch holds the literal search against regexp, line by line.
func FuzzSearch(f *testing.F) {
	f.Add("a needle\nb\nNeedle", "needle", true)
	f.Add("xx\r\nxy\n\n", "x.?$", false)
	f.Add("a cat\na dog\na bird", "cat|(do|bir)[gd]", false)
	f.Add("ſK\nsk", "sk", true)
	f.Fuzz(func(t *testing.T, text, expr string, ignore bool) {
		p, err := compile(expr, ignore)
		if err != nil || len(text) > 1<<16 {
			return
		}
		text = "-" + strings.ToValidUTF8(text, "?")
		s := open(t, Options{})
		r := read(t, s, keep(t, s, Source{}, text, 1000))
		if r.Totals().Shape != Lines {
			return
		}
		var want []int64
		for i, line := range strings.SplitAfter(text, "\n") {
			if len(line) > maxLine-4 {
				return
			}
			if cut, ok := strings.CutSuffix(line, "\n"); ok {
				line = strings.TrimSuffix(cut, "\r")
			} else if line == "" {
				continue
			}
			if p.re.MatchString(line) {
				want = append(want, int64(i+1))
			}
		}
		if len(want) > MaxMatches {
			return
		}
		var got []int64
		for _, m := range everyMatch(t, r, SearchRequest{Pattern: expr, IgnoreCase: ignore}) {
			got = append(got, m.Item)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q in %q: %v, want %v", expr, text, got, want)
		}
	})
}
