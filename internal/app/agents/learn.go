package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory/facts"
)

// LearnOptions are the options of `plimsoll memory learn`.
type LearnOptions struct {
	// Model is the model to ask, NAME or PROVIDER/NAME; "" means the one whose key is in the environment. BaseURL replaces its known address.
	Model, BaseURL string
	// TokensPerDay bounds the tokens of a day; 0 means the configured number.
	TokensPerDay int
	// From selects the episodes to read.
	From memories.Query
	// DryRun only counts them, and asks no model.
	DryRun bool
}

// Learned is the outcome of [Learn].
type Learned struct {
	Model    string      `json:"model"`
	Episodes int         `json:"episodes"`          // selected ones that were not read yet
	Waiting  int         `json:"waiting"`           // episodes left in the queue
	Spent    bool        `json:"spent"`             // the day's tokens are used up
	Problem  string      `json:"problem,omitempty"` // the last failure of the model
	Facts    facts.Stats `json:"facts"`
	DryRun   bool        `json:"dry_run"`
}

// Learn draws facts from episodes with a language model, which proposes them, and code, which checks them. It ends when all are read, the day's
// tokens are used up, or the model fails repeatedly. With o.DryRun it only counts the episodes.
func Learn(ctx context.Context, app *core.Core, o LearnOptions) (out Learned, err error) {
	settings, err := app.Config.For("")
	if err != nil {
		return out, err
	}
	choice, open, err := learnModel(ctx, app, settings, o)
	if err != nil {
		return out, err
	}
	o.TokensPerDay = cmp.Or(o.TokensPerDay, settings.Memory.FactsTokens)
	out.Model, out.DryRun = choice.String(), o.DryRun
	m, err := memories.Open(app, memories.Options{})
	if err != nil {
		return out, err
	}
	var closer core.Closer
	closer.Add(m.Close)
	defer func() { err = closer.Close(err) }()
	ids, err := m.Unread(ctx, o.From)
	if err != nil {
		return out, err
	}
	out.Episodes = len(ids)
	if o.DryRun || len(ids) == 0 {
		return out, nil
	}
	model, err := open(&closer)
	if err != nil {
		return out, err
	}
	x, err := facts.New(facts.Options{
		Dir: m.FactsDir(), Model: completer{model}, Store: m.FactStore(), TokensPerDay: o.TokensPerDay,
		Tell: func(e facts.Event) {
			if e.Err != nil && e.Kind != "budget" {
				out.Problem = e.Err.Error()
			}
		},
	})
	if err != nil {
		return out, err
	}
	if err := x.Push(ctx, ids...); err != nil {
		return out, err
	}
	for more := true; more && ctx.Err() == nil && x.Stats().Failed < maxLearnFailures; {
		more, err = x.Step(ctx)
		if errors.Is(err, facts.ErrBudget) {
			out.Spent, err = true, nil
			break
		}
		if err != nil {
			return out, err
		}
	}
	out.Facts = x.Stats()
	out.Waiting, err = x.Waiting()
	return out, errors.Join(err, ctx.Err())
}

// maxLearnFailures is the number of failed requests after which Learn gives up.
const maxLearnFailures = 3

// learnModel returns the model to ask: that of the command line; if it names none, that of the settings with its own key; else the one
// whose key is in the environment. open opens it.
func learnModel(ctx context.Context, app *core.Core, s config.Settings, o LearnOptions) (choice modelChoice, open func(*core.Closer) (agent.Model, error), err error) {
	c := config.Agent{Name: "facts"}
	if o.Model == "" && o.BaseURL == "" && s.Memory.FactsModel != "" {
		choice, key, err := factsModel(app, s)
		return choice, func(closer *core.Closer) (agent.Model, error) {
			model, err := modelWithKey(choice, key, c, nil)
			if err != nil {
				return nil, err
			}
			return withBudget(app, s, choice, model, closer)
		}, err
	}
	if choice, err = chooseModel(c, o.Model, o.BaseURL, s.Upstream, os.Getenv); err != nil {
		return choice, nil, err
	}
	if choice.isStandin() {
		return choice, nil, errors.New("the stand-in goes by keywords and knows no facts: name a real model with --model PROVIDER/NAME")
	}
	return choice, func(closer *core.Closer) (agent.Model, error) {
		model, err := openModel(ctx, choice, c, nil, closer)
		if err != nil {
			return nil, err
		}
		return withBudget(app, s, choice, model, closer)
	}, nil
}

// completer makes an agent's model a [facts.Model].
type completer struct{ model agent.Model }

// Complete implements [facts.Model]. It returns the answer and the tokens that it took, of input and output. The error wraps
// [facts.ErrUnspent] if the request failed before a model could have spent tokens on it.
func (c completer) Complete(ctx context.Context, system, question string, maxOutput int) (string, int, error) {
	r, err := c.model.Generate(ctx, &agent.Request{
		System: system, Messages: []agent.Message{{Role: agent.RoleUser, Text: question}}, MaxOutput: maxOutput,
	}, func(string) {})
	if known, is := errors.AsType[*agent.ModelError](err); is {
		switch known.Failure {
		case agent.Unreachable, agent.Busy, agent.Key, agent.NoModel:
			if known.Status != 0 || !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				return "", 0, fmt.Errorf("%w: %w", facts.ErrUnspent, err)
			}
		}
	}
	if err != nil {
		return "", 0, err
	}
	used := r.Usage.Input + r.Usage.Output
	if r.Stop == agent.StopRefused {
		return "", used, fmt.Errorf("the model refused: %s", r.Reason)
	}
	return r.Message.Text, used, nil
}
