package newest_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/memory/newest"
)

// pairs reads a file of sentences, with a tab between those of a line.
func pairs(t *testing.T, name string) (out [][]string) {
	t.Helper()
	in, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		out = append(out, strings.Split(lines.Text(), "\t"))
	}
	if len(out) < 15 {
		t.Fatalf("%s has %d lines", name, len(out))
	}
	return out
}

func TestWhatIsSaidLaterOfTheSameThingReplaces(t *testing.T) {
	for _, p := range pairs(t, "contradictions.tsv") {
		if !newest.Replaces(p[1], p[0]) {
			t.Errorf("%q does not replace %q", p[1], p[0])
		}
	}
}

func TestWhatIsAboutAnotherThingStandsBeside(t *testing.T) {
	for _, p := range pairs(t, "beside.tsv") {
		if newest.Replaces(p[1], p[0]) {
			t.Errorf("%q replaces %q", p[1], p[0])
		}
	}
}

func TestLongTextsReplaceNothing(t *testing.T) {
	long := "Releases are cut on Thursdays now, instead of Tuesdays." + strings.Repeat(" And this is how it came about.", 40)
	if newest.Replaces(long, "Releases are cut on Tuesdays.") {
		t.Error("a text of", len(long), "bytes replaces a sentence")
	}
}

func FuzzReplaces(f *testing.F) {
	f.Add("Releases are cut on Thursdays.", "Releases are cut on Tuesdays.")
	f.Add("改成每周二", "每周四\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		newest.Replaces(a, b)
		if newest.Replaces(a, a) {
			t.Errorf("%q replaces itself", a)
		}
	})
}

func TestTheSameSaidAgainReplacesNothing(t *testing.T) {
	for _, p := range [][2]string{
		{"By Mailgun, no longer by Postmark, are invoices sent.", "Invoices are sent by Mailgun, no longer by Postmark."},
		{"We use bun instead of pnpm now!", "We now use bun instead of pnpm."},
	} {
		if newest.Replaces(p[0], p[1]) {
			t.Errorf("%q replaces %q", p[0], p[1])
		}
	}
	if !newest.Replaces("By Mailgun, no longer by Postmark, are invoices sent.", "Postmark sends the invoices.") {
		t.Error("what is no longer so is not replaced")
	}
}
