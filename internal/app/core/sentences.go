package core

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// maxTold bounds what is remembered so as not to be told twice.
const maxTold = 512

// NewLog begins to write to w what somebody who looks after agents wants to read, a sentence a line, as it happens: that room was made,
// what was repaired, that a queue of events closed, that an answer stood still, that an agent repeats itself. Its owner closes it.
//
// Four wordings are there to be searched for, as in the platform for agents whose work Plimsoll does (docs/troubleshooting.md): "Pre-flight
// check detected", "Summarizing N messages", "synthetic ToolMessages" and "Queue is closed". They stay.
func NewLog(w io.Writer) *EventLog {
	return newEventLog(w, new(sentences).linesOf)
}

// sentences words events for people. One goroutine at a time uses it: the journal's.
type sentences struct {
	told []string // the newest repairs
}

// linesOf returns the lines that tell of an event, none if nothing is told of it. A repair is told once, though it happens again each time the
// conversation is sent.
func (s *sentences) linesOf(r journal.Record) []byte {
	var lines []string
	say := func(form string, args ...any) {
		lines = append(lines, "plimsoll: "+printable.Name(secrets.Text(fmt.Sprintf(form, args...)))+"\n")
	}
	switch e := r.Event.(type) {
	case journal.WindowCompacted:
		of := conversationOf(e.Conversation, e.Model)
		made := fmt.Sprintf("%s tokens brought to %s (%s)", limit.Tokens(e.Before), limit.Tokens(e.After), strings.Join(e.Rungs, ", "))
		switch why := checked[e.Reason]; {
		case why != "":
			say("Pre-flight check detected %s: %s: %s", why, of, made)
		case e.Reason == "overflow":
			say("Its provider refused %s as too long: %s", of, made)
		}
		if summarised(e.Rungs) {
			say("Summarizing %d messages of %s", e.Messages, of)
		}
	case journal.AgentRoom:
		of := "agent " + cmp.Or(e.Agent, "unknown")
		if why := checked[e.Why]; why != "" {
			say("Pre-flight check detected %s: %s: %s tokens brought to %s (%s)", why, of, limit.Tokens(e.BeforeTokens), limit.Tokens(e.Tokens), strings.Join(e.Rungs, ", "))
		}
		if summarised(e.Rungs) {
			say("Summarizing %d messages of %s", e.Messages, of)
		}
	case journal.WindowRepaired:
		if e.What != "synthesised" || !s.isFirst(e.Conversation+" "+e.Model+" "+e.CallID) {
			return nil
		}
		say("Orphaned tool calls in %s: %d had no result, synthetic ToolMessages stand in for them", conversationOf(e.Conversation, e.Model), e.Count)
	case journal.WindowStalled:
		say("An answer of %s stood still: nothing but signs of life came for %s. It was ended so that the client tries again", cmp.Or(e.Model, e.Upstream), e.Quiet.Round(time.Second))
	case journal.WindowLoop:
		say("An agent repeats itself in %s: %s%s", conversationOf(e.Conversation, e.Model), e.Text, e.Then())
	case journal.AgentQueueClosed:
		say("Queue is closed: %s of task %s (agent %s); what happens until somebody is there again is kept as far as there is room", whyClosed(e.Why), e.Task, cmp.Or(e.Agent, "unknown"))
	}
	return []byte(strings.Join(lines, ""))
}

// isFirst reports whether what is not among the last maxTold things told, and notes it as told.
func (s *sentences) isFirst(what string) bool {
	if slices.Contains(s.told, what) {
		return false
	}
	if len(s.told) == maxTold {
		s.told = s.told[1:]
	}
	s.told = append(s.told, what)
	return true
}

func conversationOf(name, model string) string {
	return fmt.Sprintf("conversation %s with %s", cmp.Or(name, "unknown"), cmp.Or(model, "an unknown model"))
}

// checked names the finding of the check before a request is sent, by the reason of a compaction.
var checked = map[string]string{
	"trigger": "a conversation over the trigger", "window": "a conversation over the trigger", "limit": "a conversation that would not fit", "topic": "the end of a task", "cold": "a conversation near the trigger whose cache has expired",
}

func summarised(rungs []string) bool {
	return slices.Contains(rungs, compact.RungModel) || slices.Contains(rungs, compact.RungExtract)
}

// whyClosed puts the code for why a stream of events was closed into words. It returns an unknown code as it is.
func whyClosed(why string) string {
	switch why {
	case "unread":
		return "nobody reads the events"
	case "closed":
		return "whoever runs it closed the events"
	case "ended":
		return "something goes on to send events after the end"
	}
	return why
}
