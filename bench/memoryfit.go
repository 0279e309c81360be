package main

import (
	"context"
	"fmt"
	"os"

	"github.com/plimsoll/plimsoll/memory/index"
)

// fitParams tries one constant of the ranking after the other, and prints what was best for R@5, R@10 and the session's R@10 together.
func fitParams(ctx context.Context, all []dialogue) error {
	score := func(p index.Params) (float64, string, error) {
		r, err := measureRecall(ctx, all, engine{"fit", func(_ context.Context, d *dialogue) (searcher, error) { return openIndex(d, p), nil }})
		if err != nil {
			return 0, "", err
		}
		five, ten := percent(r.at5, r, wholeSet), percent(r.at10, r, wholeSet)
		session := percent(r.session, r, wholeSet)
		return five + ten + session, fmt.Sprintf("R@5 %.2f R@10 %.2f session R@10 %.2f any %.2f", five, ten, session, percent(r.any, r, wholeSet)), nil
	}
	raw := index.RawBM25()
	_, text, err := score(raw)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "raw", text)
	p := index.Defaults()
	best, text, err := score(p)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "defaults", text)
	knobs := []struct {
		name   string
		at     func(p *index.Params) *float64
		values []float64
	}{
		{"Near[0]", func(p *index.Params) *float64 { return &p.Near[0] }, []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}},
		{"Near[1]", func(p *index.Params) *float64 { return &p.Near[1] }, []float64{0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5}},
		{"Talk", func(p *index.Params) *float64 { return &p.Talk }, []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3}},
		{"Name", func(p *index.Params) *float64 { return &p.Name }, []float64{0, 0.25, 0.5, 0.75, 1}},
		{"Ahead", func(p *index.Params) *float64 { return &p.Ahead }, []float64{0.5, 0.7, 1, 1.2, 1.5, 2}},
		{"Peak", func(p *index.Params) *float64 { return &p.Peak }, []float64{0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 1}},
		{"Answer", func(p *index.Params) *float64 { return &p.Answer }, []float64{0, 0.4, 0.6, 0.8, 1, 1.2}},
		{"Question", func(p *index.Params) *float64 { return &p.Question }, []float64{0, 0.1, 0.15, 0.2, 0.25, 0.3}},
		{"B", func(p *index.Params) *float64 { return &p.B }, []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75}},
		{"K1", func(p *index.Params) *float64 { return &p.K1 }, []float64{0.6, 0.9, 1.2, 1.5}},
		{"Speaker", func(p *index.Params) *float64 { return &p.Speaker }, []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1}},
	}
	for range 2 {
		for _, k := range knobs {
			for _, v := range k.values {
				next := p
				*k.at(&next) = v
				got, text, err := score(next)
				if err != nil {
					return err
				}
				mark := ""
				if got > best {
					best, p, mark = got, next, " *"
				}
				fmt.Fprintf(os.Stderr, "%s=%g: %s%s\n", k.name, v, text, mark)
			}
		}
	}
	fmt.Printf("%+v\n", p)
	return nil
}
