package extract_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
)

// session is noise of about size bytes with facts in it: what a coding agent's history looks
// like.
func session(seed uint64, size int, facts []extract.Turn) []extract.Turn {
	r := rand.New(rand.NewPCG(seed, 1))
	var turns []extract.Turn
	for n, f := 0, 0; n < size; {
		var b strings.Builder
		for range 20 + r.IntN(60) {
			fmt.Fprintf(&b, "2026-11-%02dT%02d:%02d:%02dZ INFO worker-%d handled request %08x in %dms\n", 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(9), r.Uint32(), r.IntN(900))
		}
		turns = append(turns, extract.Turn{Kind: extract.Call, Tool: "bash", Text: fmt.Sprintf(`{"command":"kubectl logs deploy/web --since %dm"}`, r.IntN(60))},
			extract.Turn{Kind: extract.Result, Tool: "bash", Text: b.String()},
			extract.Turn{Kind: extract.Assistant, Text: "I looked at the logs and see nothing unusual, so I go on with the next batch."})
		n += b.Len() + 200
		if f < len(facts) {
			turns = append(turns, facts[f])
			f++
		}
	}
	return turns
}

func TestWhatMattersSurvivesTheNoise(t *testing.T) {
	facts := []extract.Turn{
		{Kind: extract.User, Text: "Never restart the broker kafka-7 during the day."},
		{Kind: extract.User, Text: "<system-reminder>client words</system-reminder>The price list is in /srv/data/prices_v3.csv"},
		{Kind: extract.Assistant, Text: "Root cause: the pool in internal/db/pool.go is limited to 37 connections."},
		{Kind: extract.Assistant, Text: "Decided to keep the token in VAULT_PATH_SECONDARY."},
		{Kind: extract.Result, Tool: "bash", Text: "listening on port 48213\nready\n"},
		{Kind: extract.Result, Tool: "bash", Failed: true, Text: "panic: runtime error: index out of range [17] with length 12 at parse.go:219"},
		{Kind: extract.Call, Tool: "Edit", Text: `{"file_path":"/repo/cmd/serve/limits.go","old_string":"a\nretries = 4711\nb"}`},
	}
	turns := session(1, 400_000, facts)
	s := extract.Summarize(turns, extract.Options{Bytes: 6000, Messages: len(turns)})
	for _, want := range []string{
		"> Never restart the broker kafka-7 during the day.", "/srv/data/prices_v3.csv", "internal/db/pool.go is limited to 37 connections",
		"VAULT_PATH_SECONDARY", "48213", "parse.go:219", "/repo/cmd/serve/limits.go", "4711",
	} {
		if !strings.Contains(s.Text, want) {
			t.Errorf("lost: %s", want)
		}
	}
	if strings.Contains(s.Text, "client words") {
		t.Error("what the client wrapped around the user's words is quoted as the user's")
	}
	if len(s.Text) > 6000 {
		t.Errorf("%d bytes, 6000 were allowed", len(s.Text))
	}
	if !extract.IsSummary(s.Text) || s.Messages != len(turns) {
		t.Errorf("not known again, or %d messages: %.80s", s.Messages, s.Text)
	}
	if t.Failed() {
		t.Log(s.Text)
	}
}

// A conversation is compacted many times: what mattered in the first part must not thin out
// with every summary of a summary.
func TestFactsOutliveSummariesOfSummaries(t *testing.T) {
	turns := session(2, 100_000, []extract.Turn{
		{Kind: extract.User, Text: "The tenant id is tnt_8841xk and it must be in every request."},
		{Kind: extract.Assistant, Text: "Decided: the cache lives in pkg/cache/lru_v2.go."},
	})
	s := extract.Summarize(turns, extract.Options{Bytes: 4000, Messages: 50})
	for i := range 8 {
		more := append([]extract.Turn{{Kind: extract.Prior, Text: s.Text}}, session(uint64(10+i), 60_000, nil)...)
		s = extract.Summarize(more, extract.Options{Bytes: 4000, Messages: 41})
	}
	for _, want := range []string{"> The tenant id is tnt_8841xk and it must be in every request.", "pkg/cache/lru_v2.go"} {
		if !strings.Contains(s.Text, want) {
			t.Errorf("lost after nine summaries: %s\n%s", want, s.Text)
		}
	}
	if want := 50 + 8*40; s.Messages != want {
		t.Errorf("stands for %d messages, want %d", s.Messages, want)
	}
}

func TestVerbatimKeepsTheUsersWords(t *testing.T) {
	turns := []extract.Turn{{Kind: extract.User, Text: "Use port 9443 only."}, {Kind: extract.Assistant, Text: "Decided on foo_bar_9."}}
	s := extract.Summarize(turns, extract.Options{Bytes: 3000, Messages: 2, Verbatim: "The work is half done."})
	if !strings.Contains(s.Text, "The work is half done.") || !strings.Contains(s.Text, "> Use port 9443 only.") || strings.Contains(s.Text, "foo_bar_9") {
		t.Error(s.Text)
	}
	long := extract.Summarize(turns, extract.Options{Bytes: 3000, Messages: 2, Verbatim: strings.Repeat("é", 5000)})
	if len(long.Text) > 3000 || !utf8.ValidString(long.Text) || !strings.Contains(long.Text, "> Use port 9443 only.") {
		t.Errorf("%d bytes: %s", len(long.Text), long.Text)
	}
}

func TestOwn(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"fix the bug", "fix the bug"},
		{"<system-reminder>\nx\n</system-reminder>\nfix it", "fix it"},
		{"fix <b>it</b> if a<b", "fix <b>it</b> if a<b"},
		{"<environment_context>\n<cwd>/x</cwd>\n</environment_context>", ""},
		{"<permissions instructions>\nread only\n</permissions instructions>", ""},
		{"# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\nuse tabs\n</INSTRUCTIONS>", ""},
		{"# AGENTS.md instructions for /repo\n<INSTRUCTIONS>a</INSTRUCTIONS>\nbuild it", "build it"},
		{"<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n</session_context>", ""},
		{"This is the Gemini CLI. We are setting up the context for our chat.\nToday's date is", ""},
		{"<user_query>do this</user_query>", "<user_query>do this</user_query>"},
		{"<system-reminder>never closed", "<system-reminder>never closed"},
		{"a <system-reminder>b</system-reminder> c", "a  c"},
	} {
		if got := extract.Own(c.in); got != c.want {
			t.Errorf("Own(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestSmallBudgets(t *testing.T) {
	turns := session(3, 20_000, []extract.Turn{{Kind: extract.User, Text: "Do it."}})
	for size := 0; size < 3000; size += 97 {
		s := extract.Summarize(turns, extract.Options{Bytes: size, Messages: 9})
		if !extract.IsSummary(s.Text) || size >= extract.MinBytes && len(s.Text) > size {
			t.Fatalf("%d bytes for a budget of %d: %s", len(s.Text), size, s.Text)
		}
	}
}

func FuzzSummarize(f *testing.F) {
	f.Add("Never touch /etc/x.conf\nport 88", "panic: at a.go:1\n\xff", "{\"p\":\"/a/b\\n\"}", uint8(0x1b), 900)
	f.Add("[Plimsoll: summary of 12 earlier\n## Errors\n- x\n- Also named: a/b, c_d", "😀é", strings.Repeat("<system-reminder>", 9), uint8(0xff), 4000)
	f.Add(strings.Repeat("x", 5000), strings.Repeat("a.b,", 900), strings.Repeat("\u2028", 200), uint8(2), 401)
	f.Fuzz(func(t *testing.T, a, b, c string, kinds uint8, size int) {
		size %= 20_000
		var turns []extract.Turn
		for i, text := range []string{a, b, c, a + b} {
			turns = append(turns, extract.Turn{Kind: extract.Kind(int(kinds>>(2*i)) % 5), Text: text, Failed: kinds&64 != 0})
		}
		s := extract.Summarize(turns, extract.Options{Bytes: size, Messages: 4})
		if size >= extract.MinBytes && len(s.Text) > size {
			t.Fatalf("%d bytes for a budget of %d", len(s.Text), size)
		}
		if !utf8.ValidString(s.Text) {
			t.Fatal("not UTF-8")
		}
		if !extract.IsSummary(s.Text) {
			t.Fatalf("not known again: %.60q", s.Text)
		}
		if again := extract.Summarize(turns, extract.Options{Bytes: size, Messages: 4}); again != s {
			t.Fatal("not deterministic")
		}
	})
}

func BenchmarkSummarizeMegabyte(b *testing.B) {
	turns := session(4, 1<<20, nil)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		extract.Summarize(turns, extract.Options{Bytes: 40_000, Messages: len(turns)})
	}
}

// Identifiers of what was read come last: not one line of the user's goes for them.
func TestTheUsersWordsComeBeforeIdentifiers(t *testing.T) {
	var facts []extract.Turn
	for i := range 90 {
		facts = append(facts, extract.Turn{Kind: extract.User, Text: fmt.Sprintf("point %d of what we spoke about is settled, and the office of %d agrees to every word of it", i, 7*i)})
	}
	turns := session(5, 500_000, facts)
	s := extract.Summarize(turns, extract.Options{Bytes: 14_000, Messages: len(turns)})
	for _, f := range facts {
		if !strings.Contains(s.Text, "> "+f.Text) {
			t.Errorf("lost: %s", f.Text)
		}
	}
}
