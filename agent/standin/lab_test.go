package standin_test

import (
	"os"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/standin"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/internal/agent/lab"
)

func TestLaboratory(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		question string
		calls    []string
	}{
		{"flood 5 MiB", []string{`flood {"bytes":5242880}`}},
		{"Please flood a tool result with 1.5KiB.", []string{`flood {"bytes":1536}`}},
		{"flood", []string{`flood {"bytes":1048576}`}},
		{"build 300 MiB of memory for 2 seconds", []string{`build {"mib":300,"seconds":2}`}},
		{"run the build with 2 GB", []string{`build {"mib":2048}`}},
		{"hang", []string{`hang {}`}},
		{"hang 3 times", []string{`hang {}`, `hang {}`, `hang {}`}},
		{"flood 100 bytes and hang", []string{`flood {"bytes":100}`, `hang {}`}},
		{`fail with "no such luck"`, []string{`fail {"message":"no such luck"}`}},
		{"call fail", []string{`fail {}`}},
		{`fail {"panic":true}`, []string{`fail {"panic":true}`}},
		{"echo hello there", []string{`echo {"text":"hello there"}`}},
		{"echo x 2 times", []string{`echo {"text":"x #1"}`, `echo {"text":"x #2"}`}},
		{"count to 5", []string{`count {"to":5}`}},
	} {
		c := newConversation(t, standin.Options{}, lab.Tools(lab.Options{Hog: []string{os.Args[0]}}))
		c.messages = nil
		if got := c.first(test.question); strings.Join(got, "; ") != strings.Join(test.calls, "; ") {
			t.Errorf("%s: %q; want %q", test.question, got, test.calls)
		}
	}
}

// A job is asked after until it is done; an error is told in words.
func TestPollsAndErrors(t *testing.T) {
	t.Parallel()
	c := newConversation(t, standin.Options{}, lab.Tools(lab.Options{}))
	if answer := c.ask("count to 5"); len(c.calls) != 5 || !strings.Contains(answer, "count: 5") {
		t.Errorf("%d calls: %s", len(c.calls), answer)
	}
	if answer := c.ask(`fail with "error: no such luck"`); len(c.calls) != 1 || !strings.Contains(answer, "This did not work. fail says: error: no such luck") {
		t.Errorf("%s", answer)
	}
	if answer := c.ask("echo \x1b[31mred\u202e"); strings.ContainsAny(answer, "\x1b\u202e") {
		t.Errorf("%q goes to a terminal", answer)
	}
}

// With Loop the same calls come for ever, in the ways that agents have to notice.
func TestLoops(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"loop: echo hello":           `echo {"text":"hello"}; echo {"text":"hello"}; echo {"text":"hello"}; echo {"text":"hello"}`,
		"loop with hang and echo x":  `hang {}; echo {"text":"x"}; hang {}; echo {"text":"x"}`,
		`loop, fail "a" differently`: `fail {"message":"a #1"}; fail {"message":"a #2"}; fail {"message":"a #3"}; fail {"message":"a #4"}`,
	} {
		c := newConversation(t, standin.Options{Loop: true}, lab.Tools(lab.Options{}))
		if got := strings.Join(c.loop(question, 4), "; "); got != want {
			t.Errorf("%s: %s", question, got)
		}
		c = newConversation(t, standin.Options{}, lab.Tools(lab.Options{}))
		if got := c.loop(question, 4); len(got) > 2 {
			t.Errorf("%s, and it is not to loop: %q", question, got)
		}
	}
}

// A result that the gateway keeps is gone on with by its handle.
func TestPagesOfAKeptResult(t *testing.T) {
	t.Parallel()
	box, err := toolbox.New(t.Context(), toolbox.Options{Functions: lab.Tools(lab.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	c := newConversation(t, standin.Options{}, nil)
	c.box = box
	for _, step := range []struct{ question, call, words string }{
		{"flood 200 KiB", `flood {"bytes":204800}`, "PAGE 1 of 32: lines 1-100 of 3200"},
		{"next page", "", "PAGE 2 of 32: lines 101-200 of 3200"},
		{"page 32", "", "PAGE 32 of 32"},
		{"page 33", "", "There is no page 33"},
	} {
		answer := c.ask(step.question)
		if !strings.Contains(answer, step.words) || step.call != "" && strings.Join(c.calls, "") != step.call {
			t.Fatalf("%s: %q: no %q in\n%s", step.question, c.calls, step.words, answer)
		}
	}
}

var _ agent.Tools = (*toolbox.Toolbox)(nil)
