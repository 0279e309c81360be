package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/limit"
)

// script is one thing that agents die of, and what keeps this one from it.
type script struct {
	name, question string
	// danger describes the usual outcome.
	danger string
	// play plays it. note is the result; an error reports that it was not as it should be.
	play func(ctx context.Context, s *stage, out *Scene) (note string, err error)
}

// journalWait bounds the time that an event of the agent's journal takes to get here.
const journalWait = 10 * time.Second

// rememberedWord is the word that the last scene says and finds again.
const rememberedWord = "heronwing"

var scripts = []script{
	{
		"list", "list all applications", "a list of 819 applications in one answer killed the agent this was made for",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			before := s.sent.Load()
			t, err := s.tell(ctx, out)
			if err != nil {
				return "", err
			}
			s.answers["list"] = t.answer()
			if s.sim != nil && !strings.Contains(t.answer(), "819") {
				return "", errors.New("the answer does not say that there are 819")
			}
			called, _ := s.wait(ctx, journalWait, func(e heardEvent) bool { return e.Kind == "tools.called" })
			note := fmt.Sprintf("the model got %s of it, with counts over all", limit.Bytes(called.Event.Delivered).Human())
			if s.sim != nil {
				note = fmt.Sprintf("Argo CD sent %s, ", limit.Bytes(s.sent.Load()-before).Human()) + note
			}
			return note, nil
		},
	},
	{
		"search", "search for applications with prod", "agents read whole lists to find a word",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			t, err := s.tell(ctx, out)
			if err != nil {
				return "", err
			}
			s.answers["search"] = t.answer()
			e, ok := s.wait(ctx, journalWait, func(e heardEvent) bool { return e.Kind == "agent.called" })
			if !ok || !strings.Contains(e.Event.Tool, "search") && s.stand != nil {
				return "", fmt.Errorf("it was answered with %q and not with a search", e.Event.Tool)
			}
			return "one search over every kind of object, exact and in pages", nil
		},
	},
	{
		"page", "page 2", "the rest of a list that was cut is gone",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			t, err := s.tell(ctx, out)
			if err != nil {
				return "", err
			}
			if s.stand != nil && (!strings.Contains(t.answer(), "PAGE 2 of") || t.answer() == s.answers["search"]) {
				return "", errors.New("it is not the second page")
			}
			return "the next twenty, with the same counts over all", nil
		},
	},
	{
		"flood", "call the tool flood with 20000000 bytes", "a tool that answers with 20 MB fills the memory, then the window",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			if _, err := s.tell(ctx, out); err != nil {
				return "", err
			}
			if _, err := s.called(ctx, "flood"); err != nil {
				return "", err
			}
			e, ok := s.wait(ctx, journalWait, func(e heardEvent) bool { return e.Kind == "tools.called" && e.Event.Spilled })
			if !ok {
				return "", errors.New("the result did not go to disk")
			}
			return fmt.Sprintf("%s went to disk while they came; the model got %s, and tools to page and search the rest",
				limit.Bytes(e.Event.Upstream).Human(), limit.Bytes(e.Event.Delivered).Human()), nil
		},
	},
	{
		"orphan", "call the tool hang", "a call without a result makes the provider refuse every further request",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			t, err := s.client.ask(ctx, s.session(), out.Question, func(t *talk) bool {
				return strings.Contains(t.called, "hang")
			})
			if err != nil {
				return "", err
			}
			if !t.state.Terminal() {
				if err := s.client.cancel(ctx, t.task); err != nil {
					return "", fmt.Errorf("take the question back: %w", err)
				}
			}
			if _, ok := s.wait(ctx, journalWait, func(e heardEvent) bool { return e.Kind == "agent.query_ended" }); !ok {
				return "", errors.New("the question that was taken back did not end")
			}
			// The stand-in refuses an orphan as OpenAI does.
			next, err := s.client.ask(ctx, s.session(), "how many projects are there?", nil)
			if err != nil {
				return "", err
			}
			out.Outcome = string(next.state)
			if next.state != a2a.TaskStateCompleted {
				return "", fmt.Errorf("the next question of the same conversation was not answered: %s", next.status)
			}
			return "taken back in the middle: the call got a result, and the next question was answered", nil
		},
	},
	{
		"loop", "loop", "a model that repeats itself spends money until somebody looks",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			t, err := s.client.ask(ctx, "", out.Question, nil)
			if err != nil {
				return "", err
			}
			out.Outcome = t.outcome
			e, ok := s.wait(ctx, journalWait, func(e heardEvent) bool { return e.Kind == "agent.loop" && e.Event.Ended })
			if !ok {
				if s.stand == nil {
					return "this model did not repeat itself", nil
				}
				return "", errors.New("the loop was not noticed")
			}
			return fmt.Sprintf("noticed (%s), told so, then ended with the outcome %s", e.Event.Rule, or(t.outcome, "loop-detected")), nil
		},
	},
	{
		"hog", fmt.Sprintf("call the tool hog with %d mib", hogMiB), "a tool's child takes all memory, and the kernel ends the agent",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			if _, err := s.tell(ctx, out); err != nil {
				return "", err
			}
			e, err := s.called(ctx, "hog")
			if err != nil {
				return "", err
			}
			if !e.Event.Failed {
				return "", fmt.Errorf("a child could take %d MiB in a run of %s", hogMiB, memory.Human())
			}
			if err := s.alive(ctx); err != nil {
				return "", err
			}
			return fmt.Sprintf("the child wanted %d MiB in a run of %s and was ended; the agent went on and said so", hogMiB, memory.Human()), nil
		},
	},
	{
		"disconnect", "list all applications", "a client that goes away blocks the queue, or ends the work",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			gone, err := s.client.ask(ctx, "", out.Question, func(t *talk) bool { return t.pieces >= 2 })
			if err != nil {
				return "", err
			}
			seen := len(gone.answer())
			// While nobody listens the agent goes on, and keeps what there was to say.
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
				return "", ctx.Err()
			}
			t, later, err := s.client.follow(ctx, gone.task)
			if err != nil {
				return "", err
			}
			out.Outcome = string(t.state)
			if t.state != a2a.TaskStateCompleted {
				return "", fmt.Errorf("the task that lost its client ended as %s: %s", t.state, t.status)
			}
			if first := s.answers["list"]; s.stand != nil && first != "" && t.answer() != first {
				return "", fmt.Errorf("the answer has %d bytes, and had %d before: something was lost or doubled", len(t.answer()), len(first))
			}
			return fmt.Sprintf("gone after %d bytes; back with a snapshot and %d further events: all %d bytes, none lost or doubled", seen, later, len(t.answer())), nil
		},
	},
	{
		"memory", "call the tool search_memory with query \"" + rememberedWord + "\"", "what was cut from a conversation to make room is gone",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			// A word is said, and the conversation goes on until what was said first is cut from the window.
			first, err := s.client.ask(ctx, "", "The release word is "+rememberedWord+", list all projects", nil)
			if err != nil {
				return "", err
			}
			cut := func(e heardEvent) bool { return e.Kind == "agent.room" }
			for range 4 {
				if _, ok := s.wait(ctx, 0, cut); ok {
					break
				}
				if _, err := s.client.ask(ctx, first.session, "list all applications", nil); err != nil {
					return "", err
				}
			}
			if _, ok := s.wait(ctx, journalWait, cut); !ok && s.stand != nil {
				return "", errors.New("no room was made in the window")
			}
			// What is kept is written beside the conversation, a moment later.
			for range 20 {
				t, err := s.client.ask(ctx, first.session, out.Question, nil)
				if err != nil {
					return "", err
				}
				out.Outcome = string(t.state)
				if strings.Contains(t.answer(), "release word is "+rememberedWord) {
					return "cut from the window, kept on disk with its origin, and found by its words", nil
				}
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}
			return "", errors.New("what was cut was not found again")
		},
	},
}

// tell asks the scene's question in the demo's one conversation, and wants an answer.
func (s *stage) tell(ctx context.Context, out *Scene) (*talk, error) {
	t, err := s.client.ask(ctx, s.session(), out.Question, nil)
	if err != nil {
		return nil, err
	}
	out.Outcome = string(t.state)
	if t.outcome != "" {
		out.Outcome = t.outcome
	}
	s.answers["session"] = t.session
	if t.state != a2a.TaskStateCompleted {
		return nil, fmt.Errorf("the agent ended with %s: %s", t.state, or(t.status, t.outcome))
	}
	s.heard.tell(heardEvent{Kind: answerEvent + t.answer()})
	return t, nil
}

// answerEvent marks an answer among what the view is told.
const answerEvent = "answer:"

func (s *stage) session() string { return s.answers["session"] }

// alive asks whether the agent still takes requests.
func (s *stage) alive(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/healthz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("the agent is gone: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the agent answers with %s", answer.Status)
	}
	return nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
