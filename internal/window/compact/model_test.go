package compact_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/wire"
)

// writer is a Summarizer out of a function.
type writer func(ctx context.Context, a compact.Assignment) (compact.Written, error)

func (w writer) Summarize(ctx context.Context, a compact.Assignment) (compact.Written, error) {
	return w(ctx, a)
}

func talk(n int) []step {
	steps := []step{{user: "The task: port the importer to the new schema."}}
	for i := range n {
		steps = append(steps, step{assistant: strings.Repeat("I think about the columns. ", 8), call: "bash", result: "ok"})
		if i == 3 {
			steps = append(steps, step{user: "<system-reminder>todo list is empty</system-reminder>Never rename column price_eur_7."})
		}
	}
	return append(steps, step{user: "Go on."})
}

const good = "Decisions: the importer writes into stage_2 first. Files: pkg/import/run.go. Next step: run the tests again."

func TestAModelSummarises(t *testing.T) {
	for _, d := range dialects {
		var got compact.Assignment
		calls := 0
		c := compact.New(compact.Options{Style: compact.Model, Summarizer: writer(func(_ context.Context, a compact.Assignment) (compact.Written, error) {
			got = a
			calls++
			return compact.Written{Text: good, In: 3000, Out: 60}, nil
		})})
		r := parse(t, d, body(d, talk(150)))
		res := run(t, c, r, compact.Goal{Target: 3000, Limit: 6000})
		b := string(res.Request.Body)
		if !slices.Equal(res.Rungs, []string{"model"}) || calls != 1 || !strings.Contains(b, good) || res.SummaryIn != 3000 || res.SummaryOut != 60 || res.SummaryError != nil {
			t.Errorf("%s: %+v, %d calls", d, res.Rungs, calls)
		}
		if !strings.Contains(b, "Never rename column price_eur_7.") {
			t.Errorf("%s: the user's own words are not quoted", d)
		}
		if strings.Contains(got.Transcript, "todo list") || !strings.Contains(got.Transcript, "USER: Never rename") || got.MaxTokens <= 0 || !strings.Contains(got.Instructions, "Next step") {
			t.Errorf("%s: %+v", d, got)
		}
		if spent, _ := c.Spent(); spent != 3060 {
			t.Errorf("%s: %d tokens spent", d, spent)
		}
		goal := compact.Goal{Target: 3000, Limit: 6000, NoModel: true}
		if res := run(t, c, r, goal); !slices.Equal(res.Rungs, []string{"extract"}) || calls != 1 {
			t.Errorf("%s: asked though there was no time: %v", d, res.Rungs)
		}
	}
}

func TestWhatIsNoSummaryIsNotUsed(t *testing.T) {
	r := parse(t, wire.Messages, body(wire.Messages, talk(150)))
	for name, a := range map[string]struct {
		text string
		err  error
	}{
		"error":      {"a perfectly fine text beside an error", errors.New("503 from the provider")},
		"empty":      {"", nil},
		"white":      {"  \n\t \n", nil},
		"dots":       {"...", nil},
		"refusal":    {"I'm sorry, but I can't help with summarising this conversation.", nil},
		"refusal 2":  {"**I cannot** do this, it contains private matters of a person.", nil},
		"JSON error": {`{"error":{"message":"Rate limit reached","type":"requests"}}`, nil},
		"HTML":       {"<html><head><title>502 Bad Gateway</title></head></html>", nil},
		"words":      {"Error: prompt is too long: 210000 tokens > 200000 maximum", nil},
		"overloaded": {"Overloaded: please try again in a few seconds, thank you.", nil},
		"endless":    {strings.Repeat("and then the importer was ported again ", 20_000), nil},
	} {
		c := compact.New(compact.Options{Style: compact.Model, Summarizer: writer(func(context.Context, compact.Assignment) (compact.Written, error) {
			return compact.Written{Text: a.text, In: 100, Out: 5}, a.err
		})})
		res := run(t, c, r, compact.Goal{Target: 3000, Limit: 6000})
		if !slices.Equal(res.Rungs, []string{"extract"}) || res.SummaryError == nil || res.SummaryIn != 100 {
			t.Errorf("%s: %v, %v, cost %d", name, res.Rungs, res.SummaryError, res.SummaryIn)
		}
		if text := strings.TrimSpace(a.text); len(text) > 8 && strings.Contains(string(res.Request.Body), strings.Trim(marshal(text), `"`)[:8]) {
			t.Errorf("%s: its text is in the request", name)
		}
	}
}

func TestTheDeadlineAndTheBudgetOfModelSummaries(t *testing.T) {
	r := parse(t, wire.Chat, body(wire.Chat, talk(150)))
	synctest.Test(t, func(t *testing.T) {
		c := compact.New(compact.Options{Style: compact.Model, Summarizer: writer(func(ctx context.Context, _ compact.Assignment) (compact.Written, error) {
			<-ctx.Done()
			return compact.Written{}, ctx.Err()
		})})
		start := time.Now()
		res := run(t, c, r, compact.Goal{Target: 3000, Limit: 6000})
		if took := time.Since(start); took != compact.DefaultSummaryTimeout || !errors.Is(res.SummaryError, context.DeadlineExceeded) || !slices.Equal(res.Rungs, []string{"extract"}) {
			t.Errorf("after %v: %v, %v", took, res.Rungs, res.SummaryError)
		}
		time.Sleep(time.Hour) // it is left alone before
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if res, err := c.Compact(ctx, view(t, r), quarter, compact.Goal{Target: 3000}); !errors.Is(err, context.DeadlineExceeded) || res.Changed() {
			t.Errorf("the caller's deadline: %v", err)
		}
	})
	var mu sync.Mutex
	calls := 0
	c := compact.New(compact.Options{Style: compact.Model, SummaryBudget: 40_000, Summarizer: writer(func(context.Context, compact.Assignment) (compact.Written, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return compact.Written{Text: good, In: 9000, Out: 500}, nil
	})})
	var last compact.Result
	for range 8 {
		last = run(t, c, r, compact.Goal{Target: 3000, Limit: 6000})
	}
	if spent, budget := c.Spent(); calls < 2 || calls == 8 || spent > budget || !slices.Equal(last.Rungs, []string{"extract"}) || last.SummaryError == nil {
		t.Errorf("%d calls, %d of %d tokens, %v, %v", calls, spent, budget, last.Rungs, last.SummaryError)
	}
}

func TestStylesHaveNames(t *testing.T) {
	for _, s := range []compact.Style{compact.Extractive, compact.Model, compact.Off} {
		if got, ok := compact.ParseStyle(s.String()); !ok || got != s {
			t.Errorf("%v becomes %v, %v", s, got, ok)
		}
	}
	if got, ok := compact.ParseStyle("extrative"); ok {
		t.Errorf("a typing error is %v", got)
	}
}
