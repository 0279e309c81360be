package capture

import (
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/recall"
	"github.com/plimsoll/plimsoll/limit"
)

// The lines around what is recalled into a conversation. The name ends as the clients' own elements do, so that what picks out
// a user's words passes over it.
const (
	opening = "<plimsoll-memory-context>"
	closing = "</plimsoll-memory-context>"
)

// preface introduces the lines to a model. They are a person's words of another time, and instructions of now only where the person meant them so.
const preface = "Plimsoll found these in the memory of earlier conversations. They are the user's own words of that time, and instructions to follow where they are " +
	forever + "; the user's message above has precedence."

// Wrap returns lines of recalled memory between the marks by which [Episodes] recognises them; "" for no lines. It leaves out lines that hold
// a mark or a line break.
func Wrap(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		if l == "" || strings.ContainsAny(l, "\n\r") || strings.Contains(strings.ToLower(l), "plimsoll-memory-context") {
			continue
		}
		b.WriteString(l + "\n")
	}
	if b.Len() == 0 {
		return ""
	}
	return opening + "\n" + preface + "\n" + b.String() + closing
}

// Unwrap returns the lines of all blocks that [Wrap] has put into a text.
func Unwrap(text string) (lines []string) {
	for {
		_, rest, ok := strings.Cut(text, opening)
		if !ok {
			return lines
		}
		block, after, _ := strings.Cut(rest, closing)
		for l := range strings.Lines(block) {
			if l = strings.TrimSpace(l); l != "" && l != preface {
				lines = append(lines, l)
			}
		}
		text = after
	}
}

// stripOwn returns a text without what Plimsoll has put into it: blocks of recalled memory, summaries, notices, and lines whose normal form is in
// recalled.
func stripOwn(text string, recalled map[string]bool) string {
	text = withoutBlocks(text)
	if len(recalled) == 0 && !strings.Contains(text, "[Plimsoll") && !strings.Contains(text, "[plimsoll]") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	summary := false
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(bare, summaryEnd):
			summary = false
			continue
		case strings.HasPrefix(bare, summaryBegin):
			summary = !strings.Contains(bare, "Nothing of them is kept here")
			continue
		case summary:
			continue
		case strings.HasPrefix(bare, "[Plimsoll") || strings.HasPrefix(bare, "[plimsoll]"):
			continue
		case recalled[normalLine(bare)]:
			continue
		}
		if at := strings.Index(line, "[Plimsoll "); at >= 0 && strings.Contains(line[at:], " to make room") {
			line = line[:at] + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// The first and the last line of a summary begin so (internal/window/compact/extract, which this package may not know; a test there and
// one in internal/app/remember hold them together).
const (
	summaryBegin = "[Plimsoll: summary of "
	summaryEnd   = "[Plimsoll: end of the summary"
)

// withoutBlocks removes blocks of recalled memory. A block without an end goes to the end of the text: rather too much is removed.
func withoutBlocks(text string) string {
	if !strings.Contains(text, opening) {
		return text
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, opening)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, text, ok = strings.Cut(rest, closing)
		if !ok {
			return b.String()
		}
	}
}

// normalLines returns the set in which [Strip] looks lines up: the normal form of each recalled line, and of its words behind the statement of its
// source, with and without what is said about them. No lines give nil.
func normalLines(lines []string) map[string]bool {
	if len(lines) == 0 {
		return nil
	}
	set := make(map[string]bool, 2*len(lines))
	for _, l := range lines {
		set[normalLine(l)] = true
		if _, words, ok := strings.Cut(l, ": "); ok && len(words) >= 8 {
			set[normalLine(words)] = true
			if plain := recall.WithoutSuffix(words); len(plain) >= 8 {
				set[normalLine(plain)] = true
			}
		}
	}
	delete(set, "")
	return set
}

// normalLine returns the form in which lines are compared: in lower case, without the marks of lists and quotations, with single spaces.
func normalLine(line string) string {
	line = strings.TrimLeft(strings.TrimSpace(line), "-*•>#0123456789.) \t\"'“`")
	return strings.ToLower(strings.Join(strings.Fields(strings.TrimRight(line, " \t\"'”`")), " "))
}

// ownTools are the names of the memory's tools.
var ownTools = []string{"manage_memory", "search_memory", "get_memory"}

// isMemoryTool reports whether a tool is one of the memory's, whatever prefix a client gives its name (mcp__plimsoll__search_memory).
func isMemoryTool(name string) bool {
	name = strings.ToLower(name)
	for _, t := range ownTools {
		if strings.HasSuffix(name, t) {
			return true
		}
	}
	return name == "memory" || strings.Contains(name, "plimsoll") && strings.HasSuffix(name, "memory")
}

// namesPlimsoll reports whether a command line names Plimsoll: it then runs it or reads its files.
func namesPlimsoll(command string) bool {
	return strings.Contains(strings.ToLower(command), "plimsoll")
}

// forever stands in the lines of what is pinned and of standing instructions.
const forever = "for every conversation"

// FormatRecord returns a record as one line of at most size bytes: its origin, date and id, and its words, with line breaks as spaces and without
// control characters, and with "<" and ">" replaced so that nothing looks like markup.
func FormatRecord(r memory.Record, size int) string {
	var b strings.Builder
	b.WriteString("- [" + string(r.Origin) + ", ")
	if r.Kind == memory.KindPin || r.Standing() {
		b.WriteString(forever + ", ")
	}
	b.WriteString(r.Said.UTC().Format("2006-01-02") + ", " + r.ID + "]: ")
	space := false
	for _, c := range r.Text {
		switch {
		case c == '\n' || c == '\r' || c == '\t' || c == ' ' || c == '\u2028' || c == '\u2029' || c == '\u0085':
			space = true
			continue
		case c == '<':
			c = '‹'
		case c == '>':
			c = '›'
		case unicode.IsControl(c), unicode.Is(unicode.Cf, c): // invisible signs and changes of direction
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(c)
		if b.Len() > size {
			break
		}
	}
	return limit.Clip(b.String(), size)
}
