package agent

import (
	"errors"
	"fmt"
	"testing"
)

func TestFitLearnsFromARefusal(t *testing.T) {
	t.Parallel()
	history := func() []Message {
		ms := []Message{userSays("go")}
		for i := range 20 {
			id := fmt.Sprint("c", i)
			ms = append(ms, modelCalls(id), toolSays(id, fitWords(900, uint64(i))))
		}
		return ms
	}
	t.Run("named", func(t *testing.T) {
		t.Parallel()
		f := newFitter(fitModel(0), Limits{}, nil)
		ms := history()
		if _, did := mustFit(t, f, "", ms); did.Changed {
			t.Fatalf("128,000 tokens are enough for this: %+v", did)
		}
		f.shrinkAfterRefusal(8192)
		if _, did := mustFit(t, f, "", ms); did.Limit > 8192 || !did.Changed {
			t.Errorf("after 8,192 were named: %+v", did)
		}
		// Other queries know it too.
		if _, did := mustFit(t, f.query(nil), "", history()[:3]); did.Limit > 8192 {
			t.Errorf("another query has room for %d", did.Limit)
		}
	})
	for name, limit := range map[string]int{"not named": 0, "named, but no smaller than what fitted": 1 << 20, "named by a bug": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFitter(fitModel(0), Limits{}, nil)
			ms := history()
			last := 1 << 30
			for range 3 {
				_, did := mustFit(t, f, "", ms)
				if did.Tokens >= last {
					t.Fatalf("%d tokens after %d were refused", did.Tokens, last)
				}
				last = did.Tokens
				f.shrinkAfterRefusal(limit)
			}
		})
	}
	t.Run("until nothing is left", func(t *testing.T) {
		t.Parallel()
		f := newFitter(fitModel(0), Limits{}, nil)
		for range 100 {
			_, _, err := f.fit(t.Context(), "", []Message{userSays(fitWords(3000, 1))}, nil, 0)
			if _, ok := errors.AsType[*TooLargeError](err); ok {
				return
			}
			f.shrinkAfterRefusal(0)
		}
		t.Error("a request that is refused again and again never is too large")
	})
}

func TestFitCountsAsTheProviderDoes(t *testing.T) {
	t.Parallel()
	f := newFitter(fitClaude(0), Limits{}, nil)
	ms := []Message{userSays("go"), modelCalls("a"), toolSays("a", fitWords(3000, 1))}
	_, did := mustFit(t, f, "", ms)
	f.report(Usage{Input: did.Tokens * 3 / 2})
	ms = append(ms, modelSays("done"), userSays("and now?"))
	_, next := mustFit(t, f, "", ms)
	if want := did.Tokens * 3 / 2; next.Tokens < want || next.Tokens > want+200 {
		t.Errorf("after a report of %d it counts %d", want, next.Tokens)
	}
	f.report(Usage{}) // none
	if _, again := mustFit(t, f, "", ms); again.Tokens != next.Tokens {
		t.Errorf("after no report it counts %d, before %d", again.Tokens, next.Tokens)
	}
}

func TestFitNoticesAServerThatCutsSilently(t *testing.T) {
	t.Parallel()
	f := newFitter(ModelInfo{Provider: "openai", Name: "llama3.1:8b", URL: "http://127.0.0.1:11434/v1"}, Limits{}, nil)
	ms := []Message{userSays("go")}
	for i := range 10 {
		id := fmt.Sprint("c", i)
		ms = append(ms, modelCalls(id), toolSays(id, fitWords(2000, uint64(i))))
	}
	_, before := mustFit(t, f, "", ms)
	if before.Changed {
		t.Fatalf("nothing is known of the window yet: %+v", before)
	}
	f.report(Usage{Input: 4096})
	if _, did := mustFit(t, f, "", ms); did.Limit > 4096 || !did.Changed {
		t.Errorf("after a report of 4,096: %+v", did)
	}
}
