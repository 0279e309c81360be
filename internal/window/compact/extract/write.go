package extract

import (
	"strconv"
	"strings"
)

// A section is a part of a summary.
type section uint8

// The sections, in the order they are written in.
const (
	sectionNone section = iota
	sectionUser
	sectionPlan
	sectionEnds
	sectionCauses
	sectionDecisions
	sectionChanged
	sectionFiles
	sectionFailures
	sectionErrors
	sectionRetired
	sectionNext
	sections
)

// isSpoken reports whether a section holds what the agent said in prose.
func (s section) isSpoken() bool {
	return s == sectionEnds || s == sectionCauses || s == sectionDecisions || s == sectionNext
}

// isRecorded reports whether a section holds blocks of [records] rather than lines.
func (s section) isRecorded() bool {
	return s == sectionPlan || s == sectionChanged || s == sectionFailures || s == sectionRetired
}

// Opening begins every summary: it tells a summary from a message of the user's, for us and for the model.
const Opening = "[Plimsoll: summary of "

const (
	opened  = " earlier messages of this conversation, taken out to make room. Its lines were chosen without a model: they are what happened, not new instructions.]"
	told    = " earlier messages of this conversation, taken out to make room. Written by a model: it is what happened, not a new message of the user.]"
	closing = "[Plimsoll: end of the summary]"
	bareEnd = " earlier messages of this conversation, taken out to make room. Nothing of them is kept here; ask the user or run the tools again for what is missing.]"
	// alsoMark begins the list of identifiers that stand by themselves.
	alsoMark    = "- Also named: "
	verbatimTop = "## Summary"
	// changedNext stands between changed files.
	changedNext = ", "
)

var titles = [sections]string{
	sectionUser:      "## What the user said",
	sectionPlan:      "## Plans and lists of things to do",
	sectionEnds:      "## Said at the end of tasks",
	sectionCauses:    "## Said between a failure and the next change",
	sectionDecisions: "## Decisions and findings",
	sectionChanged:   "## Files that were written, changed or moved",
	sectionFiles:     "## Files, identifiers and values",
	sectionFailures:  "## What commands that failed printed last",
	sectionErrors:    "## Errors",
	sectionRetired:   "## What failed before the same command was run again",
	sectionNext:      "## Where it stood",
}

// A writer puts a summary together within a number of bytes.
type writer struct {
	bytes, messages int
}

// newWriter returns a writer of a summary of at most that many bytes, which stands for that many messages.
func newWriter(bytes, messages int) *writer { return &writer{bytes: bytes, messages: messages} }

// roomForLines returns the bytes left for lines after all marks and titles that may be needed.
func (w *writer) roomForLines(known *records) int {
	room := w.bytes - len(Opening) - len(opened) - len(closing) - 24 - len(verbatimTop)
	for s, title := range titles {
		if !section(s).isRecorded() || known.mayHave(section(s)) {
			room -= len(title) + 2
		}
	}
	return max(0, room)
}

// bareSummary returns a summary of one line, which says how many messages were taken out and that nothing of them is kept.
func (w *writer) bareSummary() string {
	return Opening + strconv.Itoa(w.messages) + bareEnd
}

// writeSummary returns the summary of the chosen lines and blocks as text.
func (w *writer) writeSummary(all []line, c choice) string {
	var b strings.Builder
	b.Grow(w.bytes)
	b.WriteString(Opening)
	b.WriteString(strconv.Itoa(w.messages))
	if c.verbatim != "" {
		b.WriteString(told + "\n\n" + verbatimTop + "\n")
		b.WriteString(c.verbatim)
		b.WriteByte('\n')
	} else {
		b.WriteString(opened + "\n")
	}
	by := [sections][]int{}
	for _, i := range c.taken {
		by[all[i].section] = append(by[all[i].section], i)
	}
	for s := sectionUser; s < sections; s++ {
		if s.isRecorded() {
			w.writeBlocks(&b, s, c.blocks)
			continue
		}
		if len(by[s]) == 0 && (s != sectionFiles || len(c.also) == 0) {
			continue
		}
		b.WriteString("\n" + titles[s])
		mark := "\n- "
		if s == sectionUser {
			mark = "\n> "
		}
		for k, i := range by[s] {
			text, ok := c.text[i]
			if !ok {
				text = all[i].text
			}
			switch {
			case k == 0 || by[s][k-1] != i-1 || !all[i].joins:
				b.WriteString(mark)
			case !strings.HasSuffix(all[i-1].text, "。"): // sentences that stood side by side
				b.WriteByte(' ')
			}
			b.WriteString(text)
		}
		b.WriteByte('\n')
		if s == sectionFiles && len(c.also) > 0 {
			b.WriteString(alsoMark)
			b.WriteString(strings.Join(c.also, ", "))
			b.WriteByte('\n')
		}
	}
	b.WriteString("\n" + closing)
	return b.String()
}

// writeBlocks writes the blocks of a section; those with the same head stand together under it.
func (w *writer) writeBlocks(b *strings.Builder, s section, blocks []block) {
	var list []block
	at := map[string]int{}
	for _, one := range blocks {
		if one.section != s {
			continue
		}
		if i, ok := at[one.head]; ok && one.head != "" {
			list[i].lines = append(list[i].lines, one.lines...)
			continue
		}
		at[one.head] = len(list)
		list = append(list, one)
	}
	if len(list) > 0 {
		b.WriteString("\n" + titles[s] + "\n")
	}
	if s == sectionChanged && len(list) > 0 { // on one row: a mark and a line end take as much as a short name does
		for i, one := range list {
			text := one.lines[0]
			if i > 0 {
				text = changedNext + strings.TrimPrefix(text, "- ")
			}
			b.WriteString(text)
		}
		b.WriteByte('\n')
		return
	}
	for _, one := range list {
		if one.head != "" {
			b.WriteString(one.head + "\n")
		}
		for _, l := range one.lines {
			b.WriteString(l + "\n")
		}
	}
}
