package heldout

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A script is the talk of one session by hand: steps calls, among which what counts is dealt out by a fixed rule.
type script struct {
	Said    []string            // by the user: the task first, the others in the course of it
	User    []string            // facts in it
	Decided map[string]string   // what the agent says, and the words of it that count
	Dirs    []string            // of the project
	Stems   []string            // of file names
	Suffix  string              // of file names
	Todo    []string            // left to do at last; what was done stands before
	Done    []string            // on the list, and done
	Failing map[string][]string // commands that fail at their last run: output, and the lines of it that count
	Passed  map[string][]string // commands that failed first and pass at last
	Code    []string            // lines of the language, with %s for an identifier
}

// steps is the number of calls in a session.
const steps = 300

// play returns out with the turns and facts of the script; w writes the turns.
func (s *script) play(out Session, r *rand.Rand, w *writer) Session {
	fact := func(kind, text string) {
		f := Fact{kind, []string{text}}
		if plain := strings.ReplaceAll(text, `\"`, `"`); plain != text { // of an output that is within JSON
			f.AnyOf = append(f.AnyOf, plain)
		}
		out.Facts = append(out.Facts, f)
	}
	for _, text := range s.User {
		fact("user", text)
	}
	for _, d := range sorted(s.Decided) {
		fact("decision", s.Decided[d])
	}
	for _, item := range s.Todo {
		fact("todo", item)
	}
	for _, command := range sorted(s.Failing) {
		for _, line := range s.Failing[command][1:] {
			fact("test error", line)
		}
	}
	files := s.editedFiles(r)

	w.user(s.Said[0])
	decisions, failing, passed := sorted(s.Decided), sorted(s.Failing), sorted(s.Passed)
	edited := 0
	for n := range steps {
		if n > 0 && n%60 == 30 && n/60+1 < len(s.Said) {
			w.user(s.Said[n/60+1])
		}
		say := ""
		if n%22 == 11 && n/22 < len(decisions) {
			say = decisions[n/22]
		} else if n%9 == 4 {
			say = idle[r.IntN(len(idle))]
		}
		switch {
		case n == 8 || n == 120 || n == 240: // the plan, further each time
			through := map[int]int{8: 0, 120: len(s.Done) / 2, 240: len(s.Done)}[n]
			w.writePlan(say, s.Done, through, s.Todo)
		case n%29 == 17 && n < 200 && len(passed) > 0:
			c := passed[(n/29)%len(passed)]
			w.run(say, c, s.Passed[c][0], 1)
		case n >= 200 && n%13 == 5 && (n-200)/13 < len(passed):
			c := passed[(n-200)/13]
			w.run(say, c, s.Passed[c][1], 0)
		case n >= 140 && n%25 == 3 && (n-140)/25 < len(failing):
			c := failing[(n-140)/25]
			w.run(say, c, s.Failing[c][0], 1)
		case n%4 == 2 && edited < len(files):
			w.edit(say, files[edited], s.snippet(r, 6), s.snippet(r, 8))
			edited++
		case n%11 == 6:
			w.run(say, fmt.Sprintf("ls -la %s", s.Dirs[r.IntN(len(s.Dirs))]), s.listing(r), 0)
		default:
			f := files[r.IntN(len(files))]
			w.read(say, f, s.snippet(r, 40+r.IntN(30)))
		}
	}
	for _, f := range files[:edited] { // where a command ran in place of an edit, the last of them are only read
		fact("edited file", f)
	}
	w.user("Weiter, please.")
	out.Body = w.encode(out.Dialect)
	return out
}

// editedFiles returns the names of the 75 files that are edited.
func (s *script) editedFiles(r *rand.Rand) (list []string) {
	seen := map[string]bool{}
	for len(list) < 75 {
		f := s.Dirs[r.IntN(len(s.Dirs))] + "/" + s.Stems[r.IntN(len(s.Stems))] + s.Suffix
		if len(list) > 50 {
			f = strings.TrimSuffix(f, s.Suffix) + fmt.Sprint(r.IntN(90)) + s.Suffix
		}
		if !seen[f] {
			seen[f] = true
			list = append(list, f)
		}
	}
	return list
}

var syllables = strings.Fields("ac ber con dar el fo gra hin is jo ka lum mer nor op par qui ro sta ter ul ver wex yam zor")

func identifier(r *rand.Rand) string {
	var b strings.Builder
	for i := range 2 + r.IntN(3) {
		part := syllables[r.IntN(len(syllables))]
		if i > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
	}
	return b.String()
}

func (s *script) snippet(r *rand.Rand, lines int) string {
	var b strings.Builder
	for range lines {
		line := s.Code[r.IntN(len(s.Code))]
		for strings.Contains(line, "%s") {
			line = strings.Replace(line, "%s", identifier(r), 1)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func (s *script) listing(r *rand.Rand) string {
	var b strings.Builder
	for range 20 {
		fmt.Fprintf(&b, "-rw-r--r--  1 dev dev %6d Nov %2d 10:%02d %s%s\n", r.IntN(90000), 1+r.IntN(22), r.IntN(60), identifier(r), s.Suffix)
	}
	return b.String()
}

// idle holds sentences of agents that decide nothing.
var idle = []string{
	"Let me look at the next file.", "Reading on.", "Now the callers.", "I'll check how this is used.", "Looking at the surroundings of that.", "Next one.",
	"Schauen wir weiter.", "Voyons la suite.", "次のファイルを見ます。",
}
