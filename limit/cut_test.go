package limit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

func note(cut int) string { return fmt.Sprintf("\n[%d bytes cut]\n", cut) }

func TestCutKeepsBothEnds(t *testing.T) {
	text := "first line\n" + strings.Repeat("filler filler filler\n", 500) + "exit status 2\n"
	got := limit.Cut(text, 600, note)
	if len(got) > 600 || !strings.HasPrefix(got, "first line\n") || !strings.HasSuffix(got, "exit status 2\n") {
		t.Fatalf("%d bytes: %q", len(got), got)
	}
	head, rest, _ := strings.Cut(got, "\n[")
	var cut int
	if _, err := fmt.Sscanf(rest, "%d bytes cut]", &cut); err != nil {
		t.Fatal(err)
	}
	_, tail, _ := strings.Cut(rest, "]\n")
	if len(head)+cut+len(tail) != len(text) {
		t.Errorf("%d + %d cut + %d is not %d", len(head), cut, len(tail), len(text))
	}
	if !strings.HasSuffix(head, "filler\n") || !strings.HasPrefix(tail, "\nfiller") && !strings.HasPrefix(tail, "filler") {
		t.Errorf("lines were split though they end near: %q … %q", head[len(head)-30:], tail[:30])
	}
}

func TestCutLeavesAloneWhatIsShortEnough(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", 100)} {
		if got := limit.Cut(text, 100, note); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if text := strings.Repeat("x", 110); limit.Cut(text, 100, note) != text {
		t.Error("a cut that saves less than its own marker was made")
	}
}

func jsonLen(t *testing.T, s string) int {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

func FuzzCut(f *testing.F) {
	f.Add(strings.Repeat("häuser\n", 40), 60)
	f.Add(strings.Repeat("\x00\u2028", 400), 100)
	f.Add(strings.Repeat("😀", 300), 37)
	f.Add(strings.Repeat("\xff\x80", 300), 101)
	f.Add("x", -5)
	f.Fuzz(func(t *testing.T, text string, size int) {
		got := limit.Cut(text, size, note)
		if len(got) > len(text) || jsonLen(t, got) > jsonLen(t, text) {
			t.Fatalf("grew from %d to %d bytes", len(text), len(got))
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatal("a rune was split")
		}
		if got != text && len(got) > max(size, len(note(len(text)))) {
			t.Fatalf("%d bytes where %d were asked for", len(got), size)
		}
		if again := limit.Cut(text, size, note); again != got {
			t.Fatal("not deterministic")
		}
	})
}

func TestClipAndShort(t *testing.T) {
	for _, c := range []struct {
		text        string
		most        int
		clip, short string
	}{
		{"abc", 3, "abc", "abc"},
		{"abcdef", 5, "abcde", "ab…"},
		{"äöü", 3, "ä", "…"},
		{"äöü", 5, "äö", "ä…"},
		{"abc", 0, "", "…"},
		{"a\xffb", 9, "a\uFFFDb", "a\uFFFDb"},
		{"\xff\xff\xff\xff", 3, "\uFFFD", "…"},
		{"😀😀", 7, "😀", "😀…"},
	} {
		if got := limit.Clip(c.text, c.most); got != c.clip || len(got) > max(c.most, 0) {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.text, c.most, got, c.clip)
		}
		if got := limit.Short(c.text, c.most); got != c.short {
			t.Errorf("Short(%q, %d) = %q, want %q", c.text, c.most, got, c.short)
		}
	}
}

func TestRunes(t *testing.T) {
	for _, test := range []struct {
		text        string
		most        int
		clip, short string
	}{
		{"", 3, "", ""},
		{"äöü", 3, "äöü", "äöü"},
		{"äöüß", 3, "äöü", "äö…"},
		{"abc", 0, "", "…"},
		{"a\xffb", 2, "a\xff", "a…"},
	} {
		if got := limit.ClipRunes(test.text, test.most); got != test.clip {
			t.Errorf("ClipRunes(%q, %d) = %q, want %q", test.text, test.most, got, test.clip)
		}
		if got := limit.ShortRunes(test.text, test.most); got != test.short {
			t.Errorf("ShortRunes(%q, %d) = %q, want %q", test.text, test.most, got, test.short)
		}
	}
}

func TestBoundary(t *testing.T) {
	const text = "aä😀"
	for i, want := range []int{0, 1, 1, 3, 3, 3, 3, 7, 8} {
		if got := limit.Boundary(text, i); got != want {
			t.Errorf("Boundary(%q, %d) = %d, want %d", text, i, got, want)
		}
		if got := limit.Boundary([]byte(text), i); got != want {
			t.Errorf("of bytes: Boundary(%q, %d) = %d, want %d", text, i, got, want)
		}
	}
}
