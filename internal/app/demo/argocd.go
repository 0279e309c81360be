package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/limit"
)

// argocdScripts are the scenes of the agent for Argo CD.
var argocdScripts = []script{
	{
		"list", "list all applications", "", "a list of 819 applications in one answer killed the agent this was made for",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			before := s.sent.Load()
			t, err := s.askQuestion(ctx, out)
			if err != nil {
				return "", err
			}
			s.answers["list"] = t.answer()
			if s.sim != nil && !strings.Contains(t.answer(), "819") {
				return "", errors.New("the answer does not say that there are 819")
			}
			called, _ := s.waitForEvent(ctx, journalWait, func(e heardEvent) bool { return e.Kind == "tools.called" })
			note := fmt.Sprintf("the model got %s of it, with counts over all", limit.Bytes(called.Event.Delivered).Human())
			if s.sim != nil {
				note = fmt.Sprintf("Argo CD sent %s, ", limit.Bytes(s.sent.Load()-before).Human()) + note
			}
			return note, nil
		},
	},
	{
		"search", "search for applications with prod", "", "agents read whole lists to find a word",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			t, err := s.askQuestion(ctx, out)
			if err != nil {
				return "", err
			}
			s.answers["search"] = t.answer()
			e, ok := s.waitForEvent(ctx, journalWait, func(e heardEvent) bool { return e.Kind == "agent.called" })
			if !ok || !strings.Contains(e.Event.Tool, "search") && s.stand != nil {
				return "", fmt.Errorf("it was answered with %q and not with a search", e.Event.Tool)
			}
			return "one search over every kind of object, exact and in pages", nil
		},
	},
	{
		"page", "page 2", "", "the rest of a list that was cut is gone",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			t, err := s.askQuestion(ctx, out)
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
		"orphan", "call the tool hang", "", "a call without a result makes the provider refuse every further request",
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
			if _, ok := s.waitForEvent(ctx, journalWait, func(e heardEvent) bool { return e.Kind == "agent.query_ended" }); !ok {
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
		"loop", "loop", "", "a model that repeats itself spends money until somebody looks",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			t, err := s.client.ask(ctx, "", out.Question, nil)
			if err != nil {
				return "", err
			}
			out.Outcome = t.outcome
			e, ok := s.waitForEvent(ctx, journalWait, func(e heardEvent) bool { return e.Kind == "agent.loop" && e.Event.Ended })
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
		"disconnect", "list all applications", "", "a client that goes away blocks the queue, or ends the work",
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
			t, later, err := s.client.resubscribe(ctx, gone.task)
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
}
