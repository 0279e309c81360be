package core

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// lines are what the log tells of events.
func lines(t *testing.T, events ...journal.Event) []string {
	t.Helper()
	var b bytes.Buffer
	log := NewLog(&b)
	j := journal.New(journal.Options{Observers: []journal.Observer{log}})
	for _, e := range events {
		j.Append(e)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	return slices.Collect(strings.Lines(b.String()))
}

// The words that operators look for stand in the log, each in the sentence of its event; nothing is told of events that are no news.
func TestLogHasTheWordsThatAreSearchedFor(t *testing.T) {
	made := journal.WindowCompacted{Model: "claude-x", Conversation: "3f9a01c2d4e5", Reason: "trigger", Rungs: []string{"cut"}, Before: 163_000, After: 98_000, Messages: 14}
	summarised := made
	summarised.Rungs = []string{"cut", "extract"}
	for _, c := range []struct {
		name  string
		event journal.Event
		want  []string // patterns, one a line
	}{
		{"room at the trigger", made, []string{`Pre-flight check detected a conversation over the trigger: conversation 3f9a01c2d4e5 with claude-x: 163k tokens brought to 98k \(cut\)`}},
		{"a summary", summarised, []string{`Pre-flight check detected .*\(cut, extract\)`, `Summarizing 14 messages of conversation 3f9a01c2d4e5`}},
		{"a refusal", journal.WindowCompacted{Reason: "overflow", Rungs: []string{"mask"}}, []string{`refused conversation unknown with an unknown model as too long`}},
		{"one result", journal.WindowCompacted{Reason: "result_size", Rungs: []string{"cut"}}, nil},
		{"an agent of one's own", journal.AgentRoom{Agent: "argocd", Why: "window", Rungs: []string{"model"}, BeforeTokens: 30_000, Tokens: 10_000, Messages: 8}, []string{`Pre-flight check detected .*agent argocd: 30k tokens brought to 10k`, `Summarizing 8 messages of agent argocd`}},
		{"a repair", journal.WindowRepaired{Model: "claude-x", What: "synthesised", Count: 2, CallID: "toolu_1"}, []string{`2 had no result, synthetic ToolMessages stand in`}},
		{"another repair", journal.WindowRepaired{Model: "claude-x", What: "moved", Count: 2}, nil},
		{"a closed queue", journal.AgentQueueClosed{Agent: "argocd", Task: "t-1", Why: "unread"}, []string{`Queue is closed: nobody reads the events of task t-1 \(agent argocd\)`}},
		{"a queue that is open again", journal.AgentQueueReopened{Agent: "argocd", Task: "t-1", Why: "unread"}, nil},
		{"an answer that stood still", journal.WindowStalled{Model: "claude-x", Quiet: 5 * time.Minute, Ended: "error"}, []string{`claude-x stood still: nothing but signs of life came for 5m0s`}},
		{"a loop", journal.WindowLoop{Model: "claude-x", Conversation: "3f9a01c2d4e5", Text: "read was called 4 times in a row", Did: "stopped"}, []string{`repeats itself in conversation 3f9a01c2d4e5 with claude-x: read was called 4 times in a row; its requests are refused until`}},
		{"a request", journal.WindowRequest{Model: "claude-x"}, nil},
		{"a name that is none", journal.WindowStalled{Model: "x\n\x1b[2Jplimsoll: y"}, []string{`stood still`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lines(t, c.event)
			if len(got) != len(c.want) {
				t.Fatalf("%q, want %d lines", got, len(c.want))
			}
			for i, pattern := range c.want {
				if !regexp.MustCompile(`^plimsoll: .*` + pattern).MatchString(got[i]) {
					t.Errorf("%q, want %q", got[i], pattern)
				}
			}
		})
	}
}

// A conversation that is sent again is repaired again, and a queue closes once for many events: each is told once.
func TestLogTellsOnce(t *testing.T) {
	same := journal.WindowRepaired{Model: "claude-x", Conversation: "c", What: "synthesised", Count: 1, CallID: "toolu_1"}
	other := same
	other.CallID = "toolu_2"
	closed := journal.AgentQueueClosed{Agent: "argocd", Task: "t-1", Why: "unread"}
	got := lines(t, same, same, other, same, closed, journal.AgentQueueReopened{Task: "t-1"}, closed)
	if repairs, queues := strings.Count(strings.Join(got, ""), "synthetic ToolMessages"), strings.Count(strings.Join(got, ""), "Queue is closed"); repairs != 2 || queues != 2 {
		t.Errorf("%d repairs and %d queues are told, want 2 and 2 episodes:\n%s", repairs, queues, strings.Join(got, ""))
	}
	var s sentences
	for i := range 3 * maxTold {
		s.linesOf(journal.Record{Event: journal.WindowRepaired{What: "synthesised", Model: strings.Repeat("m", i)}})
	}
	if len(s.told) != maxTold {
		t.Errorf("%d are remembered", len(s.told))
	}
}
