package heldout

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// A Session is a request of an agent after about 300 steps, and what of it must not be lost.
type Session struct {
	Name    string
	Dialect wire.Dialect
	Body    []byte
	Facts   []Fact
}

// A Fact survives when one of AnyOf is a substring of a string of the request. Kind is "user", "decision", "edited file", "todo" or
// "test error".
type Fact struct {
	Kind  string
	AnyOf []string
}

// Sessions returns the sessions of the first set, the same ones at every call. What the extractor lost of them has been looked at since.
func Sessions() []Session { return written(scripts, 0) }

// Second returns the sessions of the second set, the same ones at every call.
func Second() []Session { return written(second, 100) }

// Third returns the sessions of the third set, which are for test errors alone, the same ones at every call.
func Third() []Session { return written(third, 200) }

// Fourth returns the sessions of the fourth set, of agents with other tools, the same ones at every call.
func Fourth() []Session { return written(fourth, 300) }

// Fifth returns the sessions of the fifth set, of other commands that fail, the same ones at every call.
func Fifth() []Session { return written(fifth, 400) }

func written(scripts []script, seed uint64) (list []Session) {
	for i := range scripts {
		list = append(list, scripts[i].session(seed+uint64(i)))
	}
	return list
}

// A script is the talk of one session, by hand.
type script struct {
	name    string
	dialect wire.Dialect
	said    []string            // by the user: the task first, the others in the course of it
	user    []string            // facts in it
	decided map[string]string   // what the agent says, and the words of it that count
	dirs    []string            // of the project
	stems   []string            // of file names
	suffix  string              // of file names
	todo    []string            // what is left to do at last; what was done stands before
	done    []string            // what was on the list and is done
	failing map[string][]string // commands that fail at their last run: output, and the lines of it that count
	passed  map[string][]string // commands that failed first and pass at last
	code    []string            // lines of the language, with %s for an identifier
	agent   agent
}

// steps is how many calls a session has.
const steps = 300

func (s *script) session(seed uint64) Session {
	r := rand.New(rand.NewPCG(0x5eed, seed))
	w := s.agent.writer()
	out := Session{Name: s.name, Dialect: s.dialect}
	fact := func(kind, text string) {
		f := Fact{kind, []string{text}}
		if plain := strings.ReplaceAll(text, `\"`, `"`); plain != text { // of an output that is within JSON
			f.AnyOf = append(f.AnyOf, plain)
		}
		out.Facts = append(out.Facts, f)
	}
	for _, text := range s.user {
		fact("user", text)
	}
	for _, d := range sorted(s.decided) {
		fact("decision", s.decided[d])
	}
	for _, item := range s.todo {
		fact("todo", item)
	}
	for _, command := range sorted(s.failing) {
		for _, line := range s.failing[command][1:] {
			fact("test error", line)
		}
	}
	files := s.files(r)

	w.user(s.said[0])
	decisions, failing, passed := sorted(s.decided), sorted(s.failing), sorted(s.passed)
	edited := 0
	for n := range steps {
		if n > 0 && n%60 == 30 && n/60+1 < len(s.said) {
			w.user(s.said[n/60+1])
		}
		say := ""
		if n%22 == 11 && n/22 < len(decisions) {
			say = decisions[n/22]
		} else if n%9 == 4 {
			say = idle[r.IntN(len(idle))]
		}
		switch {
		case n == 8 || n == 120 || n == 240: // the plan, further each time
			through := map[int]int{8: 0, 120: len(s.done) / 2, 240: len(s.done)}[n]
			w.plan(say, s.done, through, s.todo)
		case n%29 == 17 && n < 200 && len(passed) > 0:
			c := passed[(n/29)%len(passed)]
			w.run(say, c, s.passed[c][0], 1)
		case n >= 200 && n%13 == 5 && (n-200)/13 < len(passed):
			c := passed[(n-200)/13]
			w.run(say, c, s.passed[c][1], 0)
		case n >= 140 && n%25 == 3 && (n-140)/25 < len(failing):
			c := failing[(n-140)/25]
			w.run(say, c, s.failing[c][0], 1)
		case n%4 == 2 && edited < len(files):
			w.edit(say, files[edited], s.snippet(r, 6), s.snippet(r, 8))
			edited++
		case n%11 == 6:
			w.run(say, fmt.Sprintf("ls -la %s", s.dirs[r.IntN(len(s.dirs))]), s.listing(r), 0)
		default:
			f := files[r.IntN(len(files))]
			w.read(say, f, s.snippet(r, 40+r.IntN(30)))
		}
	}
	for _, f := range files[:edited] { // where a command ran in place of an edit, the last of them are only read
		fact("edited file", f)
	}
	w.user("Weiter, please.")
	out.Body = w.body(s.dialect)
	return out
}

// files are the 75 that are edited.
func (s *script) files(r *rand.Rand) (list []string) {
	seen := map[string]bool{}
	for len(list) < 75 {
		f := s.dirs[r.IntN(len(s.dirs))] + "/" + s.stems[r.IntN(len(s.stems))] + s.suffix
		if len(list) > 50 {
			f = strings.TrimSuffix(f, s.suffix) + fmt.Sprint(r.IntN(90)) + s.suffix
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
		line := s.code[r.IntN(len(s.code))]
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
		fmt.Fprintf(&b, "-rw-r--r--  1 dev dev %6d Nov %2d 10:%02d %s%s\n", r.IntN(90000), 1+r.IntN(22), r.IntN(60), identifier(r), s.suffix)
	}
	return b.String()
}

// idle is what agents say that decides nothing.
var idle = []string{
	"Let me look at the next file.", "Reading on.", "Now the callers.", "I'll check how this is used.", "Looking at the surroundings of that.", "Next one.",
	"Schauen wir weiter.", "Voyons la suite.", "次のファイルを見ます。",
}
