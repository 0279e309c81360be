package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/fence"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// script is one thing that agents die of, and what keeps this one from it.
type script struct {
	name, question string
	// title tells what happens, in words; "" where the question says it.
	title string
	// danger describes the usual outcome.
	danger string
	// play plays it. note is the result; an error reports that it was not as it should be.
	play func(ctx context.Context, s *stage, out *Scene) (note string, err error)
}

// journalWait bounds the time that an event of the agent's journal takes to get here.
const journalWait = 10 * time.Second

// rememberedWord is said at the beginning of a long history, and looked for after it was cut.
const rememberedWord = "heronwing"

// scripts are the scenes of what any agent meets.
var scripts = []script{
	{
		"build", fmt.Sprintf("run the build with %d MiB for %d seconds", buildMiB, buildSeconds),
		"a build that takes all memory", "the kernel ends the agent, or the whole session",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			if _, err := s.askQuestion(ctx, out); err != nil {
				return "", err
			}
			e, err := s.waitForCall(ctx, "build")
			if err != nil {
				return "", err
			}
			if !e.Event.Failed {
				return "", fmt.Errorf("a build could take %d MiB in a run of %s", buildMiB, memory.Human())
			}
			if err := s.checkAlive(ctx); err != nil {
				return "", err
			}
			return fmt.Sprintf("the build wanted %s in a run of %s and was ended; the agent went on and said so", (buildMiB * limit.MiB).Human(), memory.Human()), nil
		},
	},
	{
		"history", "flood 30000 bytes of a log", "a history too long", "the model refuses every further request",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			// A word is said, and the conversation goes on until what was said first is cut from it.
			first, err := s.ask(ctx, "", `echo "The release word is `+rememberedWord+`"`)
			if err != nil {
				return "", err
			}
			cut := func(e heardEvent) bool { return e.Kind == "agent.room" }
			for range 8 {
				if _, ok := s.waitForEvent(ctx, 0, cut); ok {
					break
				}
				if _, err := s.ask(ctx, first.session, out.Question); err != nil {
					return "", err
				}
			}
			if _, ok := s.waitForEvent(ctx, journalWait, cut); !ok {
				if s.stand == nil {
					return "this model's window was not filled", nil
				}
				return "", errors.New("the conversation was not shortened")
			}
			return s.searchMemory(ctx, first.session, out)
		},
	},
	{
		"flood", "flood 20000000 bytes of a log", "a tool that answers with 20 MB", "it fills the memory, then the window",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			if _, err := s.askQuestion(ctx, out); err != nil {
				return "", err
			}
			if _, err := s.waitForCall(ctx, "flood"); err != nil {
				return "", err
			}
			e, ok := s.waitForEvent(ctx, journalWait, func(e heardEvent) bool { return e.Kind == "tools.called" && e.Event.Spilled })
			if !ok {
				return "", errors.New("the result did not go to disk")
			}
			return fmt.Sprintf("%s went to disk while they came; the model got %s, and tools to page and search the rest",
				limit.Bytes(e.Event.Upstream).Human(), limit.Bytes(e.Event.Delivered).Human()), nil
		},
	},
	{
		"spend", "echo step 1", "an agent that would spend for ever", "it does, until somebody looks at the bill",
		func(ctx context.Context, s *stage, out *Scene) (string, error) {
			if s.stand == nil {
				return "not played with a real model, which costs real money", nil
			}
			return s.spendAll(ctx, out)
		},
	},
}

// maxSteps bounds the steps that the spending agent makes: the limit is reached after about twenty.
const maxSteps = 400

// spendAll lets the agent go on in one conversation until its limit of money refuses it, raises that from outside, and lets it go on.
func (s *stage) spendAll(ctx context.Context, out *Scene) (string, error) {
	session, step := "", 1
	for ; ; step++ {
		t, err := s.client.ask(ctx, session, fmt.Sprintf("echo step %d", step), nil)
		if err != nil {
			return "", err
		}
		if t.state != a2a.TaskStateCompleted {
			if !strings.Contains(t.status+t.outcome, "cost_max") {
				return "", fmt.Errorf("step %d ended with %s: %s", step, t.state, or(t.status, t.outcome))
			}
			_, reason, _ := strings.Cut(or(t.status, t.outcome), "Plimsoll: ") // behind the address and the status
			s.heard.tell(heardEvent{Kind: answerEvent + reason})
			break
		}
		if session = t.session; step == maxSteps {
			return "", fmt.Errorf("%d steps cost less than $%g", step, costMax)
		}
	}
	stopped := fmt.Sprintf("at the made-up prices of this demo it was stopped at $%.2f, after %d steps", costMax, step-1)
	inside, err := s.raiseCost(ctx)
	if inside {
		return stopped + "; only a person outside may raise that, and this demo runs inside a run", nil
	}
	if err != nil {
		return "", fmt.Errorf("raise what %s may spend: %w", runTool, err)
	}
	t, err := s.ask(ctx, session, fmt.Sprintf("echo step %d", step))
	if err != nil {
		return "", err
	}
	if out.Outcome = string(t.state); t.state != a2a.TaskStateCompleted {
		return "", fmt.Errorf("after plimsoll raise it ended with %s: %s", t.state, or(t.status, t.outcome))
	}
	return stopped + "; then it was given more, as by plimsoll raise, and the same conversation went on", nil
}

// raiseCost gives the agent's run more to spend, as plimsoll raise does. This process does it by itself: a plimsoll below another one counts as
// inside a run. inside is true where this one is inside a run too, which raises nothing.
func (s *stage) raiseCost(ctx context.Context) (inside bool, err error) {
	dirs := config.NewDirs(func(name string) string {
		for _, e := range slices.Backward(s.environ) {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	})
	dir, err := dirs.Runtime()
	if err != nil {
		return false, err
	}
	if fence.Find([]string{dir}).Inside() {
		return true, nil
	}
	ledger, err := admission.Open(admission.Options{Dir: dir})
	if err != nil {
		return false, err
	}
	holders, err := ledger.Holders(ctx)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(holders, func(h admission.Holder) bool { return h.Tool == runTool })
	if i < 0 {
		return false, errors.New("its run is not found")
	}
	answer, err := ledger.Ask(ctx, holders[i].ID, admission.Wish{Limit: spend.LimitCost, By: 5})
	if err == nil && answer.Refused != "" {
		err = errors.New(answer.Refused)
	}
	return false, err
}

// searchMemory lets the agent search its memory for the word that was cut from a conversation, at most 20 times, because what was cut is
// stored a moment later. The result is a sentence for the audience. out gets the state of the task.
func (s *stage) searchMemory(ctx context.Context, session string, out *Scene) (string, error) {
	for range 20 {
		t, err := s.ask(ctx, session, `call the tool search_memory with query "`+rememberedWord+`"`)
		if err != nil {
			return "", err
		}
		out.Outcome = string(t.state)
		if strings.Contains(t.answer(), "release word is "+rememberedWord) {
			return "the conversation was shortened before the model could refuse it; what was cut is on disk, and was found by its words", nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return "", errors.New("what was cut was not found again")
}

// ask asks a question and shows it.
func (s *stage) ask(ctx context.Context, session, question string) (*talk, error) {
	s.heard.tell(heardEvent{Kind: questionEvent + question})
	return s.client.ask(ctx, session, question, nil)
}

// askQuestion asks the scene's question in the demo's one session, and notes the outcome in out. It is an error if the task does not complete.
func (s *stage) askQuestion(ctx context.Context, out *Scene) (*talk, error) {
	t, err := s.ask(ctx, s.session(), out.Question)
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

// answerEvent and questionEvent mark an answer and a question among what the view is told.
const (
	answerEvent   = "answer:"
	questionEvent = "question:"
)

func (s *stage) session() string { return s.answers["session"] }

// checkAlive returns an error if the agent does not answer requests any more.
func (s *stage) checkAlive(ctx context.Context) error {
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
