package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/journal"
)

func TestOnlyWhatPassesIsTriedAgain(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration) func(*agent.ModelError) { return func(e *agent.ModelError) { e.After = d } }
	for name, c := range map[string]struct {
		list        []func() (*agent.Reply, error)
		want        agent.Outcome
		requests    int
		least, most time.Duration
		failure     agent.Failure
	}{
		"unreachable, then fine":  {[]func() (*agent.Reply, error){fails(agent.Unreachable), say("ok")}, agent.Completed, 2, 500 * time.Millisecond, time.Second, ""},
		"busy to the end":         {[]func() (*agent.Reply, error){fails(agent.Busy)}, agent.ModelFailed, 4, 3500 * time.Millisecond, 7 * time.Second, agent.Busy},
		"asked to wait":           {[]func() (*agent.Reply, error){fails(agent.Busy, after(42*time.Second)), say("ok")}, agent.Completed, 2, 42 * time.Second, 42 * time.Second, ""},
		"asked to wait very long": {[]func() (*agent.Reply, error){fails(agent.Busy, after(24*time.Hour)), say("ok")}, agent.Completed, 2, time.Minute, time.Minute, ""},
		"wrong key":               {[]func() (*agent.Reply, error){fails(agent.Key), say("ok")}, agent.ModelFailed, 1, 0, 0, agent.Key},
		"no such model":           {[]func() (*agent.Reply, error){fails(agent.NoModel), say("ok")}, agent.ModelFailed, 1, 0, 0, agent.NoModel},
		"refused":                 {[]func() (*agent.Reply, error){fails(agent.Refused), say("ok")}, agent.ModelFailed, 1, 0, 0, agent.Refused},
		"a web page":              {[]func() (*agent.Reply, error){fails(agent.NotAnAPI), say("ok")}, agent.ModelFailed, 1, 0, 0, agent.NotAnAPI},
		"too large":               {[]func() (*agent.Reply, error){fails(agent.Oversized), say("ok")}, agent.ModelFailed, 1, 0, 0, agent.Oversized},
		"empty once":              {[]func() (*agent.Reply, error){say(" \n"), say("ok")}, agent.Completed, 2, 500 * time.Millisecond, time.Second, ""},
		"empty twice":             {[]func() (*agent.Reply, error){say("")}, agent.ModelFailed, 2, 500 * time.Millisecond, time.Second, agent.Broken},
		"no kind":                 {[]func() (*agent.Reply, error){func() (*agent.Reply, error) { return nil, errors.New("who knows") }}, agent.ModelFailed, 1, 0, 0, agent.Internal},
		"panic":                   {[]func() (*agent.Reply, error){func() (*agent.Reply, error) { panic("in the adapter") }}, agent.ModelFailed, 1, 0, 0, agent.Internal},
		"nothing":                 {[]func() (*agent.Reply, error){func() (*agent.Reply, error) { return nil, nil }}, agent.ModelFailed, 2, 500 * time.Millisecond, time.Second, agent.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				model, events, shelf := newScriptedModel(t, replies(c.list...)), &log{}, newFakeStore()
				j := journal.New(journal.Options{})
				a := start(t, agent.Options{Model: model, Journal: j, Conversations: shelf})
				began := time.Now()
				got := ask(t, a, agent.Query{Session: "s", Events: events.add})
				took := time.Since(began)
				if got.Outcome != c.want || len(model.seen()) != c.requests || took < c.least || took > c.most || got.Steps != 1 {
					t.Errorf("%d requests in %v ended with %+v", len(model.seen()), took, got)
				}
				if n := len(events.of(agent.EventRetry)); n != c.requests-1 || int(j.Counts()["agent.retry"]) != n {
					t.Errorf("%d tries again were told, and %d written", n, j.Counts()["agent.retry"])
				}
				var e *agent.ModelError
				if c.failure != "" && (!errors.As(got.Err, &e) || e.Failure != c.failure || e.Tries != c.requests || got.Detail != e.Error()) {
					t.Errorf("the error is %v, %q", got.Err, got.Detail)
				}
				if got.Outcome == agent.ModelFailed && roles(shelf.get("s")) != "u" {
					t.Errorf("kept are %s", roles(shelf.get("s")))
				}
			})
		})
	}
}

// What was streamed of an answer that broke off is taken back.
func TestABrokenAnswerIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := &log{}
		model := newScriptedModel(t, func(n int, _ *agent.Request, text func(string)) (*agent.Reply, error) {
			if n == 0 {
				text("the wrong ")
				return nil, &agent.ModelError{Failure: agent.Broken}
			}
			text("the right one")
			return says("the right one")
		})
		got := ask(t, start(t, agent.Options{Model: model}), agent.Query{Events: events.add})
		var kinds []string
		for _, e := range events.events {
			kinds = append(kinds, string(e.Kind))
		}
		if text := strings.Join(kinds, " "); got.Answer != "the right one" || text != "step text discarded retry text" {
			t.Errorf("%q, and %q was answered", text, got.Answer)
		}
	})
}

func TestAModelThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, heeds := range map[string]bool{"heeds its context": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				free := make(chan struct{})
				model := &silent{free: free, heeds: heeds}
				a := start(t, agent.Options{Model: model, Limits: agent.Limits{ModelTimeout: time.Minute, MaxTries: 2}})
				got := ask(t, a, agent.Query{})
				var e *agent.ModelError
				if got.Outcome != agent.ModelFailed || !errors.As(got.Err, &e) || e.Failure != agent.Unreachable || !strings.Contains(got.Detail, "1m0s") {
					t.Errorf("ended with %+v", got)
				}
				want := int64(2)
				if heeds {
					want = 0
				}
				if s := a.Stats(); s.Leaked != want {
					t.Errorf("%d requests still run, not %d", s.Leaked, want)
				}
				close(free)
				synctest.Wait()
				if s := a.Stats(); s.Leaked != 0 {
					t.Errorf("%d requests still run", s.Leaked)
				}
			})
		})
	}
}

type silent struct {
	free  chan struct{}
	heeds bool
}

func (s *silent) Info() agent.ModelInfo { return agent.ModelInfo{Name: "silent", Window: 100_000} }

func (s *silent) Generate(ctx context.Context, _ *agent.Request, text func(string)) (*agent.Reply, error) {
	if s.heeds {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	<-s.free
	text("too late")
	return says("too late")
}

// The window is smaller than was thought: the request is made smaller, and smaller again.
func TestTooLong(t *testing.T) {
	t.Parallel()
	tooLong := fails(agent.TooLong, func(e *agent.ModelError) { e.Text = "too long" })
	history := func() []agent.Message {
		var ms []agent.Message
		for i := range 15 {
			ms = append(
				ms, agent.Message{Role: agent.RoleUser, Text: fmt.Sprintf("question %d", i)},
				agent.Message{Role: agent.RoleAssistant, Text: strings.Repeat("some words of an answer. ", 400)},
			)
		}
		return ms
	}
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		shelf, events := newFakeStore(), &log{}
		shelf.sessions["s"] = history()
		model := newScriptedModel(t, replies(tooLong, say("fits now")))
		j := journal.New(journal.Options{})
		got := ask(t, start(t, agent.Options{Model: model, Conversations: shelf, Journal: j}), agent.Query{Session: "s", Events: events.add})
		if got.Outcome != agent.Completed || got.Answer != "fits now" || got.Steps != 1 {
			t.Errorf("ended with %+v", got)
		}
		seen := model.seen()
		if agent.SizeOf(seen[1].Messages) >= agent.SizeOf(seen[0].Messages) {
			t.Errorf("the second request is no smaller: %d and %d bytes", agent.SizeOf(seen[0].Messages), agent.SizeOf(seen[1].Messages))
		}
		if len(events.of(agent.EventRetry)) != 0 || len(events.of(agent.EventRoom)) == 0 {
			t.Errorf("told were %+v", events.events)
		}
		var requests []journal.AgentRequest
		var rooms []journal.AgentRoom
		for r := range j.Since(0) {
			switch e := r.Event.(type) {
			case journal.AgentRequest:
				requests = append(requests, e)
			case journal.AgentRoom:
				rooms = append(rooms, e)
			}
		}
		if len(requests) != 2 || requests[1].Tokens >= requests[0].Tokens || requests[0].LimitTokens == 0 || requests[0].Messages != len(seen[0].Messages) || requests[0].Model == "" {
			t.Errorf("the requests are told as %+v", requests)
		}
		if len(rooms) != 1 || rooms[0].Why != "overflow" || len(rooms[0].Rungs) == 0 || rooms[0].BeforeTokens <= rooms[0].Tokens || rooms[0].Tokens != requests[1].Tokens || rooms[0].CutBytes <= 0 {
			t.Errorf("the room is told as %+v", rooms)
		}
		if kept := agent.SizeOf(shelf.get("s")); kept > agent.SizeOf(seen[0].Messages) {
			t.Errorf("%d bytes are kept: what was left out is still there", kept)
		}
	})
	t.Run("always", func(t *testing.T) {
		t.Parallel()
		shelf := newFakeStore()
		shelf.sessions["s"] = history()
		model := newScriptedModel(t, replies(tooLong))
		got := ask(t, start(t, agent.Options{Model: model, Conversations: shelf}), agent.Query{Session: "s"})
		if got.Outcome != agent.ContextExceeded || got.Err == nil || got.Detail == "" || len(model.seen()) > 4 {
			t.Errorf("after %d requests: %+v", len(model.seen()), got)
		}
	})
	t.Run("a question larger than the window", func(t *testing.T) {
		t.Parallel()
		model := newScriptedModel(t, replies(say("hi")))
		model.info.Window = 4096
		got := ask(t, start(t, agent.Options{Model: model}), agent.Query{Text: strings.Repeat("many words ", 10_000)})
		if got.Outcome != agent.ContextExceeded || len(model.seen()) != 0 || !strings.Contains(got.Detail, "user") {
			t.Errorf("after %d requests: %+v", len(model.seen()), got)
		}
	})
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for range 200 {
		for tries, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 6: 30 * time.Second, 1000: 30 * time.Second} {
			if wait := agent.Backoff(tries, 0); wait < most/2 || wait > most {
				t.Fatalf("after %d tries it waits %v", tries, wait)
			}
		}
	}
}

func TestErrorsOfModels(t *testing.T) {
	t.Parallel()
	e := &agent.ModelError{Model: agent.ModelInfo{Name: "m", URL: "http://x/v1"}, Failure: agent.Key, Status: 401, Text: "no such key", Tries: 1}
	if text := e.Error(); text != "m at http://x/v1: key (HTTP 401): no such key; check the key: that it is this provider's, has not expired, and may use this model" {
		t.Error(text)
	}
	e = &agent.ModelError{Model: agent.ModelInfo{Name: "m"}, Failure: agent.TooLong, Limit: 10, Actual: 20, Tries: 3}
	if text := e.Error(); !strings.HasPrefix(text, "m: too-long: 20 tokens, and 10 is the most, in 3 tries; ") {
		t.Error(text)
	}
}

// A conversation whose reasoning the provider does not take (another model's, another account's) goes on without it, also in the store.
func TestRefusedReasoningIsForgotten(t *testing.T) {
	model := newScriptedModel(t, func(_ int, r *agent.Request, _ func(string)) (*agent.Reply, error) {
		for _, m := range r.Messages {
			if len(m.Opaque) > 0 {
				return nil, &agent.ModelError{Failure: agent.Refused, Status: 400, Text: "messages.1.content.0: Invalid `signature` in `thinking` block"}
			}
		}
		return says("fine")
	})
	s := newFakeStore()
	s.sessions["x"] = []agent.Message{
		{Role: agent.RoleUser, Text: "a"},
		{Role: agent.RoleAssistant, Text: "b", Opaque: json.RawMessage(`{"model":"m","blocks":[{"raw":{"type":"thinking","thinking":"deep","signature":"c2ln"}},{"text":1}]}`)},
	}
	a := start(t, agent.Options{Model: model, Conversations: s})
	for range 2 {
		if got := ask(t, a, agent.Query{Session: "x", Text: "go on"}); got.Outcome != agent.Completed {
			t.Errorf("%s: %s", got.Outcome, got.Detail)
		}
	}
	if n := len(model.seen()); n != 3 {
		t.Errorf("%d requests, want one more than questions", n)
	}
}
