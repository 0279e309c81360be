package compact_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A summarizer that hangs is waited for once, not at every compaction; it is tried again later and later, and used again once it
// works.
func TestASummarizerThatHangsIsLeftAlone(t *testing.T) {
	r := parse(t, wire.Chat, body(wire.Chat, talk(150)))
	goal := compact.Goal{Target: 3000, Limit: 6000}
	synctest.Test(t, func(t *testing.T) {
		var heard []compact.Summary
		works, asked := false, 0
		c := compact.New(compact.Options{
			Style: compact.Model, Summaries: func(s compact.Summary) { heard = append(heard, s) },
			Summarizer: writer(func(ctx context.Context, _ compact.Assignment) (compact.Written, error) {
				asked++
				if works {
					return compact.Written{Text: good, In: 10, Out: 10}, nil
				}
				<-ctx.Done()
				return compact.Written{}, ctx.Err()
			}),
		})
		wait := func() time.Duration {
			start := time.Now()
			run(t, c, r, goal)
			return time.Since(start)
		}
		if took := wait(); took != compact.DefaultSummaryTimeout {
			t.Fatalf("the first took %v", took)
		}
		for range 10 {
			if took := wait(); took != 0 {
				t.Fatalf("one that is left alone took %v", took)
			}
		}
		for _, rest := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			before := asked
			time.Sleep(rest - time.Second)
			wait()
			if asked != before {
				t.Fatalf("asked before %v were over", rest)
			}
			time.Sleep(time.Second)
			if took := wait(); took != compact.DefaultSummaryTimeout || asked != before+1 {
				t.Fatalf("after %v: %v, asked %d times", rest, took, asked-before)
			}
		}
		works = true
		time.Sleep(time.Hour)
		if res := run(t, c, r, goal); !slices.Equal(res.Rungs, []string{"model"}) {
			t.Errorf("one that works again: %v, %v", res.Rungs, res.SummaryError)
		}
		if first, second := heard[0], heard[1]; first.Outcome != compact.SummaryTimedOut || first.Rest != time.Minute || first.Took != compact.DefaultSummaryTimeout || second.Outcome != compact.SummarySkipped || second.Err == nil {
			t.Errorf("told: %+v, %+v", first, second)
		}
		if last := heard[len(heard)-1]; last.Outcome != compact.SummaryWritten || last.Err != nil {
			t.Errorf("told at last: %+v", last)
		}
	})
}

// One failure may be a slip: the second in a row counts. A request that is given up says nothing about the summarizer.
func TestASummarizerThatFailsIsAskedTwice(t *testing.T) {
	r := parse(t, wire.Messages, body(wire.Messages, talk(150)))
	goal := compact.Goal{Target: 3000, Limit: 6000}
	synctest.Test(t, func(t *testing.T) {
		var outcomes []string
		asked := 0
		ctx, cancel := context.WithCancel(t.Context())
		c := compact.New(compact.Options{
			Style: compact.Model, Summaries: func(s compact.Summary) { outcomes = append(outcomes, s.Outcome) },
			Summarizer: writer(func(context.Context, compact.Assignment) (compact.Written, error) {
				if asked++; asked == 1 {
					cancel()
				}
				return compact.Written{}, errors.New("503")
			}),
		})
		if _, err := c.Compact(ctx, view(t, r), quarter, goal); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		for range 4 {
			run(t, c, r, goal)
		}
		want := []string{compact.SummarySkipped, compact.SummaryFailed, compact.SummaryFailed, compact.SummarySkipped, compact.SummarySkipped}
		if asked != 3 || !slices.Equal(outcomes, want) {
			t.Errorf("asked %d times: %v; want %v", asked, outcomes, want)
		}
	})
}
