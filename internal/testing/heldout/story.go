package heldout

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A said sentence, and the words of it that count.
type said [2]string

// A form is a way to say something again and again; every row fills its slots, and all of it counts.
type form struct {
	Text string // with %s for each slot
	Rows [][]any
}

// A story is the talk of one session by hand: what an agent says between its calls and at the end of each task.
type story struct {
	Said []string // by the user; each begins a task
	User []string // facts in it
	// Chat announces the next call and Notes are an agent's other words; {file} and {name} are of the session, {thing} is one of
	// Things.
	Chat, Notes, Things []string
	Open                []said
	OpenItems           []said `toml:"open_items"` // stand in lists at the end of a task
	OpenForm            form   `toml:"open_form"`
	Causes              []said
	CauseForm           form `toml:"cause_form"`
	Decided             []said
	Ends                []string // begin the last answer of a task
	Rest                string   // stands above the list of a last answer
	Failing             map[string][]string
	Dirs, Stems         []string
	Suffix              string
	Code                []string
}

// taskSteps is the number of calls in a task of a story.
const taskSteps = 34

func (f form) all() (list []said) {
	for _, row := range f.Rows {
		text := fmt.Sprintf(f.Text, row...)
		list = append(list, said{text, strings.TrimRight(text, ".。")})
	}
	return list
}

// dealt returns the part of a list for the n-th of so many hands.
func dealt[T any](list []T, n, hands int) []T {
	return list[len(list)*n/hands : len(list)*(n+1)/hands]
}

// play returns out with the turns and facts of the story; w writes the turns.
func (s *story) play(out Session, r *rand.Rand, w *writer) Session {
	fact := func(kind string, list ...said) {
		for _, one := range list {
			out.Facts = append(out.Facts, Fact{kind, []string{one[1]}})
		}
	}
	for _, text := range s.User {
		fact("user", said{text, text})
	}
	open, causes := append(s.OpenForm.all(), s.Open...), append(s.CauseForm.all(), s.Causes...)
	shuffled(r, open)
	shuffled(r, causes)
	fact("open point", append(open, s.OpenItems...)...)
	fact("root cause", causes...)
	fact("decision", s.Decided...)
	code := script{Code: s.Code, Dirs: s.Dirs, Stems: s.Stems, Suffix: s.Suffix}
	files := code.editedFiles(r)
	fill := func(list []string) string {
		text := list[r.IntN(len(list))]
		text = strings.ReplaceAll(text, "{file}", files[r.IntN(len(files))])
		for strings.Contains(text, "{thing}") {
			text = strings.Replace(text, "{thing}", s.Things[r.IntN(len(s.Things))], 1)
		}
		for strings.Contains(text, "{name}") {
			text = strings.Replace(text, "{name}", identifier(r), 1)
		}
		return text
	}
	commands := sorted(s.Failing)
	edited := 0
	for task, words := range s.Said {
		w.user(words)
		hand := func(list []said) []said { return dealt(list, task, len(s.Said)) }
		// Two thirds of what is open is said at the end of a task, the others on the way.
		opened := hand(open)
		late := opened[len(opened)/3:]
		way := append(append([]said{}, opened[:len(opened)/3]...), hand(s.Decided)...)
		caused := hand(causes)
		failing := dealt(commands, task, len(s.Said))
		for n := range taskSteps {
			say := ""
			if r.IntN(3) > 0 {
				say = fill(s.Chat)
			}
			if r.IntN(4) == 0 {
				say = strings.TrimSpace(fill(s.Notes) + " " + say)
			}
			if n%5 == 2 && len(way) > 0 {
				say, way = strings.TrimSpace(way[0][0]+" "+say), way[1:]
			}
			f := files[edited%len(files)]
			switch {
			case n%9 == 4 && len(failing) > 0:
				w.run(say, failing[0], s.Failing[failing[0]][0], 1)
				for _, line := range s.Failing[failing[0]][1:] {
					fact("test error", said{line, line})
				}
				failing = failing[1:]
			case n%7 == 3:
				w.run(say, fmt.Sprintf("grep -rn %s %s", identifier(r), s.Dirs[r.IntN(len(s.Dirs))]), code.snippet(r, 12+r.IntN(20)), 0)
			case n%9 == 5 && len(caused) > 0, n%12 == 11 && len(caused) > 0:
				// What was found when something had failed is said before it is mended.
				w.edit(strings.TrimSpace(caused[0][0]+" "+say), f, code.snippet(r, 4), code.snippet(r, 6))
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
				w.read(one[0], files[r.IntN(len(files))], code.snippet(r, 20))
			}
		}
		var end strings.Builder
		end.WriteString(s.Ends[task%len(s.Ends)])
		for _, one := range late {
			end.WriteString(" " + one[0])
		}
		if items := hand(s.OpenItems); len(items) > 0 {
			end.WriteString("\n\n" + s.Rest)
			for _, one := range items {
				end.WriteString("\n- " + one[0])
			}
		}
		w.say(end.String())
	}
	w.user("OK.")
	out.Body = w.encode(out.Dialect)
	return out
}

func shuffled(r *rand.Rand, list []said) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
