package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/heldout"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// heldoutPercent is the share of a session's tokens that is left where a claim is made, in percent.
const heldoutPercent = 15

// grownWindow is the window that sessions are played through, in tokens.
const grownWindow = 32_000

// read begins the names of those whose author was not without knowledge of it any more.
const read = "written later"

// prose begins the names of the sessions that the extractor's own author wrote.
const prose = "prose"

// benchFacts scores sessions that were written by somebody who had not read the extractor, and four that its author wrote. Nothing is to
// be tuned on them: the figures are what is claimed.
func benchFacts(o *Out, _ []string) {
	grown := newTally()
	for _, set := range []struct{ title, name string }{
		{"held out, first set (looked at since)", "first"},
		{"held out, second set (looked at since)", "second"},
		{"held out, third set", "third"},
		{"held out, fourth set (looked at since)", "fourth"},
		{"held out, fifth set", "fifth"},
		{prose + ", Turkish (looked at)", "turkish"},
		{prose + ", Chinese (looked at)", "chinese"},
		{prose + ", Spanish (looked at)", "spanish"},
		{prose + ", Japanese", "japanese"},
		{"held out, Portuguese (looked at once)", "portuguese"},
		{"held out, Korean (looked at once)", "korean"},
		{"held out, Vietnamese and Finnish (looked at once)", "vietnamese"},
		{"held out, Polish and Bengali (looked at once)", "polish"},
		{"held out, Persian and Dutch (looked at once)", "persian"},
		{read + ", Indonesian and Greek (looked at since)", "indonesian"},
		{read + ", Swahili and Hindi (looked at since)", "swahili"},
		{read + ", Romanian and Hebrew (looked at once)", "romanian"},
		{read + ", Ukrainian and Thai, small (looked at since)", "ukrainian"},
		{"held out, Czech, small (looked at once)", "czech"},
		{"held out, Tamil, small (looked at once)", "tamil"},
	} {
		heldoutSet(o, set.title, must(heldout.Sessions(set.name)), grown)
	}
	grown.addRows(o, fmt.Sprintf("all of them, grown in a window of %d", grownWindow))
}

// heldoutSet adds the rows for what one set keeps, and counts in grown what it keeps when it is played through a small window.
func heldoutSet(o *Out, name string, sessions []heldout.Session, grown *tally) {
	author := "They were written by somebody who had not read how the extractor finds what they plant."
	switch {
	case strings.HasPrefix(name, read):
		author = "Their author had looked at what the extractor makes of others by then, and at its code."
	case strings.HasPrefix(name, prose):
		author = "The extractor's own author wrote them, before its rules for prose: no evidence for sessions of others."
	}
	o.Note("%s: %d sessions at %d %% of their tokens. %s", name, len(sessions), heldoutPercent, author)
	total := newTally()
	for i := range sessions {
		s := &sessions[i]
		r := must(wire.Parse(s.Dialect, s.Body))
		target := o200kSizes(r).Total * heldoutPercent / 100
		total.countKept(s, r, total.compact(o, compact.New(compact.Options{}), r, compact.Goal{Target: target, Limit: 2 * target}))
		grown.countKept(s, r, grown.playThroughWindow(o, r))
	}
	total.addRows(o, name)
}

// A tally counts facts by kind, in what was compacted and in what the baselines left.
type tally struct {
	all, kept, dropped, masked map[string]int
	tokens                     int
	took                       time.Duration
}

func newTally() *tally {
	return &tally{all: map[string]int{}, kept: map[string]int{}, dropped: map[string]int{}, masked: map[string]int{}}
}

// compact compacts a request, and counts how long that takes.
func (t *tally) compact(o *Out, c *compact.Compactor, r *wire.Request, goal compact.Goal) *wire.Request {
	v := must(compact.Replay(r, nil))
	start := time.Now()
	res := must(c.Compact(o.ctx, v, o200kSizes, goal))
	t.took += time.Since(start)
	return res.Request
}

// playThroughWindow plays a session message by message through a window, as an agent lives it: unit after unit, and what is over four
// fifths of the window is compacted to half of it. It returns what is left at the end, which has been compacted many times.
func (t *tally) playThroughWindow(o *Out, whole *wire.Request) *wire.Request {
	c := compact.New(compact.Options{})
	sizes := o200kSizes(whole)
	units := whole.Units()
	d := whole.Draft()
	d.DropMessages(units[0].To, len(whole.Messages))
	now := must(d.Build())
	total := o200kSizes(now).Total
	for _, u := range units[1:] {
		d := now.Draft()
		var raw [][]byte
		for i := u.From; i < u.To; i++ {
			raw = append(raw, whole.Raw(whole.Messages[i].Span))
			total += sizes.Messages[i]
		}
		d.InsertMessages(len(now.Messages), raw...)
		now = must(d.Build())
		if total > grownWindow*4/5 {
			now = t.compact(o, c, now, compact.Goal{Target: grownWindow / 2, Limit: grownWindow})
			total = o200kSizes(now).Total
		}
	}
	return now
}

// countKept counts the facts of a session s, which is r, that are in what is left of it, got, and in what two baselines leave at the same
// number of tokens.
func (t *tally) countKept(s *heldout.Session, r, got *wire.Request) {
	budget := o200kSizes(got).Total
	t.tokens += budget
	for list, into := range map[*wire.Request]map[string]int{got: t.kept, newestUnits(r, budget): t.dropped, maskedResults(r, budget): t.masked} {
		text := textsOf(list.Body)
		for _, f := range s.Facts {
			if slices.ContainsFunc(f.AnyOf, func(key string) bool { return strings.Contains(text, key) }) {
				into[f.Kind]++
			}
		}
	}
	for _, f := range s.Facts {
		t.all[f.Kind]++
	}
}

// addRows adds the rows of a set: for each kind of fact the share that was kept, beside the two baselines.
func (t *tally) addRows(o *Out, name string) {
	for _, kind := range slices.Sorted(maps.Keys(t.all)) {
		percent := func(n int) float64 { return float64(100*n) / float64(t.all[kind]) }
		o.Add(Row{Case: name, Metric: fmt.Sprintf("%s (%d)", kind, t.all[kind]), Value: percent(t.kept[kind]), Unit: "%", Baseline: "dropping", BaselineValue: percent(t.dropped[kind])})
		o.Add(Row{Case: name, Metric: fmt.Sprintf("%s (%d)", kind, t.all[kind]), Value: percent(t.kept[kind]), Unit: "%", Baseline: "masking", BaselineValue: percent(t.masked[kind])})
	}
	o.Add(Row{Case: name, Metric: "tokens", Value: float64(t.tokens), Unit: "tokens"})
	o.Add(Row{Case: name, Metric: "time", Value: float64(t.took.Milliseconds()), Unit: "ms"})
}

// maskedResults returns the request with the oldest results replaced by a short line until it fits the budget; if that is not enough, the
// oldest units are dropped.
func maskedResults(r *wire.Request, budget int) *wire.Request {
	sizes := o200kSizes(r)
	total := sizes.Total
	d := r.Draft()
	const mask = "[old result left out]"
	for i := 0; i < len(r.Messages) && total > budget; i++ {
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			if p.Kind != wire.Result || p.Span.Len() < 200 {
				continue
			}
			d.ReplaceResult(i, j, mask)
			total -= sizes.Messages[i] * (p.Span.Len() - 100) / r.Messages[i].Span.Len()
		}
	}
	next := must(d.Build())
	if o200kSizes(next).Total > budget {
		return newestUnits(next, budget)
	}
	return next
}

// newestUnits returns the request with its task and as many of the newest units as fit the budget, which is what most agents do.
func newestUnits(r *wire.Request, budget int) *wire.Request {
	units := r.Units()
	sizes := o200kSizes(r)
	total := sizes.Total
	n := 1
	for ; n < len(units)-1 && total > budget; n++ {
		for i := units[n].From; i < units[n].To; i++ {
			total -= sizes.Messages[i]
		}
	}
	d := r.Draft()
	d.DropMessages(1, units[n].From)
	return must(d.Build())
}

// o200kSizes measures with a tokenizer, so that budgets mean what they say.
func o200kSizes(r *wire.Request) (s compact.Sizes) {
	s.Messages = make([]int, len(r.Messages))
	for i, m := range r.Messages {
		s.Messages[i] = tokens.O200K().Count(r.Raw(m.Span)) + 1
		s.Total += s.Messages[i]
	}
	return s
}

// textsOf returns all the texts of a JSON body, decoded, each on a line of its own. Texts that are
// JSON themselves (arguments) are decoded once more.
func textsOf(body []byte) string {
	var b strings.Builder
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
			var inner any
			if depth < 2 && strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inner) == nil {
				walk(inner, depth+1)
			}
		case []any:
			for _, e := range v {
				walk(e, depth)
			}
		case map[string]any:
			for _, e := range v {
				walk(e, depth)
			}
		}
	}
	var v any
	if json.Unmarshal(body, &v) == nil {
		walk(v, 0)
	}
	return b.String()
}
