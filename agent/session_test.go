package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/agent"
)

// waiting is a model that answers when it is let.
type waiting struct {
	*scriptedModel
	asked chan string
	let   chan struct{}
}

func newWaiting(t testing.TB) *waiting {
	w := &waiting{asked: make(chan string, 100), let: make(chan struct{})}
	w.scriptedModel = newScriptedModel(t, func(_ int, r *agent.Request, _ func(string)) (*agent.Reply, error) {
		w.asked <- r.Messages[len(r.Messages)-1].Text
		<-w.let
		return says("yes: " + r.Messages[len(r.Messages)-1].Text)
	})
	return w
}

// counted is a store that counts how often its conversations are read.
type counted struct {
	*fakeStore
	read atomic.Int64
}

type countedConversation struct {
	agent.Conversation
	of *counted
}

func (s *counted) Open(ctx context.Context, session string, existing bool) (agent.Conversation, error) {
	c, err := s.fakeStore.Open(ctx, session, existing)
	return countedConversation{c, s}, err
}

func (c countedConversation) Messages() []agent.Message {
	c.of.read.Add(1)
	return c.Conversation.Messages()
}

func TestAConversationIsReadOnceAQuestion(t *testing.T) {
	t.Parallel()
	store := &counted{fakeStore: newFakeStore()}
	model := newScriptedModel(t, func(n int, _ *agent.Request, _ func(string)) (*agent.Reply, error) {
		reply, err := says("yes")
		reply.Usage = agent.Usage{Input: 10 * (n + 1), Output: 3 + n}
		return reply, err
	})
	a := start(t, agent.Options{Model: model, Conversations: store})
	for n := range int64(2) {
		if got := ask(t, a, agent.Query{Session: "s"}); store.read.Load() != n+1 || got.Last != got.Usage {
			t.Errorf("question %d: read %d times; %+v", n, store.read.Load(), got)
		}
	}
}

func TestOneSessionOneQuery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, events := newWaiting(t), &log{}
		a := start(t, agent.Options{Model: model})
		var runs []*agent.Run
		for i := range 5 {
			run, err := a.Start(t.Context(), agent.Query{Text: fmt.Sprintf("question %d", i), Session: "s", Events: events.add})
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run)
			synctest.Wait()
		}
		if _, err := a.Start(t.Context(), agent.Query{Text: "one more", Session: "s"}); !errors.Is(err, agent.ErrBusy) || !strings.Contains(err.Error(), "wait for session") {
			t.Errorf("the sixth of a session: %v", err)
		}
		other, err := a.Start(t.Context(), agent.Query{Text: "elsewhere", Session: "t"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := a.Stats(); s.Running != 2 || s.Waiting != 4 || len(events.of(agent.EventQueued)) != 4 {
			t.Errorf("with six queries: %+v, and %d were told to wait", s, len(events.of(agent.EventQueued)))
		}
		runs[2].Cancel(errors.New("the user has gone"))
		if got := runs[2].Wait(); got.Outcome != agent.Cancelled || got.Detail != "the user has gone" || got.Steps != 0 {
			t.Errorf("one that waited and was cancelled: %+v", got)
		}
		close(model.let)
		for i, run := range runs {
			if got := run.Wait(); i != 2 && got.Answer != fmt.Sprintf("yes: question %d", i) {
				t.Errorf("query %d: %+v", i, got)
			}
		}
		other.Wait()
		synctest.Wait()
		var order []string
		for range len(model.asked) {
			if text := <-model.asked; text != "elsewhere" {
				order = append(order, text)
			}
		}
		if text := strings.Join(order, ","); text != "question 0,question 1,question 3,question 4" {
			t.Errorf("they ran as %s", text)
		}
		if a.Queues() != 0 {
			t.Errorf("%d sessions have a line still", a.Queues())
		}
		seen := model.seen()
		if last := seen[len(seen)-1].Messages; roles(last) != "uauauau" {
			t.Errorf("the last one saw %s", roles(last))
		}
	})
}

func TestTooManyQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := newWaiting(t)
		a := start(t, agent.Options{Model: model, Limits: agent.Limits{MaxQueries: 3}})
		for i := range 3 {
			if _, err := a.Start(t.Context(), agent.Query{Text: "q", Session: []string{"", "s", "t"}[i]}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Start(t.Context(), agent.Query{Text: "q"}); !errors.Is(err, agent.ErrBusy) || !strings.Contains(err.Error(), "max_queries") {
			t.Errorf("the fourth: %v", err)
		}
		close(model.let)
		synctest.Wait()
		ask(t, a, agent.Query{})
	})
}

func TestQuestionsThatAreNone(t *testing.T) {
	t.Parallel()
	a := start(t, agent.Options{Model: newScriptedModel(t, replies(say("hi"))), Limits: agent.Limits{MaxQuestion: 100}})
	for name, c := range map[string]struct {
		q    agent.Query
		want error
	}{
		"empty":                 {agent.Query{}, agent.ErrQuestion},
		"blank":                 {agent.Query{Text: " \n\t"}, agent.ErrQuestion},
		"too large":             {agent.Query{Text: strings.Repeat("x", 101)}, agent.ErrQuestion},
		"a name without end":    {agent.Query{Text: "q", Session: strings.Repeat("x", 257)}, agent.ErrQuestion},
		"a name that is none":   {agent.Query{Text: "q", Session: "\xff"}, agent.ErrQuestion},
		"no such session":       {agent.Query{Text: "q", Session: "s", Existing: true}, agent.ErrNoSession},
		"existing, but no name": {agent.Query{Text: "q", Existing: true}, agent.ErrNoSession},
	} {
		if run, err := a.Start(t.Context(), c.q); !errors.Is(err, c.want) || run != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := a.Stats(); s.Queries != 0 || s.Running != 0 || a.Queues() != 0 {
		t.Errorf("of these are left: %+v", s)
	}
	if got := ask(t, a, agent.Query{Text: "broken \xff text", Session: "../../etc/passwd"}); got.Outcome != agent.Completed {
		t.Errorf("ended with %+v", got)
	}
}

func TestCloseEndsAllQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shelf := newFakeStore()
		tools := toolFuncs{"never": func(ctx context.Context, _ agent.Call, _ func(string)) (agent.Output, error) {
			<-ctx.Done()
			return agent.Output{}, ctx.Err()
		}}
		a := start(t, agent.Options{Model: newScriptedModel(t, replies(call("never", "{}"))), Tools: tools, Conversations: shelf})
		var runs []*agent.Run
		for i := range 6 {
			run, err := a.Start(t.Context(), agent.Query{Text: "q", Session: fmt.Sprint(i / 2)})
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run)
		}
		synctest.Wait()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		for i, run := range runs {
			select {
			case <-run.Done():
			default:
				t.Fatalf("query %d still runs", i)
			}
			if got := run.Wait(); got.Outcome != agent.Cancelled || !errors.Is(got.Err, agent.ErrClosed) {
				t.Errorf("query %d: %+v", i, got)
			}
		}
		for i := range 3 {
			paired(t, shelf.get(fmt.Sprint(i)))
		}
		if _, err := a.Start(t.Context(), agent.Query{Text: "q"}); !errors.Is(err, agent.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// Many queries at once, over fewer sessions, with tools: each gets its own answer.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 50} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			model := newScriptedModel(t, func(_ int, r *agent.Request, text func(string)) (*agent.Reply, error) {
				last := r.Messages[len(r.Messages)-1]
				if last.Role == agent.RoleUser {
					return calls("echo", fmt.Sprintf(`{"q":%q}`, last.Text), "echo", `{}`)
				}
				words := r.Messages[len(r.Messages)-2].Text
				text(words)
				return says(words)
			})
			shelf := newFakeStore()
			a := start(t, agent.Options{Model: model, Tools: toolFuncs{"echo": echo}, Conversations: shelf})
			var wg sync.WaitGroup
			var wrong atomic.Int64
			for i := range n {
				wg.Go(func() {
					for turn := range 4 {
						text := fmt.Sprintf("query %d turn %d", i, turn)
						got, err := a.Ask(t.Context(), agent.Query{Text: text, Session: fmt.Sprint("session ", i%(n/2+1))})
						if err != nil || got.Answer != fmt.Sprintf(`{"q":%q}`, text) {
							wrong.Add(1)
							t.Errorf("%s: %+v, %v", text, got, err)
							return
						}
					}
				})
			}
			wg.Wait()
			if s := a.Stats(); s.Queries != int64(4*n) || s.Outcomes[agent.Completed] != int64(4*n) || s.Calls != int64(8*n) || a.MemoryUsage().Total != 0 {
				t.Errorf("%+v", s)
			}
			for session := range shelf.sessions {
				paired(t, shelf.get(session))
			}
		})
	}
}

// What is kept in memory is bounded, in sessions and bytes, and the newest stay.
func TestConversationsInMemory(t *testing.T) { // not beside others, which have a heap too
	a := start(t, agent.Options{Model: newScriptedModel(t, replies(say("hi")))})
	for i := range agent.MemorySessions + 10 {
		ask(t, a, agent.Query{Session: fmt.Sprint(i)})
	}
	if _, err := a.Start(t.Context(), agent.Query{Text: "q", Session: "0", Existing: true}); !errors.Is(err, agent.ErrNoSession) {
		t.Errorf("the oldest session: %v", err)
	}
	ask(t, a, agent.Query{Session: "70", Existing: true})

	model := newScriptedModel(t, replies(say("hi")))
	model.loose, model.info.Window = true, 2_000_000
	b := start(t, agent.Options{Model: model})
	before := live()
	for i := range 60 {
		if got := ask(t, b, agent.Query{Session: fmt.Sprint(i), Text: strings.Repeat("x", 1<<20)}); got.Outcome != agent.Completed {
			t.Fatalf("ended with %+v", got)
		}
	}
	if grown := live() - before; grown > int64(agent.MemoryBytes)+8<<20 {
		t.Errorf("60 conversations of 1 MiB took %d bytes", grown)
	}
}

func TestADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := newScriptedModel(t, func(_ int, _ *agent.Request, text func(string)) (*agent.Reply, error) {
			text("as far as I ")
			time.Sleep(time.Hour)
			return nil, errors.New("no")
		})
		shelf := newFakeStore()
		a := start(t, agent.Options{Model: model, Conversations: shelf})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := a.Ask(ctx, agent.Query{Text: "q", Session: "s"})
		if err != nil || got.Outcome != agent.Cancelled || !errors.Is(got.Err, context.DeadlineExceeded) || !strings.Contains(got.Detail, "time") {
			t.Errorf("%+v, %v", got, err)
		}
		if kept := shelf.get("s"); got.Answer != "as far as I " || roles(kept) != "ua" || !strings.HasPrefix(kept[1].Text, got.Answer) {
			t.Errorf("of the answer %q is left, and kept are %+v", got.Answer, kept)
		}
		time.Sleep(time.Hour)
	})
}

// panicking is a store whose Open panics.
type panicking struct{}

func (panicking) Open(context.Context, string, bool) (agent.Conversation, error) {
	panic("a bug in the store")
}

func TestAStoreThatPanicsBlocksNobody(t *testing.T) {
	model := newScriptedModel(t, func(int, *agent.Request, func(string)) (*agent.Reply, error) { return says("never") })
	a, err := agent.New(agent.Options{Model: model, Conversations: panicking{}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // the session is free each time
		if _, err := a.Ask(t.Context(), agent.Query{Text: "hello", Session: "s"}); err == nil || !strings.Contains(err.Error(), "panicked") {
			t.Fatalf("the error is %v", err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}
