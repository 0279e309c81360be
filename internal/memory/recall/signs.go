package recall

import (
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/memory/signs"
)

// order tells whether a prompt begins as an order does.
type order uint8

const (
	none    order = iota
	ordered       // fix, führe … aus, 修复, arregla
	asked         // an order to tell something: list, erinnere mich, 告诉我, dime
)

// signs sets what the words of a prompt show beside what it is about.
func (p *Prompt) signs(all []unit) order {
	s := signs.All()
	p.asks = strings.ContainsAny(p.Query, "?？")
	if len(all) == 0 {
		return none
	}
	first := true // no word stood before but polite ones
	told := none
	for i, t := range all {
		if t.Dense {
			first = false // see hanSigns
			continue
		}
		w := t.Word
		p.mine = p.mine || s["mine"][w]
		p.said = p.said || s["said"][w]
		p.List = p.List || s["list"][w]
		p.world = p.world || s["general"][w]
		p.fact = p.fact || s["fact"][w] && i < 3
		p.why = p.why || s["reason"][w]
		p.should = p.should || s["should"][w] && i < 3
		if s["person"][w] {
			p.mine = p.mine || i+1 < len(all) && s["likes"][all[i+1].Word] || i > 0 && s["likes"][all[i-1].Word]
			p.world = p.world || i > 0 && i <= 2 && s["way"][all[0].Word]
		}
		p.world = p.world || i == 1 && w == "to" && s["way"][all[0].Word]
		if s["here"][w] && !hasSubject(all, i) {
			p.here = true
		}
		if !first {
			continue
		}
		switch {
		case s["question"][w] && !s["polite"][w]:
			p.asks, first = true, false
		case s["ask"][w]:
			told, first = asked, false
		case s["order"][w] && !t.isName(true):
			told, first = ordered, false
		case !s["polite"][w] && !s["greeting"][w]:
			first = false
		}
	}
	if told == ordered && strings.HasSuffix(p.Query, "?") && s["order"][all[0].Word] {
		told = none // try-catch around the call?
	}
	p.hanSigns(&told)
	return told
}

// hasSubject reports whether a word that points (this, diese) stands before a word of time or place, not of code: this quarter, this week.
func hasSubject(all []unit, i int) bool {
	if i+1 >= len(all) {
		return false
	}
	r := all[i+1].rank()
	return r == everyday || r == rare && all[i+1].Term != ""
}

// hanSigns is signs for scripts without spaces: their words are looked for as they stand.
func (p *Prompt) hanSigns(told *order) {
	if !strings.ContainsFunc(p.Query, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return
	}
	s := signs.All()
	has := func(sign string) bool {
		for w := range s[sign] {
			if signs.IsHan(w) && strings.Contains(p.Query, w) {
				return true
			}
		}
		return false
	}
	p.asks = p.asks || has("question")
	p.mine = p.mine || has("mine")
	p.said = p.said || has("said")
	p.here = p.here || has("here")
	p.world = p.world || has("general")
	p.fact = p.fact || has("fact")
	p.why = p.why || has("reason")
	p.should = p.should || has("should")
	p.List = p.List || has("list")
	for w := range s["ask"] {
		if signs.IsHan(w) && strings.HasPrefix(p.Query, w) {
			*told = asked
			return
		}
	}
	for w := range s["order"] {
		if signs.IsHan(w) && strings.HasPrefix(p.Query, w) && !p.asks {
			*told = ordered
		}
	}
}

// isCommand reports whether a prompt is a command of a client or a shell: /compact, !ls, git push origin HEAD, npm run build, ls -la.
func isCommand(text string) bool {
	if strings.ContainsAny(text[:1], "/!") && !strings.Contains(text, "\n") && len(text) < 200 {
		return true
	}
	fields := strings.Fields(text)
	if strings.ContainsAny(text, "?？\n") || len(fields) > 12 {
		return false
	}
	marks, functions := 0, 0
	for i, f := range fields {
		switch {
		case i > 0 && (strings.HasPrefix(f, "-") && len(f) > 1 || strings.HasPrefix(f, "./") || strings.HasPrefix(f, "/") || f == "&&" || f == "|" || strings.Contains(f, "/...")):
			marks++
		case ranks()[strings.ToLower(f)] == function:
			functions++
		}
	}
	return marks > 0 && functions == 0 || len(fields) <= 4 && functions == 0 && isProgram(fields[0]) && len(fields) > 1
}

// isProgram reports whether a line that begins with a word is mostly one for a shell.
func isProgram(word string) bool {
	switch word {
	case "git", "npm", "npx", "pnpm", "yarn", "bun", "go", "cargo", "make", "docker", "kubectl", "helm", "terraform", "python", "python3", "pip", "uv", "node", "ls", "cd", "cat", "grep", "curl", "ssh", "gradle", "mvn", "bazel", "gh":
		return true
	}
	return false
}
