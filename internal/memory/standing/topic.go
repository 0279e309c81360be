package standing

import (
	"cmp"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/limit"
)

// acts are the things for which an agent may have to ask, with their patterns.
var acts = [...]struct {
	name    string
	pattern int
}{
	{"commit", messages}, {"push", pushes}, {"deploy", deploys}, {"install", installs}, {"delete", deletes}, {"refactoring", refactors}, {"merge", merges},
}

// findTopic returns the topic of an instruction, by which a later one replaces it, and whether it holds in any project.
func findTopic(s string) (topic string, everywhere bool) {
	low := strings.ToLower(s)
	switch {
	case matches(low, forms):
		return "form of address", true
	case matches(low, languages):
		switch {
		case matches(low, messages):
			return "language of commit messages", false
		case matches(low, comments):
			return "language of comments", false
		case matches(low, documents):
			return "language of documentation", false
		}
		if what := writtenThings(low); what != "" {
			return limit.Clip("language of "+what, 200), false
		}
		return "language of answers", true
	case matches(low, emojis) && !matches(low, messages):
		return "emojis", true
	case matches(low, managers) && !matches(low, running):
		return "package manager", false
	case matches(low, pythons) && !matches(low, running):
		return "package manager of Python", false
	case matches(low, indents):
		return "indentation", false
	case matches(low, lengths) && matches(low, replies):
		return "length of answers", true
	case matches(low, asking):
		for _, a := range acts {
			if matches(low, a.pattern) {
				return "asking before " + a.name, false
			}
		}
	}
	low = blankMatches(strings.ReplaceAll(low, "'", ""), lasting, markers)
	var terms []string
	var words index.Words
	words.Each(low, func(term []byte) {
		if !slices.Contains(terms, string(term)) {
			terms = append(terms, string(term))
		}
	})
	slices.Sort(terms)
	return cmp.Or(limit.Clip(strings.Join(terms, " "), 200), "instruction"), false
}

// writtenThings returns the words for things that are to be written in a language, such as identifiers or tests. It is "" if the
// instruction is about what the agent says.
func writtenThings(low string) string {
	if isChinese(low) {
		return ""
	}
	words, _ := splitWords(blankMatches(low, lasting, inProject, markers, languages))
	if anyIn(words, forReplies) {
		return ""
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return verbKind(w) != 0 || isIn(w, fillers|greetings|adverbs|negations|between|pronouns|subjects|articles|answers|relations)
	}), " ")
}

// isChineseInstruction reports whether a sentence in Chinese is a standing instruction.
func isChineseInstruction(s string) bool {
	s = strings.TrimRight(strings.Join(strings.Fields(s), ""), "。！；.!;")
	for _, filler := range []string{"好的，", "谢谢，", "另外，", "还有，", "对了，", "注意：", "记住：", "记住，", "另外", "还有"} {
		s = strings.TrimPrefix(s, filler)
	}
	if matches(s, notLater) {
		return false
	}
	if m := submatches(s, fromNow); m != nil {
		return isOrder(m[3])
	}
	m := submatches(s, forever)
	if m == nil {
		if rest, ok := strings.CutPrefix(s, "你"); ok {
			m = submatches(rest, forever)
		}
		if m == nil {
			return false
		}
	}
	if m[5] == "每次" {
		w := submatches(m[6], workTime)
		return w != nil && isOrder(w[5])
	}
	return isOrder(m[6])
}

// isOrder reports whether words tell an agent to do something, perhaps after words about when or about what.
func isOrder(s string) bool {
	s = strings.TrimLeft(s, "，,")
	if w := submatches(s, workTime); w != nil && isOrder(w[5]) {
		return true
	}
	if t := submatches(s, topical); t != nil && t[4] != "" && (matches(t[4], order) || t[3] != "") {
		return true
	}
	return matches(s, order)
}
