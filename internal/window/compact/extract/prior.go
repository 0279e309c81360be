package extract

import (
	"strconv"
	"strings"
)

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
