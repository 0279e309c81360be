package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A model that reads the same file again and again, n times, then asks the user, who answers with words, if there are any.
func looping(d wire.Dialect, n int, words string) []byte {
	turns := []transcripts.Turn{{User: "Mend the build."}}
	for range n {
		turns = append(turns, transcripts.Turn{Calls: []transcripts.Made{{Name: "read_file", Arguments: `{"path":"go.mod"}`, Result: "module x"}}})
	}
	if words != "" {
		turns = append(turns, transcripts.Turn{User: words})
	}
	return transcripts.History(d, turns...)
}

func TestALoopIsJournalledOnceAndChangesNothing(t *testing.T) {
	t.Parallel()
	for _, d := range everyDialect {
		for name, o := range map[string]Options{"warn": {}, "observed": {Mode: Observe, OnLoop: LoopStop}, "hint without a store": {OnLoop: LoopHint}} {
			t.Run(d.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				provider, last := bodies(t)
				_, root, j := start(t, provider, o)
				for n := range 9 {
					for range 2 { // a client that tries again
						body := looping(d, n, "")
						if res := postBody(t, root, talkIn(d).path(), body, nil); res.StatusCode != http.StatusOK || !bytes.Equal(last(), body) {
							t.Fatalf("request %d: status %d, other bytes", n, res.StatusCode)
						}
						if got := len(events[journal.WindowLoop](j)); got != min(1, n/4) {
							t.Fatalf("%d events after %d calls", got, n)
						}
					}
				}
				e := events[journal.WindowLoop](j)[0]
				if e.Rule != "identical" || e.Did != "warned" || e.Conversation == "" || e.Request == 0 || !strings.Contains(e.Text, "read_file was called 4 times") {
					t.Errorf("%+v", e)
				}
			})
		}
	}
}

// The hint stands behind the newest result, which the provider has not seen; from then on it is sent with every request, also by another
// process, and each request begins with the one before.
func TestAHintStaysWhereItWasSaid(t *testing.T) {
	t.Parallel()
	for _, d := range everyDialect {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			provider, last := bodies(t)
			dir := t.TempDir()
			_, root, j := start(t, provider, Options{OnLoop: LoopHint, Store: openStore(t, dir)})
			var before []byte
			for n := range 12 {
				if n == 8 {
					_, root, _ = start(t, provider, Options{OnLoop: LoopHint, Store: openStore(t, dir)})
				}
				body := looping(d, n, "")
				res := postBody(t, root, talkIn(d).path(), body, nil)
				got := last()
				if err := wire.ValidateEdit(d, body, got); err != nil {
					t.Fatalf("request %d: %v", n, err)
				}
				hints := bytes.Count(got, []byte("Note by Plimsoll: You called read_file 4 times in a row"))
				if hints != min(1, n/4) || (n == 4) != strings.Contains(res.Header.Get(ActionsHeader), "hinted") {
					t.Fatalf("request %d: %d hints, actions %q", n, hints, res.Header.Get(ActionsHeader))
				}
				if n == 4 && !bytes.Contains(got[bytes.LastIndex(got, []byte("module x")):], []byte("Note by Plimsoll")) {
					t.Fatalf("the hint does not stand behind the newest result: %s", got)
				}
				after := messagesOf(parsed(t, d, got))
				if !bytes.HasPrefix(after, before) {
					t.Fatalf("request %d does not begin with the one before", n)
				}
				before = after
				postBody(t, root, talkIn(d).path(), body, nil)
				if !bytes.Equal(last(), got) {
					t.Fatalf("request %d: other bytes when it is tried again", n)
				}
			}
			if e := events[journal.WindowLoop](j); len(e) != 1 || e[0].Did != "hinted" {
				t.Errorf("%+v", e)
			}
		})
	}
}

// Where a result has no words, the hint is a block behind it.
func TestAHintBehindAPicture(t *testing.T) {
	t.Parallel()
	provider, last := bodies(t)
	_, root, _ := start(t, provider, Options{OnLoop: LoopHint, Store: memoryStore(t)})
	var list []string
	for i := range 4 {
		list = append(list, fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"screenshot","input":{}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%[1]d","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}]}`, i))
	}
	body := `{"model":"claude-opus-4-8","max_tokens":99,"messages":[{"role":"user","content":"look"},` + strings.Join(list, ",") + `]}`
	postBody(t, root, "/anthropic/v1/messages", []byte(body), nil)
	r := parsed(t, wire.Messages, last())
	parts := r.Messages[len(r.Messages)-1].Parts
	if len(parts) != 2 || parts[1].Kind != wire.Text || !strings.Contains(r.Words(&parts[1]), "screenshot 4 times") {
		t.Errorf("%s", last())
	}
	if err := wire.ValidateEdit(wire.Messages, []byte(body), last()); err != nil {
		t.Error(err)
	}
}

// A stopped conversation is refused until the user says something new, whatever it is, and never before it repeats itself.
func TestALoopIsStopped(t *testing.T) {
	t.Parallel()
	for _, d := range everyDialect {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			provider, last := bodies(t)
			_, root, j := start(t, provider, Options{OnLoop: LoopStop, Store: memoryStore(t)})
			send := func(body []byte) (int, string) {
				res, err := http.Post(root+talkIn(d).path(), "application/json", bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = res.Body.Close() }()
				text, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				return res.StatusCode, string(text)
			}
			for n := range 4 {
				if status, _ := send(looping(d, n, "")); status != http.StatusOK {
					t.Fatalf("request %d: status %d", n, status)
				}
			}
			want := http.StatusBadRequest
			if d == wire.Messages {
				want = http.StatusPaymentRequired
			}
			for range 2 {
				status, text := send(looping(d, 4, ""))
				if status != want || !strings.Contains(text, "read_file was called 4 times") || !strings.Contains(text, "until you say something new") {
					t.Fatalf("status %d: %s", status, text)
				}
			}
			if e := events[journal.WindowLoop](j); len(e) != 1 || e[0].Did != "stopped" {
				t.Errorf("%+v", e)
			}
			if e := events[journal.WindowRefused](j); len(e) != 2 || e[0].Reason != "loop" {
				t.Errorf("%+v", e)
			}
			body := looping(d, 4, "Leave go.mod alone and read main.go.")
			if status, text := send(body); status != http.StatusOK || !bytes.Equal(last(), body) {
				t.Errorf("after new words: status %d: %s", status, text)
			}
		})
	}
}

// An answer that repeats one sentence is told, but with new words of the user there is nothing to stop.
func TestASentenceAgainAndAgainStopsNobodyWhoHasSpoken(t *testing.T) {
	t.Parallel()
	provider, _ := bodies(t)
	_, root, j := start(t, provider, Options{OnLoop: LoopStop})
	body := transcripts.History(wire.Chat, transcripts.Turn{User: "Mend it."},
		transcripts.Turn{Say: strings.Repeat("I will look at it once more. ", 50)}, transcripts.Turn{User: "You repeat yourself: stop that."})
	if res := postBody(t, root, talkIn(wire.Chat).path(), body, nil); res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
	if e := events[journal.WindowLoop](j); len(e) != 1 || e[0].Rule != "said" || e[0].Did != "warned" {
		t.Errorf("%+v", e)
	}
}

// Somebody who says "continue" by himself goes round; a timer that asks the same every few minutes does not.
func TestTheSameAnswerToTheSameWords(t *testing.T) {
	t.Parallel()
	for every, want := range map[time.Duration]int{time.Second: 1, 5 * time.Minute: 0} {
		provider, _ := bodies(t)
		p, root, j := start(t, provider, Options{})
		at := time.Unix(1_800_000_000, 0)
		p.now = func() time.Time { return at }
		turns := []transcripts.Turn{{User: "Look for new messages."}}
		for range 8 {
			turns = append(turns, transcripts.Turn{Say: "There are no new messages."}, transcripts.Turn{User: "Look for new messages."})
			postBody(t, root, talkIn(wire.Chat).path(), transcripts.History(wire.Chat, turns...), nil)
			at = at.Add(every)
		}
		if got := len(events[journal.WindowLoop](j)); got != want {
			t.Errorf("asked every %v: %d loops, want %d", every, got, want)
		}
	}
}

// A provider that checks what a thought is bound to takes everything that is made behind a hint.
func TestAHintKeepsThoughtsValid(t *testing.T) {
	t.Parallel()
	const turns = 12
	provider, _, root, j := scripting(t, scripted.Options{
		Reasoning: scripted.RuleOf, Strict: true,
		Script: scripted.Thoughtful(scripted.Shells("done", slices.Repeat([]string{"make"}, turns+1)...)),
	}, Options{Store: memoryStore(t), OnLoop: LoopHint})
	a := &appender{dialect: wire.Messages, model: "claude-fable-5-1"}
	a.says("Mend the build of project Halcyon.")
	for range turns {
		a.send(t, root)
		a.results(a.open, func(string) string { return "nothing to be done" }, "")
	}
	if s := provider.Stats(); s.Refused > 0 || s.Dropped > 0 || s.Sent != s.Accepted || s.Made != turns {
		t.Errorf("%+v", s)
	}
	if e := events[journal.WindowLoop](j); len(e) != 1 || e[0].Did != "hinted" {
		t.Errorf("%+v", e)
	}
}

func TestAnUnknownActionIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{OnLoop: "panic"}); err == nil || !strings.Contains(err.Error(), "warn, hint or stop") {
		t.Errorf("%v", err)
	}
}
