package heldout

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// A dialogue is a whole session by hand, line by line, so that what counts stands wherever its author put it: "> " begins what the user
// says, "r PATH | " a file that is read, "e PATH | " one that is edited, "g WORD | " a search, "x COMMAND | " a command that does well,
// "f COMMAND | " one that fails, with what it printed in lines behind it that begin with a tab; "= " is an answer, and "+ " a further line
// of one. Behind the bar stands what the agent says before it. ⟦o:…⟧ is an open point, c a root cause, d a decision, u an order, e an error,
// which counts where the command did not do well later.
type dialogue struct {
	Code  []string
	Rows  int // least of what a tool prints
	Lines string
}

var marked = regexp.MustCompile(`⟦([a-z]):([^⟧]*)⟧`)

var markKinds = map[string]string{"o": "open point", "c": "root cause", "d": "decision", "u": "user"}

// play returns out with the turns and facts of the dialogue; w writes the turns.
func (d *dialogue) play(out Session, r *rand.Rand, w *writer) Session {
	code := script{Code: d.Code}
	seen := map[string]bool{}
	fact := func(kind, text string) {
		if !seen[text] {
			seen[text] = true
			out.Facts = append(out.Facts, Fact{kind, []string{text}})
		}
	}
	var errors []string // of the command at hand
	failing := map[string][]string{}
	plain := func(text string) string {
		for _, m := range marked.FindAllStringSubmatch(text, -1) {
			if m[1] == "e" {
				errors = append(errors, m[2])
			} else {
				fact(markKinds[m[1]], m[2])
			}
		}
		return marked.ReplaceAllString(text, "$2")
	}
	lines := strings.Split(strings.TrimSpace(d.Lines), "\n")
	for i := 0; i < len(lines); i++ {
		kind, text := lines[i][:2], lines[i][2:]
		more := func(begin string) (rest []string) {
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], begin) {
				i++
				rest = append(rest, strings.TrimPrefix(lines[i][len(begin):], " "))
			}
			return rest
		}
		if kind == "> " || kind == "= " {
			text = plain(strings.Join(append([]string{text}, more("+")...), "\n"))
			if kind == "> " {
				w.user(text)
			} else {
				w.say(text)
			}
			continue
		}
		at, say, _ := strings.Cut(text, " | ")
		say = plain(strings.Join(append([]string{say}, more("+")...), "\n"))
		switch kind {
		case "r ":
			w.read(say, at, code.snippet(r, d.Rows+r.IntN(d.Rows)))
		case "e ":
			w.edit(say, at, code.snippet(r, 4), code.snippet(r, 6))
			fact("edited file", at)
		case "g ":
			w.run(say, "grep -rn "+at+" .", code.snippet(r, d.Rows/2+r.IntN(d.Rows/2)), 0)
		case "x ":
			delete(failing, at)
			w.run(say, at, fmt.Sprintf("%s\nFinished in %d.%d seconds\n", code.snippet(r, 8), r.IntN(9), r.IntN(10)), 0)
		case "f ":
			errors = nil
			w.run(say, at, code.snippet(r, 6)+plain(strings.Join(more("\t"), "\n")), 1)
			failing[at] = errors
		}
	}
	for _, command := range sorted(failing) {
		for _, text := range failing[command] {
			fact("test error", text)
		}
	}
	out.Body = w.encode(out.Dialect)
	return out
}
