package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const goodSummary = "Intent: find out why shop-api does not start. Decisions: the image tag v1.4.2 is missing in the registry. Next step: ask for the tag."

// oldTurns are more than half of a window of 20,000 tokens that nothing but a summary makes small.
func oldTurns() []Message {
	ms := []Message{userSays("find out why shop-api does not start")}
	for i := range 24 {
		ms = append(ms, modelSays(fitWords(700, uint64(i))), userSays(fmt.Sprint("and then? ", i)))
	}
	return ms
}

func TestSummariesAreWrittenByTheModel(t *testing.T) {
	t.Parallel()
	asked := 0
	f := newFitter(fitModel(20_000), Limits{}, func(_ context.Context, r *Request) (*Reply, error) {
		asked++
		if r.System == "" || len(r.Messages) != 1 || len(r.Tools) > 0 || r.MaxOutput <= 0 || !strings.Contains(r.Messages[0].Text, "AGENT:") {
			t.Errorf("it was asked for %d messages, %d tools, %d tokens", len(r.Messages), len(r.Tools), r.MaxOutput)
		}
		return &Reply{Message: modelSays(goodSummary), Stop: StopEnd, Usage: Usage{Input: 9000, Output: 60}}, nil
	})
	ms := oldTurns()
	out, did := mustFit(t, f, "You help.", ms)
	if asked != 1 || did.Summary != (Usage{Input: 9000, Output: 60}) || !strings.Contains(did.Actions, "model") {
		t.Errorf("asked %d times; %+v", asked, did)
	}
	if !slices.ContainsFunc(out, func(m Message) bool { return m.Role == RoleUser && strings.Contains(m.Text, "the image tag v1.4.2") }) {
		t.Error("the summary is nowhere")
	}
	// The same conversation again does not cost another one.
	mustFit(t, f, "You help.", append(slices.Clone(ms), modelSays("x"), userSays("y")))
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestWhatIsNoSummaryNeverBecomesOne(t *testing.T) {
	t.Parallel()
	reply := func(text string, stop Stop) summarizer {
		return func(context.Context, *Request) (*Reply, error) {
			return &Reply{Message: modelSays(text), Stop: stop, Usage: Usage{Input: 7, Output: 5}}, nil
		}
	}
	for name, tt := range map[string]struct {
		ask  summarizer
		says string
	}{
		"an error": {func(context.Context, *Request) (*Reply, error) {
			return nil, &ModelError{Failure: Busy, Text: "SECRET"}
		}, "busy"},
		"an error of another kind": {func(context.Context, *Request) (*Reply, error) { return nil, errors.New("SECRET") }, "no answer"},
		"nothing":                  {func(context.Context, *Request) (*Reply, error) { return nil, nil }, "no answer"},
		"a panic":                  {func(context.Context, *Request) (*Reply, error) { panic("SECRET") }, "no answer"},
		"an error as text":         {reply(`{"error":{"message":"SECRET"}}`, StopEnd), "error message"},
		"a refusal":                {reply("I'm sorry, but SECRET is nothing that I can help with today.", StopEnd), "refused"},
		"half of one":              {reply(goodSummary+" SECRET", StopLength), "end"},
		"an empty one":             {reply(" \n ", StopEnd), "empty"},
		"an endless one":           {reply(strings.Repeat("SECRET and so on. ", 100_000), StopEnd), "longer"},
		"calls": {func(context.Context, *Request) (*Reply, error) {
			return &Reply{Message: Message{Role: RoleAssistant, Text: goodSummary, Calls: []Call{{ID: "a"}}}, Stop: StopEnd}, nil
		}, "end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, did := mustFit(t, newFitter(fitModel(20_000), Limits{}, tt.ask), "", oldTurns())
			for _, m := range out {
				if strings.Contains(m.Text, "SECRET") {
					t.Errorf("it went into the conversation: %.200q", m.Text)
				}
			}
			if !did.MadeRoom || !strings.Contains(did.Actions, "extract") || !strings.Contains(did.Actions, tt.says) || strings.Contains(did.Actions, "SECRET") {
				t.Errorf("it did %q, and should say %q", did.Actions, tt.says)
			}
		})
	}
}

func TestASummaryThatNeverComesHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		f := newFitter(fitModel(20_000), Limits{}, func(context.Context, *Request) (*Reply, error) {
			<-never // and does not look at its context
			return nil, nil
		})
		began := time.Now()
		_, did := mustFit(t, f, "", oldTurns())
		if took := time.Since(began); took != summaryTimeout || !strings.Contains(did.Actions, "extract") {
			t.Errorf("after %v: %s", took, did.Actions)
		}
		close(never)
	})
}

func TestACancelledQueryDoesNotWaitForASummary(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := newFitter(fitModel(20_000), Limits{}, func(ctx context.Context, _ *Request) (*Reply, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if _, _, err := f.fit(ctx, "", oldTurns(), nil, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestATranscriptThatTheModelCannotTakeIsNotSent(t *testing.T) {
	t.Parallel()
	f := newFitter(fitModel(3000), Limits{}, func(context.Context, *Request) (*Reply, error) {
		t.Error("it was asked")
		return nil, errNoAnswer
	})
	if _, did := mustFit(t, f, "", oldTurns()); !strings.Contains(did.Actions, "twice what the model takes") {
		t.Errorf("it did %s", did.Actions)
	}
}

func TestWhileARefusedRequestWaitsNoSummaryIsAskedFor(t *testing.T) {
	t.Parallel()
	f := newFitter(fitModel(0), Limits{}, func(context.Context, *Request) (*Reply, error) {
		t.Error("it was asked")
		return nil, errNoAnswer
	})
	mustFit(t, f, "", oldTurns())
	f.shrinkAfterRefusal(8192)
	mustFit(t, f, "", oldTurns())
}

func TestWithoutSummariesOldTurnsLeaveOneLine(t *testing.T) {
	texts := map[bool]string{}
	for _, off := range []bool{false, true} {
		core := newCore(fitModel(8_000), Limits{}, Room{})
		core.noSummary = off
		out, did := mustFit(t, core.query(nil), "", oldTurns())
		if !did.MadeRoom {
			t.Fatalf("no room was made: %+v", did)
		}
		for _, m := range out {
			texts[off] += m.Text + "\n"
		}
	}
	const chosen = "## What the user said" // heads the lines that are chosen of old turns
	if !strings.Contains(texts[false], chosen) || strings.Contains(texts[true], chosen) {
		t.Errorf("with a summary:\n%.2000s\n\nwithout:\n%.2000s", texts[false], texts[true])
	}
}
