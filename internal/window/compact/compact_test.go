package compact_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

func run(t testing.TB, c *compact.Compactor, r *wire.Request, goal compact.Goal) compact.Result {
	t.Helper()
	res, err := c.Compact(t.Context(), view(t, r), quarter, goal)
	if err != nil {
		t.Fatalf("%s: %v", r.Dialect, err)
	}
	if err := wire.ValidateEdit(r.Dialect, r.Body, res.Request.Alternating()); err != nil {
		t.Fatalf("%s: %v\n%s", r.Dialect, err, res.Request.Body)
	}
	return res
}

// session is a task and n tool calls whose results have size bytes.
func session(n, size int) []step {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	steps := []step{{user: "The task: port the importer to the new schema."}}
	for range n {
		steps = append(steps, step{assistant: "Next file.", call: "read", result: log(r, size), thinks: true})
	}
	return steps
}

func TestUnderTheTargetNothingIsTouched(t *testing.T) {
	for _, d := range dialects {
		r := parse(t, d, body(d, session(5, 100)))
		if res := run(t, compact.New(compact.Options{}), r, compact.Goal{Target: 1 << 20}); res.Request != r || res.Changed() {
			t.Errorf("%s: changed", d)
		}
	}
}

func TestTheLadderIsClimbedOnlyAsFarAsNeeded(t *testing.T) {
	for _, d := range dialects {
		big := session(3, 500)
		big[1].result = log(rand.New(rand.NewPCG(1, 1)), 60_000)
		for _, c := range []struct {
			name  string
			steps []step
			goal  compact.Goal
			o     compact.Options
			want  []string
		}{
			{"one large result", append(big, session(6, 100)[1:]...), compact.Goal{Target: 6000, Limit: 12_000}, compact.Options{}, []string{"cut"}},
			{"many results", session(60, 1900), compact.Goal{Target: 13_000, Limit: 26_000}, compact.Options{}, []string{"mask"}},
			{"many results that stay whole", session(60, 1900), compact.Goal{Target: 13_000, Limit: 26_000}, compact.Options{WholeResults: true}, []string{"extract"}},
			{"many turns", session(200, 60), compact.Goal{Target: 3000, Limit: 6000}, compact.Options{}, []string{"extract"}},
			{"many turns, no summary", session(200, 60), compact.Goal{Target: 3000, Limit: 6000}, compact.Options{Style: compact.Off}, []string{"drop"}},
		} {
			r := parse(t, d, body(d, c.steps))
			res := run(t, compact.New(c.o), r, c.goal)
			if !slices.Equal(res.Rungs, c.want) {
				t.Errorf("%s, %s: rungs %v, want %v; %d to %d", d, c.name, res.Rungs, c.want, res.Before, res.After)
			}
			if res.After > c.goal.Target || res.After < c.goal.Target/2 {
				t.Errorf("%s, %s: %d tokens, the target is %d", d, c.name, res.After, c.goal.Target)
			}
			if res.CutBytes <= 0 || res.Messages == 0 || len(res.Cut) < int(res.CutBytes)/2 {
				t.Errorf("%s, %s: %d bytes of %d messages, %d bytes kept to be shown", d, c.name, res.CutBytes, res.Messages, len(res.Cut))
			}
			b := string(res.Request.Body)
			if !strings.Contains(b, "The task: port the importer to the new schema.") {
				t.Errorf("%s, %s: the task is gone", d, c.name)
			}
		}
	}
}

func TestResultBytesAreWhatACutKeeps(t *testing.T) {
	for _, d := range dialects {
		big := session(3, 500)
		big[1].result = log(rand.New(rand.NewPCG(1, 1)), 60_000)
		r := parse(t, d, body(d, append(big, session(6, 100)[1:]...)))
		for _, keep := range []int{800, 3000} {
			// A target that only a full cut reaches: the last cut gives back what it overshot.
			target := (len(r.Body) - largest(r) + keep + 200) / 4
			res := run(t, compact.New(compact.Options{ResultBytes: keep}), r, compact.Goal{Target: target, Limit: 2 * target})
			left := largest(res.Request)
			if !slices.Contains(res.Rungs, "cut") || left < keep*3/4 || left > keep*2 {
				t.Errorf("%s: the largest result has %d bytes, %d were to be kept; rungs %v", d, left, keep, res.Rungs)
			}
		}
	}
}

// largest is the size of the largest result, in bytes.
func largest(r *wire.Request) (size int) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if p.Kind == wire.Result {
				size = max(size, p.Span.Len())
			}
		}
	}
	return size
}

// What the newest messages say is spared until nothing else helps, and then too the task,
// the newest user message and the open unit stay.
func TestTheNewestMessagesAreSparedAsLongAsPossible(t *testing.T) {
	for _, d := range dialects {
		steps := append(session(10, 400), step{user: "The newest wish."}, step{call: "bash", result: "almost the last result " + log(rand.New(rand.NewPCG(1, 3)), 3000), thinks: true},
			step{call: "bash", result: "the last result " + log(rand.New(rand.NewPCG(1, 2)), 3000), thinks: true})
		r := parse(t, d, body(d, steps))
		for _, c := range []struct {
			goal  compact.Goal
			want  []string
			spare bool
		}{
			{compact.Goal{Target: 2600, Limit: 4000}, []string{"almost the last result", "the last result"}, true},
			{compact.Goal{Target: 1100, Limit: 1900}, []string{"the last result"}, true},
			{compact.Goal{Target: 600, Limit: 900}, []string{"the last result"}, false},
		} {
			res := run(t, compact.New(compact.Options{}), r, c.goal)
			b := string(res.Request.Body)
			for _, want := range append(c.want, "The newest wish.", "The task: port") {
				if !strings.Contains(b, want) {
					t.Errorf("%s, %v: %q is gone (%v, %d)", d, c.goal, want, res.Rungs, res.After)
				}
			}
			if res.After > c.goal.Limit {
				t.Errorf("%s: %d tokens of %d", d, res.After, c.goal.Limit)
			}
			if last := steps[len(steps)-1].result; strings.Contains(b, strings.Trim(marshal(last), `"`)) != c.spare {
				t.Errorf("%s, %v: the open result is whole: %v (%v, %d)", d, c.goal, !c.spare, res.Rungs, res.After)
			}
		}
	}
}

// A result just under the trigger would have the next turns compacted again, each at the
// cost of the provider's cache: then the newest messages are not spared.
func TestTheNextTurnIsNotCompactedAgain(t *testing.T) {
	for _, d := range dialects {
		steps := session(12, 300)
		r := rand.New(rand.NewPCG(4, 4))
		for i := len(steps) - 3; i < len(steps)-1; i++ {
			steps[i].result = log(r, 9000)
		}
		req := parse(t, d, body(d, steps))
		goal := compact.Goal{Target: 1500, Limit: 6000, Trigger: 4800}
		newest := 6
		if d == wire.Responses { // a call is four items there
			newest = 12
		}
		c := compact.New(compact.Options{MinMessages: newest})
		res := run(t, c, req, goal)
		if !slices.Contains(res.Rungs, "relax") || res.After > 4800-300 {
			t.Errorf("%s: %v, %d tokens", d, res.Rungs, res.After)
		}
		// Where the newest messages leave room enough they are spared, target or not.
		goal.Limit, goal.Trigger = 12_000, 9_600
		if res := run(t, c, req, goal); slices.Contains(res.Rungs, "relax") || res.After <= goal.Target {
			t.Errorf("%s: %v, %d tokens", d, res.Rungs, res.After)
		}
	}
}

func TestWhatCannotFitIsNamed(t *testing.T) {
	for _, d := range dialects {
		steps := append(session(3, 400), step{user: "Here is the whole file: " + strings.Repeat("text ", 8000)})
		r := parse(t, d, body(d, steps))
		_, err := compact.New(compact.Options{}).Compact(t.Context(), view(t, r), quarter, compact.Goal{Target: 3000, Limit: 5000})
		fit, ok := errors.AsType[*compact.DoesNotFit](err)
		if !ok || fit.Message != len(r.Messages)-1 || fit.Role != "user" || fit.Tokens < 9000 || fit.Limit != 5000 {
			t.Errorf("%s: %v (of %d messages)", d, err, len(r.Messages))
		}
		_, err = compact.New(compact.Options{}).Compact(t.Context(), view(t, r), func(r *wire.Request) compact.Sizes {
			s := quarter(r)
			s.Head += 90_000
			s.Total += 90_000
			return s
		}, compact.Goal{Target: 3000, Limit: 5000})
		if fit, ok := errors.AsType[*compact.DoesNotFit](err); !ok || fit.Message != -1 || !strings.Contains(fit.Error(), "system and tools") {
			t.Errorf("%s: %v", d, err)
		}
	}
}

func TestMediaOfOldTurnsIsNamed(t *testing.T) {
	for _, d := range dialects {
		steps := append([]step{{user: "The task."}, {user: "See.", image: true}, {assistant: "I see."}}, session(8, 100)[1:]...)
		steps = append(steps, step{user: "And this.", image: true})
		r := parse(t, d, body(d, steps))
		res := run(t, compact.New(compact.Options{}), r, compact.Goal{Target: len(r.Body)/4 - 1200, Limit: len(r.Body) / 4})
		b := string(res.Request.Body)
		if strings.Count(b, "iVBORw0KiVBORw0K") == 0 || strings.Count(b, strings.Repeat("iVBORw0K", 800)) != 1 {
			t.Errorf("%s: the old image is there, or the new one is not", d)
		}
		if !strings.Contains(b, "[Plimsoll took this out to make room: one ") || !slices.Equal(res.Rungs, []string{"mask"}) {
			t.Errorf("%s: %v", d, res.Rungs)
		}
	}
}

// The text of a mask says what it stands for.
func TestMasksSayWhatTheyStandFor(t *testing.T) {
	for _, d := range dialects {
		steps := session(20, 900)
		steps[1].result = "total 48 files\n" + steps[1].result
		r := parse(t, d, body(d, steps))
		res := run(t, compact.New(compact.Options{}), r, compact.Goal{Target: len(r.Body)/4 - 500})
		b := string(res.Request.Body)
		at := strings.Index(b, "[Plimsoll took this out to make room: a result of ")
		if at < 0 {
			t.Fatalf("%s: %v", d, res.Rungs)
		}
		if mask := b[at : at+strings.IndexByte(b[at:], ']')]; !strings.Contains(mask, "from read; it began: ") || !strings.Contains(mask, "total 48 files") {
			t.Errorf("%s: %s", d, mask)
		}
	}
}

// A summary comes after the task, as a user's message that says it is not the user's.
func TestWhereASummaryStands(t *testing.T) {
	for _, d := range dialects {
		steps := append([]step{{system: "set-up by the client"}}, session(150, 80)...)
		r := parse(t, d, body(d, steps))
		res := run(t, compact.New(compact.Options{}), r, compact.Goal{Target: 3000, Limit: 5000})
		task := -1
		for i, m := range res.Request.Messages {
			raw := string(res.Request.Raw(m.Span))
			if strings.Contains(raw, "The task: port") && task < 0 {
				task = i
			}
			if strings.Contains(raw, extract.Opening) && (i != task+1 || m.Role != wire.RoleUser) {
				t.Errorf("%s: the summary is message %d (%s), the task %d", d, i, m.Role, task)
			}
		}
		if task < 0 || !strings.Contains(string(res.Request.Body), extract.Opening) {
			t.Errorf("%s: no task or no summary", d)
		}
	}
}

// A turn with tools that began with thinking has to go on beginning with it.
func TestTheRunningTurnKeepsItsThinking(t *testing.T) {
	steps := session(100, 200)
	for i := range steps {
		steps[i].thinks = i == 1 || i == 40
	}
	r := parse(t, wire.Messages, body(wire.Messages, steps))
	if err := wire.Validate(wire.Messages, r.Body); err != nil {
		t.Fatal(err)
	}
	res := run(t, compact.New(compact.Options{}), r, compact.Goal{Target: 3000, Limit: 5000})
	if !slices.Contains(res.Rungs, "extract") || !strings.Contains(string(res.Request.Body), `"thinking":"let me see"`) {
		t.Errorf("%v", res.Rungs)
	}
}

func FuzzCompact(f *testing.F) {
	f.Add(uint64(1), 30, 50, uint8(0))
	f.Add(uint64(2), 80, 20, uint8(1))
	f.Add(uint64(3), 10, 5, uint8(2))
	f.Add(uint64(4), 120, 70, uint8(7))
	f.Fuzz(func(t *testing.T, seed uint64, n, percent int, flags uint8) {
		r := rand.New(rand.NewPCG(seed, 9))
		d := dialects[seed%4]
		steps := random(r, 2+min(abs(n), 150))
		req := parse(t, d, body(d, steps))
		before := quarter(req).Total
		limit := before * (1 + abs(percent)%99) / 100
		goal := compact.Goal{Target: limit * (50 + int(flags>>4)*3) / 100, Limit: limit, Strict: flags&1 != 0}
		c := compact.New(compact.Options{Style: compact.Style(flags & 2), MinMessages: int(flags>>2) & 7})
		res, err := c.Compact(t.Context(), view(t, req), quarter, goal)
		if err != nil {
			fit, ok := errors.AsType[*compact.DoesNotFit](err)
			if !ok || fit.Total <= limit || fit.Message >= len(req.Messages) || res.Changed() {
				t.Fatalf("%s: %v", d, err)
			}
			return
		}
		if err := wire.ValidateEdit(d, req.Body, res.Request.Alternating()); err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		if res.After > limit || before > goal.Target && !(res.After < before) && res.Changed() {
			t.Fatalf("%s: %d tokens became %d, %d fit", d, before, res.After, limit)
		}
		b := string(res.Request.Body)
		if !strings.Contains(b, "The task: find out why") {
			t.Fatalf("%s: the task is gone", d)
		}
		// Of the request, not of the steps: where two answers would meet, body puts a word of the
		// user between them. What a client writes in the user's name is not the user's.
		latest := ""
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if m.Role == wire.RoleUser && p.Kind == wire.Text && extract.Own(string(wire.Unquote(nil, req.Raw(p.Texts[0])))) != "" {
					latest = string(req.Raw(p.Texts[0]))
				}
			}
		}
		if !strings.Contains(b, strings.Trim(latest, `"`)) {
			t.Fatalf("%s: the newest user message is gone", d)
		}
		again, err := c.Compact(t.Context(), view(t, req), quarter, goal)
		if err != nil || string(again.Request.Body) != b {
			t.Fatalf("%s: not deterministic, %v", d, err)
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func BenchmarkCompactMegabyte(b *testing.B) {
	r := parse(b, wire.Messages, body(wire.Messages, session(300, 3500)))
	v, size := view(b, r), len(r.Body)
	c := compact.New(compact.Options{})
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Compact(b.Context(), v, quarter, compact.Goal{Target: size / 40}); err != nil {
			b.Fatal(err)
		}
	}
}
