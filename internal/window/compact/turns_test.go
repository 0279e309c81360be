package compact_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

// What a model thought is in no summary: it led to what was said and done.
func TestNoSummaryQuotesThoughts(t *testing.T) {
	for _, d := range []wire.Dialect{wire.Chat, wire.Responses, wire.Messages, wire.Gemini} {
		s := transcripts.NewSession(transcripts.SessionOptions{Dialect: d, Seed: 11, ResultBytes: 1200, Thinking: true})
		r := parse(t, d, s.Request(60))
		if d != wire.Responses && d != wire.Chat && !strings.Contains(string(r.Body), "Considering step 3:") {
			t.Fatalf("%v: nothing was thought", d)
		}
		v, err := compact.Replay(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := quarter(r).Total
		res, err := compact.New(compact.Options{}).Compact(context.Background(), v, quarter, compact.Goal{Target: all / 10, Limit: all / 5})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(res.Request.Messages, func(m wire.Message) bool { return strings.Contains(string(res.Request.Raw(m.Span)), extract.Opening) })
		if at < 0 {
			t.Fatalf("%v: there is no summary", d)
		}
		if text := string(res.Request.Raw(res.Request.Messages[at].Span)); strings.Contains(text, "Considering step") || strings.Contains(text, "Summing up.") {
			t.Errorf("%v: %s", d, text)
		}
	}
}
