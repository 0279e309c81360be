// Package extract writes the summary of a conversation without a model: it chooses
// lines, and never makes one up.
//
//	s := extract.Summarize([]extract.Turn{
//		{Kind: extract.User, Text: "Never touch the table billing_v2."},
//		{Kind: extract.Result, Tool: "bash", Text: output},
//	}, extract.Options{Bytes: 12_000, Messages: 84})
//	s.Text // what goes into the conversation in place of those turns
//
// A summary names the number of messages it stands for, quotes the user's own words, and lists the
// plans and things to do in their last state, what the agent said (at the end of tasks, where something had failed, and
// elsewhere) in whole sentences, the files that were changed, what failed and was not run again since, identifiers
// with the line they stood in, errors, and where the work stood. It is marked as Plimsoll's, so
// that a model does not take it for the user's; a later summary that covers an earlier one reads it back ([Turn] of [Prior]) and
// carries on what still fits.
//
// # What is read by its structure
//
// Calls and results are read for what they are, in the order of the conversation: arguments as
// JSON, or as a patch or a shell command. A list whose items have a state is a plan, whatever
// the tool is called, and its next state takes its place. A path beside something to write is a
// changed file. A result that has an exit code, or lines as runners of tests, compilers and
// shells write them, is a failure of its command until the same command runs again; what it said then
// is told apart.
// Each of these has a part of the summary's room, and the user's words two fifths of it; what
// one leaves goes to the others, and what they all leave to other lines.
//
// # What the agent said
//
// What was left open, what the cause was, what was decided and against what stands in sentences of the agent's, and comes before
// identifiers. It is found without a word of any language. Counted is how many words of a sentence are new in what the agent said, each by how
// rare it is there; in scripts without spaces, pairs of letters. Names and numbers are no words, unless they stand nowhere else in the conversation: ten
// sentences of one form are ten facts where words fill the form, and a routine where other files do. A sentence counts for more when it begins
// with a label ("Decision: …") or is among the last before the user speaks, and for less right before a call, less yet when
// it names what the call names: that is an announcement. Items of a list bring their heading along.
//
// What tools printed stands behind a mark on every line, and is read back only as that: no
// result can write a plan, a title or words of the user's.
//
// # What is chosen of the rest
//
// Every line is a candidate. What speaks for it: the user said it; it commands or
// reports an error; it holds identifiers, paths or numbers, the more the rarer they are in
// this conversation; it looks like no other line (lines are compared with everything that
// has a digit in it struck out, so that a thousand lines of a log count as one kind); it is
// newer. What speaks against it: it has no words (a dump), or is no news of the agent's. Lines are taken by what they add for each byte, a line whose
// identifiers are all there already adds little, and a line said twice is taken once. The
// weights were set on sessions of their author's; `go run ./bench facts` prints what survives of
// sessions that others wrote, by kind, and says which of them were looked at since.
//
// [Notable] finds the one line of each tool result that stands out in the same way, and [Failed]
// what it says that went wrong, for those who leave the result out.
//
// [Own] takes away what a client wraps around its user's words (reminders, environment,
// lists of files): it also tells which message holds the task.
//
// All functions are pure: the same input gives the same bytes, in every process on machines
// of one architecture (others may round a weight differently). They are safe for concurrent
// use, and the time they take grows with the input (a megabyte takes well under a second).
// Input beyond [Options].Scan bytes is left out, oldest first.
//
// Tests plant facts among noise, feed summaries back into summaries, and fuzz text, arguments, kinds and
// budgets: never longer than the budget, always valid UTF-8.
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

// newest returns turns with only the newest scan bytes of their text; an earlier summary stays whole. It does not change turns.
func newest(turns []Turn, scan int) []Turn {
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
		return Summary{Text: w.bare(), Messages: messages}
	}
	turns = newest(turns, o.Scan)
	known := gather(turns)
	all := append(lines(turns), known.prose...)
	weigh(all, turns, known)
	chosen := choose(all, known, w.room(known), o.Verbatim)
	text := w.write(all, chosen)
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

// priorLines appends the lines of an earlier summary to found, each in the section it stood in. The user's words stay the user's.
func priorLines(found []line, text string, turn int32) []line {
	at := sectionDecisions
	start := len(found)
	for row := range strings.Lines(text) {
		row = strings.TrimSpace(row)
		if strings.HasPrefix(row, "## ") {
			if s := titled(row); s != sectionNone {
				at = s
			} else if row == verbatimTop {
				at = sectionDecisions
			}
			continue
		}
		if at.recorded() {
			continue // see records.prior
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
				if worth(word) {
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
