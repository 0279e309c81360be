package loops_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/loops"
)

// call is one call, written "name arguments = result"; a result that begins with ! is an error.
func call(text string) loops.Call {
	head, result, _ := strings.Cut(text, " = ")
	name, arguments, _ := strings.Cut(head, " ")
	return loops.Call{Name: name, Arguments: arguments, Result: loops.Digest(result), Failed: strings.HasPrefix(result, "!")}
}

// A step is the record of the calls that a model made at once.
func step(texts ...string) (calls []loops.Call) {
	for _, t := range texts {
		calls = append(calls, call(t))
	}
	return calls
}

// single makes steps of one call each.
func single(texts ...string) (steps [][]loops.Call) {
	for _, t := range texts {
		steps = append(steps, step(t))
	}
	return steps
}

func times(n int, steps ...[]loops.Call) (all [][]loops.Call) {
	for range n {
		all = append(all, steps...)
	}
	return all
}

// run gives the step (from 1) of the first finding, 0 for none.
func run(o loops.Options, steps [][]loops.Call) (int, loops.Finding) {
	d := loops.New(o)
	for i, s := range steps {
		if f, ok := d.Observe(s); ok {
			return i + 1, f
		}
	}
	return 0, loops.Finding{}
}

func TestLoops(t *testing.T) {
	t.Parallel()
	numbered := func(n int, format string) (out []string) {
		for i := range n {
			out = append(out, strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		o     loops.Options
		steps [][]loops.Call
		at    int // step of the finding, 0 for none
		kind  loops.Kind
	}{
		{"four identical calls", loops.Options{}, times(4, step(`get {"a":1} = x`)), 4, loops.KindIdentical},
		{"four among seven, with reads in between", loops.Options{}, single("read a = x", "read b = 1", "read a = x", "read c = 1", "read a = x", "read d = 1", "read a = x"), 7, loops.KindIdentical},
		{"four among eleven", loops.Options{}, single("read a = x", "read b = 1", "read a = x", "read c = 1", "read a = x", "read d = 1", "read e = 1", "read f = 1", "read g = 1", "read h = 1", "read a = x"), 0, ""},
		{"a run after each edit", loops.Options{}, single("edit 1 = ok", "run = ok", "edit 2 = ok", "run = ok", "edit 3 = ok", "run = ok", "edit 4 = ok", "run = ok"), 0, ""},
		{"a run after edits that fail", loops.Options{}, single("edit 1 = !no", "run = x", "edit 2 = !no", "run = x", "edit 3 = !no", "run = x", "edit 4 = !no", "run = x"), 8, loops.KindIdentical},
		{"a run after an edit that is made again and again", loops.Options{}, single("edit = ok", "run = x", "edit = ok", "run = x"), 4, loops.KindCycle},
		{"three are none", loops.Options{}, times(3, step(`get {"a":1} = x`)), 0, ""},
		{"two, when two are asked for", loops.Options{Identical: 2}, times(2, step(`get {} = x`)), 2, loops.KindIdentical},
		{"six, when six are asked for", loops.Options{Identical: 6}, times(6, step(`get {} = x`)), 6, loops.KindIdentical},
		{"more identical calls than the window has", loops.Options{Window: 3, Identical: 12}, times(12, step(`get {} = x`)), 12, loops.KindIdentical},
		{"four in one step", loops.Options{}, [][]loops.Call{step("get = x", "get = x", "get = x", "get = x")}, 1, loops.KindIdentical},
		{"arguments written in other ways", loops.Options{}, single(`get {"a":1,"b":[2]} = x`, `get {"b":[2.0],"a":1} = x`, "get {\n\"b\" : [2],\"a\":1e0} = x", `get {"\u0061":1,"b":[2]} = x`), 4, loops.KindIdentical},
		{"no arguments in every way", loops.Options{}, single("get = x", "get {} = x", "get null = x", "get  { } = x"), 4, loops.KindIdentical},
		{"arguments that are no JSON", loops.Options{}, times(4, step(`get {"a": = x`)), 4, loops.KindIdentical},
		{"other arguments", loops.Options{}, single(numbered(40, `get {"page":#} = the same`)...), 0, ""},
		{"arguments that differ in type", loops.Options{}, single(`get {"a":1} = x`, `get {"a":"1"} = x`, `get {"a":true} = x`, `get {"a":null} = x`, `get {"a":[1]} = x`, `get {"a":{}} = x`), 0, ""},
		{"large numbers that a float would make one", loops.Options{}, single(numbered(8, `get {"id":900719925474099300#} = x`)...), 0, ""},
		{"other tools", loops.Options{}, single(numbered(40, "get# {} = x")...), 0, ""},
		{"polling that makes progress", loops.Options{}, single(numbered(40, `status {"id":7} = # percent`)...), 0, ""},
		{"polling that stands still", loops.Options{}, single("s = 1", "s = 2", "s = 3", "s = 3", "s = 3", "s = 3"), 6, loops.KindIdentical},
		{"polling with a wait, that makes progress", loops.Options{}, single("s = 1", "wait = ok", "s = 2", "wait = ok", "s = 3", "wait = ok", "s = 4", "wait = ok", "s = 5"), 0, ""},
		{"A-B-A-B", loops.Options{}, single("a = x", "b = y", "a = x", "b = y"), 4, loops.KindCycle},
		{"A-B-A-B behind others", loops.Options{}, single("c = z", "d = z", "a = x", "b = y", "a = x", "b = y"), 6, loops.KindCycle},
		{"A-B-A-B with new results", loops.Options{}, single("a = 1", "b = y", "a = 2", "b = y", "a = 3", "b = y"), 0, ""},
		{"A-B-A-C", loops.Options{}, single("a = 1", "b = y", "a = 1", "c = y", "a = 1", "d = y"), 0, ""},
		{"A-B-C-A-B-C", loops.Options{}, single("a = x", "b = y", "c = z", "a = x", "b = y", "c = z"), 6, loops.KindCycle},
		{"A-A-B-A-A-B", loops.Options{}, single("a = x", "a = x", "b = y", "a = x", "a = x", "b = y"), 6, loops.KindCycle},
		{"A-B in one step, twice", loops.Options{}, [][]loops.Call{step("a = x", "b = y"), step("b = y", "a = x")}, 2, loops.KindCycle},
		{"five in one step, three times in any order", loops.Options{}, [][]loops.Call{step("a = x", "b = x", "c = x", "d = x", "e = x"), step("e = x", "b = x", "c = x", "d = x", "a = x"), step("c = x", "b = x", "a = x", "d = x", "e = x")}, 3, loops.KindCycle},
		{"five in one step, with one new result", loops.Options{}, [][]loops.Call{step("a = x", "b = x", "c = x", "d = x", "e = 1"), step("a = x", "b = x", "c = x", "d = x", "e = 2"), step("a = x", "b = x", "c = x", "d = x", "e = 3")}, 0, ""},
		{"sixty similar calls in one step", loops.Options{}, [][]loops.Call{step(numbered(60, `get {"name":"app-#"} = the same`)...)}, 0, ""},
		{"sixty similar calls that fail together", loops.Options{}, [][]loops.Call{step(numbered(60, `get {"name":"app-#"} = !not found`)...)}, 0, ""},
		{"sixty similar calls, three times with other names", loops.Options{}, [][]loops.Call{step(numbered(60, `get {"name":"a#"} = x`)...), step(numbered(60, `get {"name":"b#"} = x`)...), step(numbered(60, `get {"name":"c#"} = x`)...)}, 0, ""},
		{"errors with changing arguments", loops.Options{}, single(numbered(5, `get {"name":"#"} = !no # there`)...), 5, loops.KindErrors},
		{"four errors", loops.Options{}, single(numbered(4, `get {"name":"#"} = !no`)...), 0, ""},
		{"errors between which others succeed", loops.Options{}, single("get {\"n\":1} = !a", "list {\"n\":1} = x", "get {\"n\":2} = !b", "list {\"n\":2} = x", "get {\"n\":3} = !c", "list {\"n\":3} = x", "get {\"n\":4} = !d", "list {\"n\":4} = x", "get {\"n\":5} = !e"), 9, loops.KindErrors},
		{"a success ends the streak", loops.Options{}, single("get 1 = !", "get 2 = !", "get 3 = !", "get 4 = !", "get 5 = there", "get 6 = !", "get 7 = !", "get 8 = !", "get 9 = !"), 0, ""},
		{"one of two calls of a step succeeds", loops.Options{}, [][]loops.Call{step("get 1 = !", "get 2 = 2"), step("get 3 = !", "get 4 = 4"), step("get 5 = !", "get 6 = 6"), step("get 7 = !", "get 8 = 8"), step("get 9 = !", "get 10 = 10")}, 0, ""},
		{"one call fails in other words", loops.Options{}, single("get = !at 10:01", "get = !at 10:02", "get = !at 10:03", "get = !at 10:04"), 4, loops.KindFailing},
		{"steps without calls", loops.Options{}, make([][]loops.Call, 50), 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, f := run(tt.o, tt.steps)
			if at != tt.at || f.Kind != tt.kind {
				t.Fatalf("found %q at step %d, want %q at %d: %s", f.Kind, at, tt.kind, tt.at, f.Detail)
			}
			if at > 0 && (f.Detail == "" || !strings.Contains(f.Nudge, "answer the user")) {
				t.Errorf("the finding says %q and %q", f.Nudge, f.Detail)
			}
		})
	}
}

func TestALoopThatGoesOnIsFoundAgain(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][][]loops.Call{
		"identical": times(6, step("a = x")),
		"cycle":     times(4, step("a = x"), step("b = y")),
		"errors":    single("a 1 = !", "a 2 = !", "a 3 = !", "a 4 = !", "a 5 = !", "a 6 = !", "a 7 = !"),
	} {
		d := loops.New(loops.Options{})
		for _, s := range steps {
			d.Observe(s)
		}
		if d.Found() < 2 {
			t.Errorf("%s: %d findings, want the second that ends the query", name, d.Found())
		}
	}
}

func TestAModelThatHeedsTheNudgeIsLeftAlone(t *testing.T) {
	t.Parallel()
	d := loops.New(loops.Options{})
	steps := append(times(4, step("a = x")), single("b = y", "a = x", "c = z", "a = z", "d 1 = !", "d 2 = ok")...)
	for _, s := range steps {
		d.Observe(s)
	}
	if d.Found() != 1 {
		t.Errorf("%d findings, want the first alone", d.Found())
	}
}

// What never repeats is never a loop, whatever the steps look like.
func TestNothingNewIsNoLoop(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := loops.New(loops.Options{Window: 1 + r.IntN(30), Identical: 2 + r.IntN(6)})
		n := 0
		for range 40 {
			var calls []loops.Call
			for range r.IntN(9) {
				n++
				calls = append(calls, call(fmt.Sprintf(`t%d {"n":%d} = %d`, r.IntN(3), n/(1+r.IntN(2)), n)))
			}
			if f, ok := d.Observe(calls); ok {
				t.Fatalf("seed %d: %s", seed, f.Detail)
			}
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	d := loops.New(loops.Options{})
	large := strings.Repeat("x", 16<<10)
	var peak int64
	for i := range 2000 {
		d.Observe(step(fmt.Sprintf("tool-%d%s %s%d = !%d", i%300, large[:200], large[:i], i, i)))
		peak = max(peak, d.Bytes())
	}
	if peak > 32<<10 {
		t.Errorf("a detector grew to %d bytes", peak)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	many := make([]*loops.Detector, 100)
	for i := range many {
		many[i] = loops.New(loops.Options{})
		for n := range 20 {
			many[i].Observe(step(fmt.Sprintf("t%d%s = x", n, large)))
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 100*16<<10 {
		t.Errorf("100 detectors hold %d bytes: names are kept whole", held)
	}
	runtime.KeepAlive(many)
}

func TestNamesInFindingsAreBoundedAndClean(t *testing.T) {
	t.Parallel()
	_, f := run(loops.Options{}, times(4, []loops.Call{{Name: "a\n\x1b[2J\xff" + strings.Repeat("ü", 500)}}))
	if len(f.Detail) > 400 || strings.ContainsAny(f.Detail+f.Nudge, "\n\x1b") || !strings.Contains(f.Detail, "a") {
		t.Errorf("the finding says %q", f.Detail)
	}
}

// FuzzArguments holds that arguments are the same however they are written, and that nothing a
// model writes does harm.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":[true,null,"x"]}`, `{"n":1e400}`, `{"n":-0.0}`, `[[[[[[`, strings.Repeat("[", 20_000), `{"a":1}{"b":2}`,
		`{"a":1,"a":2}`, "\xff\xfe", `"\ud800"`, `{"n":123456789012345678901234567890}`, `1e-999999999`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		d := loops.New(loops.Options{Identical: 2})
		c := loops.Call{Name: "t", Arguments: arguments}
		d.Observe([]loops.Call{c})
		c.Arguments = " \t\n" + arguments + "\r\n "
		if _, ok := d.Observe([]loops.Call{c}); !ok {
			t.Errorf("%q is another call with white space around it", arguments)
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	d := loops.New(loops.Options{})
	for i := 0; b.Loop(); i++ {
		d.Observe([]loops.Call{{Name: "list_applications", Arguments: `{"page":` + fmt.Sprint(i) + `,"page_size":20,"query":"production"}`, Result: uint64(i)}})
	}
}
