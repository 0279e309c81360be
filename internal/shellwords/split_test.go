package shellwords_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/internal/shellwords"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                  nil,
		" \t\n":                             nil,
		"npx -y  server":                    {"npx", "-y", "server"},
		`a 'b "c' "d 'e" f\ g`:              {"a", `b "c`, "d 'e", "f g"},
		`"$HOME; \"x\"" ` + "`id` | b>c":    {`$HOME; "x"`, "`id`", "|", "b>c"},
		`'' ""`:                             {"", ""},
		"a \\\n b\\\nc \"d\\\ne\" 'f\\\ng'": {"a", "bc", "de", "f\\\ng"},
	} {
		got, err := shellwords.Split(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{`a 'b`, `a "b`, `a \`} {
		if got, err := shellwords.Split(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// FuzzSplit: words that are quoted one by one come back as they were.
func FuzzSplit(f *testing.F) {
	f.Add("a b 'c' \"d\\\" e\" \\ f")
	f.Fuzz(func(t *testing.T, text string) {
		words, err := shellwords.Split(text)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = shellwords.Quote(w)
		}
		again, err := shellwords.Split(strings.Join(quoted, " "))
		if diff := cmp.Diff(words, again); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
