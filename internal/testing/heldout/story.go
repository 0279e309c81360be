package heldout

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Turkish returns the session of a coding agent that talks much and in Turkish, and means most of what matters in prose: what was left open, what
// the cause was, what was decided and against what. What the extractor lost of it has been looked at.
func Turkish() []Session { return []Session{turkish.session(500)} }

// Chinese returns a session of the same kind in Chinese. It was looked at too.
func Chinese() []Session { return []Session{chinese.session(501)} }

// Spanish returns one in Spanish, whose announcements have many words. It was looked at too.
func Spanish() []Session { return []Session{spanish.session(503)} }

// Japanese returns a session of the same kind in Japanese, written before the rules for prose were and never looked at while they were made.
func Japanese() []Session { return []Session{japanese.session(502)} }

// Portuguese returns a session of the same kind in Portuguese, written by somebody who had not read the extractor.
func Portuguese() []Session { return []Session{portuguese.session(504)} }

// Korean returns one in Korean, written by somebody who had not read the extractor.
func Korean() []Session { return []Session{korean.session(505)} }

// Library returns one in Vietnamese and Finnish, whose talk stands where its author put it, not where the stories above put theirs.
func Library() []Session { return []Session{library.session(506)} }

// Harbours returns one in Indonesian and Greek of the same kind, with more talk beside less that tools print.
func Harbours() []Session { return []Session{harbours.session(507)} }

// Cooperative returns one in Swahili and Hindi of the same kind.
func Cooperative() []Session { return []Session{cooperative.session(508)} }

// Clinic returns one in Romanian and Hebrew of the same kind.
func Clinic() []Session { return []Session{clinic.session(509)} }

// Workshop returns one in Polish and Bengali, written by somebody who had seen nothing of the extractor.
func Workshop() []Session { return []Session{workshop.session(510)} }

// Observatory returns one in Persian and Dutch, by the same author.
func Observatory() []Session { return []Session{observatory.session(511)} }

// A said sentence, and the words of it that count.
type said struct{ text, key string }

// A form is a way to say something again and again; every row fills its slots, and all of it counts.
type form struct {
	text string // with %s for each slot
	rows [][]any
}

// A story is the talk of one session, by hand: what an agent says between its calls and at the end of each task.
type story struct {
	name    string
	dialect wire.Dialect
	agent   agent
	said    []string // by the user; each begins a task
	user    []string // facts in it
	// chat announces the next call and notes are what an agent says besides; {file} and {name} are of the session, {thing} is one of
	// things.
	chat, notes, things []string
	open                []said
	openItems           []said // stand in lists at the end of a task
	openForm            form
	causes              []said
	causeForm           form
	decided             []said
	ends                []string // begin the last answer of a task
	rest                string   // stands above the list of a last answer
	failing             map[string][]string
	dirs, stems         []string
	suffix              string
	code                []string
}

// taskSteps is how many calls a task of a story has.
const taskSteps = 34

func (f form) all() (list []said) {
	for _, row := range f.rows {
		text := fmt.Sprintf(f.text, row...)
		list = append(list, said{text, strings.TrimRight(text, ".。")})
	}
	return list
}

// dealt gives the n-th of so many hands its part of a list.
func dealt[T any](list []T, n, hands int) []T {
	return list[len(list)*n/hands : len(list)*(n+1)/hands]
}

func (s *story) session(seed uint64) Session {
	r := rand.New(rand.NewPCG(0x5eed, seed))
	w := s.agent.writer()
	out := Session{Name: s.name, Dialect: s.dialect}
	fact := func(kind string, list ...said) {
		for _, one := range list {
			out.Facts = append(out.Facts, Fact{kind, []string{one.key}})
		}
	}
	for _, text := range s.user {
		fact("user", said{text, text})
	}
	open, causes := append(s.openForm.all(), s.open...), append(s.causeForm.all(), s.causes...)
	shuffled(r, open)
	shuffled(r, causes)
	fact("open point", append(open, s.openItems...)...)
	fact("root cause", causes...)
	fact("decision", s.decided...)
	code := script{code: s.code, dirs: s.dirs, stems: s.stems, suffix: s.suffix}
	files := code.files(r)
	fill := func(list []string) string {
		text := list[r.IntN(len(list))]
		text = strings.ReplaceAll(text, "{file}", files[r.IntN(len(files))])
		for strings.Contains(text, "{thing}") {
			text = strings.Replace(text, "{thing}", s.things[r.IntN(len(s.things))], 1)
		}
		for strings.Contains(text, "{name}") {
			text = strings.Replace(text, "{name}", identifier(r), 1)
		}
		return text
	}
	commands := sorted(s.failing)
	edited := 0
	for task, words := range s.said {
		w.user(words)
		hand := func(list []said) []said { return dealt(list, task, len(s.said)) }
		// Two thirds of what is open is said at the end of a task, the others on the way.
		opened := hand(open)
		late := opened[len(opened)/3:]
		way := append(append([]said{}, opened[:len(opened)/3]...), hand(s.decided)...)
		caused := hand(causes)
		failing := dealt(commands, task, len(s.said))
		for n := range taskSteps {
			say := ""
			if r.IntN(3) > 0 {
				say = fill(s.chat)
			}
			if r.IntN(4) == 0 {
				say = strings.TrimSpace(fill(s.notes) + " " + say)
			}
			if n%5 == 2 && len(way) > 0 {
				say, way = strings.TrimSpace(way[0].text+" "+say), way[1:]
			}
			f := files[edited%len(files)]
			switch {
			case n%9 == 4 && len(failing) > 0:
				w.run(say, failing[0], s.failing[failing[0]][0], 1)
				for _, line := range s.failing[failing[0]][1:] {
					fact("test error", said{line, line})
				}
				failing = failing[1:]
			case n%7 == 3:
				w.run(say, fmt.Sprintf("grep -rn %s %s", identifier(r), s.dirs[r.IntN(len(s.dirs))]), code.snippet(r, 12+r.IntN(20)), 0)
			case n%9 == 5 && len(caused) > 0, n%12 == 11 && len(caused) > 0:
				// What was found when something had failed is said before it is mended.
				w.edit(strings.TrimSpace(caused[0].text+" "+say), f, code.snippet(r, 4), code.snippet(r, 6))
				caused, edited = caused[1:], edited+1
				fact("edited file", said{f, f})
			case n%4 == 1:
				w.edit(say, f, code.snippet(r, 4), code.snippet(r, 6))
				edited++
				fact("edited file", said{f, f})
			default:
				w.read(say, files[r.IntN(len(files))], code.snippet(r, 20+r.IntN(40)))
			}
		}
		for _, left := range [][]said{way, caused} {
			for _, one := range left {
				w.read(one.text, files[r.IntN(len(files))], code.snippet(r, 20))
			}
		}
		var end strings.Builder
		end.WriteString(s.ends[task%len(s.ends)])
		for _, one := range late {
			end.WriteString(" " + one.text)
		}
		if items := hand(s.openItems); len(items) > 0 {
			end.WriteString("\n\n" + s.rest)
			for _, one := range items {
				end.WriteString("\n- " + one.text)
			}
		}
		w.say(end.String())
	}
	w.user("OK.")
	out.Body = w.body(s.dialect)
	return out
}

func shuffled(r *rand.Rand, list []said) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
