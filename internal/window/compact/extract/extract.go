// Package extract writes the summary of a conversation without a model, for package compact: it chooses lines, and never makes one up.
//
// A summary ([Summarize]) quotes the user's words, and lists plans in their last state, what the agent said, changed files, failures that
// were not run again since, identifiers with their lines, errors, and where the work stood. Each has a part of the room. It is marked as
// Plimsoll's, and a later summary reads it back ([Prior]). Results of tools stand behind a mark on each line: none can write a plan or
// words of the user's.
//
// Calls and results are read by structure: arguments as JSON, patches or shell commands, lists whose items have a state as plans. Sentences
// of the agent count by how many of their words are new and rare; other lines by what they add for each byte: identifiers, errors, commands,
// what looks like no other line. No rule depends on a language. [Notable] and [Failed] find the one line of a result, [Own] the user's own
// words. The weights were set on sessions; `go run ./bench facts` prints what survives of others.
//
// All functions are pure, linear in at most [Options].Scan bytes, and give valid UTF-8 within the budget.
package extract

import (
	"slices"
	"strconv"
	"strings"
)

// Kind is the source of a turn.
type Kind uint8

// The kinds of turns.
const (
	User      Kind = iota // the user's message; a client's additions are taken off
	Assistant             // what the model said
	Call                  // the arguments of a tool call
	Result                // what a tool gave back
	Prior                 // an earlier summary, as it stands in the conversation
)

// A Turn is one text of the conversation, oldest first.
type Turn struct {
	Kind Kind
	Tool string // of a Call or a Result; may be empty
	ID   string // that a Call and its Result have in common; empty where there is none
	// Kept means that the turn stays in the conversation: nothing of it goes into the summary, and neither does a plan or a failure that it
	// replaces.
	Kept   bool
	Failed bool // of a Result that is an error
	Text   string
}

// Options bound the length of a summary.
type Options struct {
	// Bytes is the most the summary may take, its marks included. Below MinBytes nothing
	// but the first line is written.
	Bytes int
	// Messages is the number of messages of the conversation in the turns; an earlier
	// summary among them adds those it stood for.
	Messages int
	// Scan bounds the input that is read, in bytes, newest first; 0 means DefaultScan.
	Scan int
	// Verbatim is a model's summary, which then takes the place of everything but the
	// user's own words. It is cut when it does not fit.
	Verbatim string
}

const (
	// MinBytes is the least that holds more than the first and the last line.
	MinBytes = 400
	// DefaultScan is four times the text of a window of a million tokens.
	DefaultScan = 16 << 20
)

// A Summary is the text for the conversation, with its figures.
type Summary struct {
	Text     string
	Messages int // that it stands for, those of earlier summaries included
	Lines    int // that were taken over
}

// newestTurns returns turns with only the newest scan bytes of their text; an earlier summary stays whole. It does not change turns.
func newestTurns(turns []Turn, scan int) []Turn {
	from, size := len(turns), 0
	for from > 0 && size < scan {
		from--
		size += len(turns[from].Text)
	}
	over := size - scan
	if from == 0 && over <= 0 {
		return turns
	}
	turns = slices.Clone(turns)
	for i := range from {
		turns[i].Text = ""
	}
	if t := &turns[from]; over > 0 && t.Kind != Prior {
		t.Text = t.Text[min(over, len(t.Text)):]
	}
	return turns
}

// Summarize returns a summary of turns: of their lines, or of o.Verbatim and the user's words. Below MinBytes only the first line is
// written.
func Summarize(turns []Turn, o Options) Summary {
	if o.Scan <= 0 {
		o.Scan = DefaultScan
	}
	messages := o.Messages
	for _, t := range turns {
		if t.Kind == Prior {
			// The earlier summary is itself one of the messages counted.
			messages += max(0, priorCount(t.Text)-1)
		}
	}
	w := newWriter(o.Bytes, messages)
	if o.Bytes < MinBytes {
		return Summary{Text: w.bareSummary(), Messages: messages}
	}
	turns = newestTurns(turns, o.Scan)
	known := gatherRecords(turns)
	all := append(linesOf(turns), known.prose...)
	weighLines(all, turns, known)
	chosen := chooseLines(all, known, w.roomForLines(known), o.Verbatim)
	text := w.writeSummary(all, chosen)
	return Summary{Text: text, Messages: messages, Lines: chosen.count}
}

// IsSummary reports whether a text is a summary that [Summarize] wrote.
func IsSummary(text string) bool {
	return strings.HasPrefix(text, Opening) && priorCount(text) > 0
}

// priorCount returns the number of messages that a summary says it stands for, 0 for a text that is not one.
func priorCount(text string) int {
	rest, ok := strings.CutPrefix(text, Opening)
	if !ok {
		return 0
	}
	number, _, ok := strings.Cut(rest[:min(len(rest), 12)], " ")
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// priorLines appends the lines of an earlier summary to found, each in its section. The user's words stay the user's.
func priorLines(found []line, text string, turn int32) []line {
	at := sectionDecisions
	start := len(found)
	for row := range strings.Lines(text) {
		row = strings.TrimSpace(row)
		if strings.HasPrefix(row, "## ") {
			if s := sectionTitled(row); s != sectionNone {
				at = s
			} else if row == verbatimTop {
				at = sectionDecisions
			}
			continue
		}
		if at.isRecorded() {
			continue // see records.addPrior
		}
		if row == "" || strings.HasPrefix(row, "[Plimsoll: ") {
			continue
		}
		l := line{turn: turn, kind: Prior, section: at}
		if at == sectionNext {
			l.section = sectionDecisions // it stands elsewhere now
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(row, "- "), "> ")
		if list, ok := strings.CutPrefix(row, alsoMark); ok {
			for word := range strings.SplitSeq(list, ", ") {
				if isWorthReading(word) {
					l.text = word
					found = append(found, l)
				}
			}
			continue
		}
		if strings.HasPrefix(row, "> ") {
			l.section = sectionUser
		}
		for _, part := range pieces(rest, longSpoken, longSpoken) {
			l.text = part
			found = append(found, l)
		}
	}
	for i := start; i < len(found); i++ {
		found[i].first = false
	}
	return found
}
