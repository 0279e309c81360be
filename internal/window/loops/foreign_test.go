package loops_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/heldout"
	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/window/loops"
	"github.com/plimsoll/plimsoll/window/wire"
)

var dialects = []wire.Dialect{wire.Messages, wire.Chat, wire.Responses, wire.Gemini, wire.Converse}

// calls makes turns of one call each, written "name arguments = result"; a result that begins with ! is an error. Arguments that are no
// object are a command of bash, or a path.
func calls(texts ...string) (turns []transcripts.Turn) {
	for _, t := range texts {
		turns = append(turns, transcripts.Turn{Calls: []transcripts.Made{madeCall(t)}})
	}
	return turns
}

// madeCall is a call with its result.
func madeCall(text string) transcripts.Made {
	head, result, _ := strings.Cut(text, " = ")
	name, arguments, _ := strings.Cut(head, " ")
	if !strings.HasPrefix(arguments, "{") {
		arguments = fmt.Sprintf(`{%q:%q}`, map[bool]string{true: "command", false: "path"}[name == "bash"], arguments)
	}
	_, why, failed := strings.Cut(result, "!")
	if failed {
		result = "Error: " + why
	}
	return transcripts.Made{Name: name, Arguments: arguments, Result: result, Failed: failed}
}

func again(n int, texts ...string) (all []string) {
	for range n {
		all = append(all, texts...)
	}
	return all
}

func each(n int, format string) (all []string) {
	for i := range n {
		all = append(all, strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return all
}

// play returns the requests of a session, from 1, in which a loop is found that was none before, and the first of those loops.
func play(t *testing.T, r *wire.Request) (at []int, first loops.Loop) {
	t.Helper()
	n := 0
	for request := range transcripts.Growth(r) {
		if l, ok := loops.Find(request); ok && !l.Again {
			if len(at) == 0 {
				first = l
			}
			at = append(at, n)
		}
		n++
	}
	return at, first
}

func parse(t *testing.T, d wire.Dialect, body []byte) *wire.Request {
	t.Helper()
	r, err := wire.Parse(d, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// planted are loops of each kind. Each is to be found within five calls of the first that repeats another.
var planted = []struct {
	name    string
	turns   []transcripts.Turn
	kind    loops.Kind
	repeats int // calls before anything is repeated
}{
	{"the same read", calls(again(8, `read {"file_path":"/src/main.go"} = package main`)...), loops.KindIdentical, 1},
	{"the same read between others", calls("read a = x", "read b = 1", "read a = x", "grep c = 2", "read a = x", "ls d = 3", "read a = x"), loops.KindIdentical, 2},
	{"the same read between edits of others", calls("read a = x", `edit {"path":"b"} = ok`, "read a = x", `edit {"path":"c"} = ok`, "read a = x", `edit {"path":"d"} = ok`, "read a = x"), loops.KindIdentical, 2},
	{"the same command", calls(again(8, "bash go vet ./... = vet: no such package")...), loops.KindIdentical, 1},
	{"the same edit, made", calls(again(8, `edit {"path":"a.go","old":"x","new":"x"} = The file is as it was.`)...), loops.KindIdentical, 1},
	{"two in turn", calls(again(4, "read a = x", "read b = y")...), loops.KindCycle, 2},
	{"an edit and a test in turn", calls(again(4, `edit {"path":"a.go","old":"x","new":"y"} = no change`, "bash go test ./... = FAIL TestAll")...), loops.KindCycle, 2},
	{"three in turn", calls(again(3, "read a = x", "bash make = nothing to be done", "grep b = y")...), loops.KindCycle, 3},
	{"the same failing call", calls(each(8, `edit {"path":"a.go"} = !at 10:0# there was no such text`)...), loops.KindFailing, 1},
	{"two calls at once", []transcripts.Turn{pair(), pair(), pair(), pair()}, loops.KindCycle, 1},
	{"a sentence in one answer", []transcripts.Turn{{Say: "Now. " + strings.Repeat("I will look at the file once more. ", 40), Calls: []transcripts.Made{madeCall("read a = x")}}}, loops.KindSaid, 0},
	{"two sentences in one answer", []transcripts.Turn{{Say: strings.Repeat("Let me look at that. Now the other one! ", 20), Calls: []transcripts.Made{madeCall("read a = x")}}}, loops.KindSaid, 0},
	{"a sentence in Japanese", []transcripts.Turn{{Say: strings.Repeat("もう一度ファイルを確認します。", 20), Calls: []transcripts.Made{madeCall("read a = x")}}}, loops.KindSaid, 0},
	{"an answer to the same words", said(8, "continue", "The task is done. Nothing is left to do."), loops.KindSaid, 1},
}

func pair() transcripts.Turn {
	return transcripts.Turn{Calls: []transcripts.Made{madeCall("read a = x"), madeCall("read b = y")}}
}

// many is more calls at once than are compared.
func many() (t transcripts.Turn) {
	for range 1000 {
		t.Calls = append(t.Calls, madeCall("read a = x"))
	}
	return t
}

func said(n int, user, answer string) (turns []transcripts.Turn) {
	for range n {
		turns = append(turns, transcripts.Turn{Say: answer}, transcripts.Turn{User: user})
	}
	return turns
}

func TestPlantedLoopsAreFoundWithinFiveCalls(t *testing.T) {
	t.Parallel()
	before := calls("read go.mod = module x", "bash ls = main.go", "grep main = main.go:1", `write {"path":"b.go"} = written`)
	for _, d := range dialects {
		for _, p := range planted {
			turns := append([]transcripts.Turn{{User: "Mend the build of this module."}}, before...)
			turns = append(turns, p.turns...)
			at, l := play(t, parse(t, d, transcripts.History(d, turns...)))
			if len(at) == 0 || l.Kind != p.kind {
				t.Errorf("%v, %s: found %q at %v, want %q", d, p.name, l.Kind, at, p.kind)
				continue
			}
			if n := at[0] - len(before) - p.repeats; n > 5 {
				t.Errorf("%v, %s: found with the call %d that repeats one", d, p.name, n)
			}
			if len(at) > 1 {
				t.Errorf("%v, %s: told at %v, want once an episode", d, p.name, at)
			}
			if l.Detail == "" || l.Nudge == "" {
				t.Errorf("%v, %s: nothing is said", d, p.name)
			}
		}
	}
}

// Work that looks like a loop and is none.
func TestWorkIsNoLoop(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string][]transcripts.Turn{
		"a poll with a sleep before it":       calls(again(12, "bash sleep 30 && gh api runs/7 = in_progress")...),
		"a poll between sleeps":               calls(again(12, "bash sleep 30 = ", `get_run {"id":7} = queued`)...),
		"a loop in the shell that waits":      calls(again(8, "bash until curl -sf x; do sleep 5; done = timed out")...),
		"the state of a cluster":              calls(again(12, "bash kubectl get pods -n x = Pending")...),
		"the state of a cloud":                calls(again(12, "bash aws --region eu ecs describe-services --cluster x = PENDING")...),
		"the output of a background command":  calls(again(12, `BashOutput {"bash_id":"bash_1"} = (no new output)`)...),
		"a tool that waits":                   calls(again(12, `wait_for_agent {"id":"a"} = timed out`)...),
		"a process tool that polls":           calls(again(12, `process {"action":"poll","id":"p1"} = running`)...),
		"a command that runs, in Codex":       calls(again(12, `write_stdin {"session_id":1,"chars":""} = running`)...),
		"the end of a log":                    calls(again(12, "bash tail -n 5 build.log = compiling")...),
		"a test after each edit":              calls(again2(8, `edit {"path":"a.go","n":"#"} = ok`, "bash go test ./... = FAIL TestAll")...),
		"a failing test after each edit":      calls(again2(8, `edit {"path":"a.go","n":"#"} = ok`, "bash go test ./... = !exit status 1")...),
		"diagnostics after each edit":         calls(again2(8, `edit {"path":"a.go","n":"#"} = ok`, `mcp__ide__getDiagnostics {"uri":"file:///a.go"} = []`)...),
		"lints after each edit":               calls(again2(8, `edit {"path":"a.go","n":"#"} = ok`, `read_lints {"paths":["a.go"]} = none`)...),
		"a build after each command":          calls(again2(8, "bash sed -i s/#/x/ a.go = ", "bash go build ./... = ")...),
		"a status after each commit":          calls(again2(8, "bash git commit -m # = ok", "bash git status --short = ")...),
		"a rerun with another result":         calls(each(12, "bash go test ./... = ok x 0.# s")...),
		"a sweep over files":                  calls(each(20, "read file-#.go = package main")...),
		"a sweep that finds nothing":          calls(each(20, "grep word# = no matches found")...),
		"a sweep that fails":                  calls(each(20, "read missing-#.go = !no such file")...),
		"many calls at once":                  {many(), many(), many(), many()},
		"pages":                               calls(each(20, `list {"page":#} = []`)...),
		"three times, then something else":    calls(append(again(3, "read a = x"), "read b = y")...),
		"the same call for another question":  append(append(calls(again(3, "read a = x")...), transcripts.Turn{User: "Look again, please."}), calls(again(3, "read a = x")...)...),
		"short answers":                       said(8, "next", "Done."),
		"the same answer to other words":      {{Say: "Yes, that is right as it is."}, {User: "And the second?"}, {Say: "Yes, that is right as it is."}, {User: "The third?"}, {Say: "Yes, that is right as it is."}, {User: "The fourth?"}, {Say: "Yes, that is right as it is."}, {User: "Good."}},
		"a table":                             {{Say: strings.Repeat("| ---------------- | ---------------- |\n", 12), Calls: []transcripts.Made{madeCall("read a = x")}}},
		"code":                                {{Say: "```\n" + strings.Repeat("\t\tvalues = append(values, next)\n", 12) + "```\n", Calls: []transcripts.Made{madeCall("read a = x")}}},
		"a sentence that is said three times": {{Say: strings.Repeat("I will look at the file once more. ", 3), Calls: []transcripts.Made{madeCall("read a = x")}}},
	} {
		for _, d := range dialects {
			r := parse(t, d, transcripts.History(d, append([]transcripts.Turn{{User: "Mend the build of this module."}}, turns...)...))
			if at, l := play(t, r); len(at) > 0 {
				t.Errorf("%v, %s: found at %v: %s", d, name, at, l.Detail)
			}
		}
	}
}

// again2 is each for two calls in turn.
func again2(n int, a, b string) (all []string) {
	for i := range n {
		all = append(all, strings.ReplaceAll(a, "#", fmt.Sprint(i)), b)
	}
	return all
}

// What a client writes into a result that is another each time hides no loop.
func TestTimesAndProcessNumbersHideNoLoop(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{
		"Codex":        "Chunk ID: a%[1]df\nWall time: 0.%[1]d seconds\nProcess exited with code 0\nOutput:\nmain.go",
		"Codex's exec": "Script completed\nWall time %[1]d.1 seconds\nOutput:\nmain.go",
		"older Codex":  `{"output":"main.go","metadata":{"exit_code":0,"duration_seconds":0.%[1]d}}`,
		"Gemini CLI":   "Output: main.go\nExit Code: 0\nBackground PIDs: (none)\nProcess Group PGID: 47%[1]d1",
	} {
		for _, d := range dialects {
			turns := []transcripts.Turn{{User: "What is here?"}}
			for i := range 4 {
				turns = append(turns, transcripts.Turn{Calls: []transcripts.Made{{Name: "shell", Arguments: `{"command":["ls"]}`, Result: fmt.Sprintf(result, i)}}})
			}
			if l, ok := loops.Find(parse(t, d, transcripts.History(d, turns...))); !ok || l.Kind != loops.KindIdentical {
				t.Errorf("%v, %s: found %q", d, name, l.Kind)
			}
			turns[4].Calls[0].Result = strings.Replace(turns[4].Calls[0].Result, "main.go", "other.go", 1)
			if l, ok := loops.Find(parse(t, d, transcripts.History(d, turns...))); ok {
				t.Errorf("%v, %s: another result is no loop: %s", d, name, l.Detail)
			}
		}
	}
}

// The sessions that other tests use: long ones of agents, in all dialects, made by hand and by generators.
func TestSessionsHaveNoLoop(t *testing.T) {
	t.Parallel()
	sets := []string{
		"first", "second", "third", "fourth", "fifth", "turkish", "chinese", "spanish", "japanese", "portuguese", "korean", "vietnamese", "indonesian", "swahili",
		"romanian", "polish", "persian", "ukrainian", "czech", "tamil",
	}
	n := 0
	for _, set := range sets {
		sessions, err := heldout.Sessions(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions {
			n++
			if at, l := play(t, parse(t, s.Dialect, s.Body)); len(at) > 0 {
				t.Errorf("%s: found at %v: %s", s.Name, at, l.Detail)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d sessions", n)
	}
	for _, d := range dialects {
		for seed := range uint64(5) {
			s := transcripts.NewSession(transcripts.SessionOptions{Dialect: d, Seed: seed, Content: transcripts.Content(seed), Parallel: int(seed), Thinking: seed%2 == 0})
			if at, l := play(t, parse(t, d, s.Request(60))); len(at) > 0 {
				t.Errorf("%v, session %d: found at %v: %s", d, seed, at, l.Detail)
			}
		}
		for seed := range uint64(300) {
			if at, l := play(t, parse(t, d, transcripts.Valid(d, seed))); len(at) > 0 {
				t.Errorf("%v, history %d: found at %v: %s", d, seed, at, l.Detail)
			}
		}
	}
}

// FuzzFind holds that no request, however it is made, does harm, and that what is found is in it.
func FuzzFind(f *testing.F) {
	for _, d := range dialects {
		for _, p := range planted {
			f.Add(uint8(d), transcripts.History(d, append([]transcripts.Turn{{User: "go on"}}, p.turns...)...))
		}
		f.Add(uint8(d), transcripts.Valid(d, 1))
	}
	f.Add(uint8(wire.Chat), []byte(`{"messages":[{"role":"assistant","tool_calls":[{"id":"","function":{"name":"\ud800","arguments":"{"}}]},{"role":"tool","content":null}]}`))
	f.Fuzz(func(t *testing.T, dialect uint8, body []byte) {
		r, err := wire.Parse(dialects[int(dialect)%len(dialects)], body)
		if err != nil {
			return
		}
		l, ok := loops.Find(r)
		if ok && (l.Kind == "" || l.Detail == "" || l.Message >= len(r.Messages)) {
			t.Errorf("%+v", l)
		}
		if second, same := loops.Find(r); same != ok || second != l {
			t.Errorf("first %+v, then %+v", l, second)
		}
	})
}

// The cost for each request, where nothing repeats and where something does.
func BenchmarkFind(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		for name, texts := range map[string][]string{"work": each(12, "read file-#.go = text"), "loop": again(12, "read a.go = text")} {
			turns := calls(texts...)
			for i := range turns {
				turns[i].Calls[0].Result = strings.Repeat("x", size/20+i*100*(len(name)%2)) + turns[i].Calls[0].Result
			}
			r, err := wire.Parse(wire.Messages, transcripts.History(wire.Messages, append([]transcripts.Turn{{User: "go on"}}, turns...)...))
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s-%dKiB", name, size>>10), func(b *testing.B) {
				for b.Loop() {
					loops.Find(r)
				}
			})
		}
	}
}
