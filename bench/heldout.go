package main

import (
	"context"
	"strings"

	"github.com/plimsoll/plimsoll/internal/testing/heldout"
	"github.com/plimsoll/plimsoll/internal/window/compact"
)

// heldoutPercent is the share of a session's tokens that is left where a claim is made, in percent.
const heldoutPercent = 15

// read begins the names of those whose author was not without knowledge of it any more.
const read = "written later"

// prose begins the names of the sessions that the extractor's own author wrote.
const prose = "prose"

// heldoutFacts scores sessions that were written by somebody who had not read the extractor, and four that its author wrote, all
// of them in one table. Nothing is to be tuned on them: the figures are what is claimed.
func heldoutFacts(ctx context.Context, o *Out, measure compact.Measure) error {
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
		sessions, err := heldout.Sessions(set.name)
		if err != nil {
			return err
		}
		if err := heldoutSet(ctx, o, measure, set.title, sessions); err != nil {
			return err
		}
	}
	return nil
}

func heldoutSet(ctx context.Context, o *Out, measure compact.Measure, name string, sessions []heldout.Session) error {
	author := "They were written by somebody who had not read how the extractor finds what they plant."
	switch {
	case strings.HasPrefix(name, read):
		author = "Their author had looked at what the extractor makes of others by then, and at its code."
	case strings.HasPrefix(name, prose):
		author = "The extractor's own author wrote them, before its rules for prose: no evidence for sessions of others."
	}
	o.Note("%s: %d sessions at %d %% of their tokens. %s", name, len(sessions), heldoutPercent, author)
	total := newTally()
	for _, one := range sessions {
		s := codingSession{name: one.Name, d: one.Dialect, body: one.Body}
		for _, f := range one.Facts {
			s.facts = append(s.facts, codingFact{f.Kind, f.AnyOf})
		}
		if err := total.compact(ctx, &s, measure, heldoutPercent); err != nil {
			return err
		}
	}
	total.report(o, name)
	return nil
}
