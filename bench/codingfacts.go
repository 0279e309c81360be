package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/wire"
)

// codingPercents are the shares of a session's tokens that are left, in percent.
var codingPercents = []int{40, 15, 5}

// A codingSession is a session with what has to survive in it.
type codingSession struct {
	name  string
	d     wire.Dialect
	body  []byte
	facts []codingFact
}

// codingFacts reports what a coding agent needs, by kind, against dropping and masking at the same
// tokens.
func codingFacts(ctx context.Context, o *Out, seed uint64, measure compact.Measure) error {
	o.Note("The coding sessions are those on which the extractor was developed: of the same author, so their figures say that it works, not how well it does on others.")
	for _, d := range []wire.Dialect{wire.Messages, wire.Chat, wire.Responses, wire.Gemini} {
		s := codingSession{name: fmt.Sprintf("coding, %v", d), d: d}
		s.body, s.facts = newCoding(d, seed).build()
		for _, percent := range codingPercents {
			tally := newTally()
			if err := tally.compact(ctx, &s, measure, percent); err != nil {
				return err
			}
			tally.report(o, fmt.Sprintf("%s (%d KB) to %d %%", s.name, len(s.body)/1000, percent))
		}
		tally := newTally()
		if err := tally.growing(ctx, &s, measure, 32_000); err != nil {
			return err
		}
		tally.report(o, s.name+", grown in a window of 32,000")
	}
	return nil
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

// compact brings a session to a part of its tokens, once, and counts.
func (t *tally) compact(ctx context.Context, s *codingSession, measure compact.Measure, percent int) error {
	r, err := wire.Parse(s.d, s.body)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	v, err := compact.Replay(r, nil)
	if err != nil {
		return err
	}
	target := measure(r).Total * percent / 100
	start := time.Now()
	res, err := compact.New(compact.Options{}).Compact(ctx, v, measure, compact.Goal{Target: target, Limit: 2 * target})
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return t.count(s, r, res.Request, measure, time.Since(start))
}

// growing plays a session message by message through a window, as an agent lives it: what is
// left at the end has been compacted many times.
func (t *tally) growing(ctx context.Context, s *codingSession, measure compact.Measure, window int) error {
	whole, err := wire.Parse(s.d, s.body)
	if err != nil {
		return err
	}
	kept, took, err := grown(ctx, compact.New(compact.Options{}), whole, measure, window)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return t.count(s, whole, kept, measure, took)
}

// grown adds unit after unit, and compacts what is over four fifths of the window to half of it.
func grown(ctx context.Context, c *compact.Compactor, whole *wire.Request, measure compact.Measure, window int) (*wire.Request, time.Duration, error) {
	var took time.Duration
	sizes := measure(whole)
	units := whole.Units()
	d := whole.Draft()
	d.DropMessages(units[0].To, len(whole.Messages))
	now, err := d.Build()
	if err != nil {
		return nil, 0, err
	}
	total := measure(now).Total
	for _, u := range units[1:] {
		d := now.Draft()
		var raw [][]byte
		for i := u.From; i < u.To; i++ {
			raw = append(raw, whole.Raw(whole.Messages[i].Span))
			total += sizes.Messages[i]
		}
		d.InsertMessages(len(now.Messages), raw...)
		if now, err = d.Build(); err != nil {
			return nil, 0, err
		}
		if total <= window*4/5 {
			continue
		}
		v, err := compact.Replay(now, nil)
		if err != nil {
			return nil, 0, err
		}
		start := time.Now()
		res, err := c.Compact(ctx, v, measure, compact.Goal{Target: window / 2, Limit: window})
		if err != nil {
			return nil, 0, err
		}
		took += time.Since(start)
		now, total = res.Request, res.After
	}
	return now, took, nil
}

// count compares what is left of a session with the two baselines at the same tokens.
func (t *tally) count(s *codingSession, r, got *wire.Request, measure compact.Measure, took time.Duration) error {
	budget := measure(got).Total
	dropped, err := plainly(r, measure, budget)
	if err != nil {
		return err
	}
	masked, err := masked(r, measure, budget)
	if err != nil {
		return err
	}
	t.tokens += budget
	t.took += took
	for list, into := range map[*wire.Request]map[string]int{got: t.kept, dropped: t.dropped, masked: t.masked} {
		text := texts(list.Body)
		for _, f := range s.facts {
			if slices.ContainsFunc(f.anyOf, func(key string) bool { return strings.Contains(text, key) }) {
				into[f.kind]++
			}
		}
	}
	for _, f := range s.facts {
		t.all[f.kind]++
	}
	return nil
}

func (t *tally) report(o *Out, name string) {
	kinds := slices.Clone(codingKinds)
	for kind := range t.all {
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range kinds {
		if t.all[kind] == 0 {
			continue
		}
		percent := func(n int) float64 { return float64(100*n) / float64(t.all[kind]) }
		o.Add(Row{Case: name, Metric: fmt.Sprintf("%s (%d)", kind, t.all[kind]), Value: percent(t.kept[kind]), Unit: "%", Baseline: "dropping", BaselineValue: percent(t.dropped[kind])})
		o.Add(Row{Case: name, Metric: fmt.Sprintf("%s (%d)", kind, t.all[kind]), Value: percent(t.kept[kind]), Unit: "%", Baseline: "masking", BaselineValue: percent(t.masked[kind])})
	}
	o.Add(Row{Case: name, Metric: "tokens", Value: float64(t.tokens), Unit: "tokens"})
	o.Add(Row{Case: name, Metric: "time", Value: float64(t.took.Milliseconds()), Unit: "ms"})
}

// masked puts a short line in place of the oldest results until what is left fits, and drops the
// oldest units when that is not enough.
func masked(r *wire.Request, measure compact.Measure, budget int) (*wire.Request, error) {
	total := measure(r).Total
	sizes := measure(r)
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
	next, err := d.Build()
	if err != nil || measure(next).Total <= budget {
		return next, err
	}
	return plainly(next, measure, budget)
}

// texts returns all the texts of a JSON body, decoded, each on a line of its own. Texts that are
// JSON themselves (arguments) are decoded once more.
func texts(body []byte) string {
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
