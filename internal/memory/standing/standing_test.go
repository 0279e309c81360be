package standing_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/memory/standing"
)

// measured is the outcome of a set.
type measured struct {
	found, missed, wrong, refused int
	lines                         []string // on which it fails
}

func (m measured) precision() float64 { return float64(m.found) / float64(max(m.found+m.wrong, 1)) }
func (m measured) recall() float64    { return float64(m.found) / float64(max(m.found+m.missed, 1)) }

func measure(t *testing.T, name string) (m measured) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		message, topic, _ := strings.Cut(line[2:], " => ")
		got := standing.Find(strings.ReplaceAll(message, `\n`, "\n"))
		switch {
		case line[0] == '+' && len(got) == 1 && (topic == "" || got[0].Topic == topic):
			m.found++
		case line[0] == '+':
			m.missed++
			if len(got) > 0 && topic != "" {
				line += ", and it is " + got[0].Topic
			}
			m.lines = append(m.lines, line)
		case len(got) > 0:
			m.wrong++
			m.lines = append(m.lines, line)
		default:
			m.refused++
		}
	}
	t.Logf("%s: precision %.3f, recall %.3f: %d found, %d missed, %d wrong, %d rightly left alone", name, m.precision(), m.recall(), m.found, m.missed, m.wrong, m.refused)
	return m
}

// TestFind: of what counts nearly all is an instruction, and of the instructions most count; also of lines that nobody looked at. The lines of
// the set that was kept apart are not printed.
func TestFind(t *testing.T) {
	known := measure(t, "known")
	if known.precision() < 0.98 || known.recall() < 0.9 {
		t.Errorf("%q", known.lines)
	}
	if apart := measure(t, "apart"); apart.precision() < 0.98 || apart.recall() < 0.7 {
		t.Errorf("%d are wrong and %d missed", apart.wrong, apart.missed)
	}
}

// TestWords: what is found is word for word the person's, and where it holds.
func TestWords(t *testing.T) {
	got := standing.Find("Thanks for that! From now on, always answer in German. And never commit without asking; what is next?")
	if len(got) != 2 || got[0].Sentence != "From now on, always answer in German." || !got[0].Everywhere || got[1].Sentence != "And never commit without asking;" || got[1].Everywhere {
		t.Errorf("%+v", got)
	}
	pasted := strings.Repeat("- Always use tabs.\n", 7)
	if got := standing.Find(pasted); got != nil {
		t.Errorf("of a pasted list: %+v", got)
	}
	if got := standing.Find("Always answer in German. " + strings.Repeat("More words of a long text. ", 200)); got != nil {
		t.Errorf("of a long text: %+v", got)
	}
}

// TestTopics: a later instruction about the same thing has the same topic, and one about another thing has not.
func TestTopics(t *testing.T) {
	topic := func(text string) string {
		t.Helper()
		got := standing.Find(text)
		if len(got) != 1 {
			t.Fatalf("%q: %+v", text, got)
		}
		return got[0].Topic
	}
	for _, same := range [][2]string{
		{"always answer in German", "From now on please reply in English."},
		{"always answer in German", "以后都用中文回答"},
		{"siempre responde en español", "Antworte immer auf Deutsch"},
		{"from now on use pnpm", "From now on use yarn."},
		{"Always use tabs.", "From now on use spaces"},
		{"Always run the linter", "From now on don't run the linter"},
		{"always answer in German", "From now on write in English"},
		{"always answer in German", "ab jetzt bitte alles auf Englisch schreiben"},
		{"Always write variable names in English", "From now on write variable names in German"},
	} {
		if a, b := topic(same[0]), topic(same[1]); a != b {
			t.Errorf("%q is about %q, and %q about %q", same[0], a, same[1], b)
		}
	}
	for _, other := range [][2]string{
		{"always answer in German", "Always write commit messages in English"},
		{"never commit without asking", "Always use conventional commits"},
		{"from now on use pnpm", "From now on use uv"},
		{"Never push to main", "Always ask before you push"},
		{"always answer in German", "Always write identifiers in English."},
		{"always answer in German", "From now on name variables in English"},
		{"Schreibe ab jetzt Tests auf Englisch", "Antworte immer auf Deutsch"},
		{"from now on use pnpm", "Never run npm publish."},
		{"from now on use uv", "Always run pip install before tests"},
	} {
		if a, b := topic(other[0]), topic(other[1]); a == b {
			t.Errorf("%q and %q are both about %q", other[0], other[1], a)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, text := range []string{"always answer in German", "以后都用中文回答。每次提交前", "Vor jedem Commit", "¿? . ; - , :", "\xff\xfe always use \x80", "before every commit, you", "siempre que", "Do not ever"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, i := range standing.Find(text) {
			if i.Sentence == "" || !strings.Contains(text, i.Sentence) || utf8.ValidString(text) && !utf8.ValidString(i.Topic) || len(i.Topic) > 256 || i.Topic == "" {
				t.Fatalf("%+v of %q", i, text)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	text := strings.Repeat("The parser of the ledger reads a line, and the printer here writes it out again. ", 10) + "From now on use pnpm."
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		standing.Find(text)
	}
}
