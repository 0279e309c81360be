package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory/facts"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
)

// Facts draws facts from conversations in the background, for the daemon.
type Facts struct {
	memory *memories.Memory
	end    context.CancelFunc
	done   sync.WaitGroup
}

// OpenFacts begins to draw facts, if the user has switched that on; otherwise it returns nil. The error says which settings are missing or wrong.
func OpenFacts(app *core.Core, s config.Settings, events *journal.Journal) (*Facts, error) {
	return openFacts(app, s, events, factsTimes{})
}

// factsTimes are the interval between looks for new passages, the pause after a failure, the longest time of one request, and how long
// nothing may have been said before one is made; 0 means the defaults.
type factsTimes struct{ every, pause, request, quiet time.Duration }

// factsQuiet is the default of quiet: a conversation in which nothing was said for so long is no longer disturbed.
const factsQuiet = 30 * time.Second

// openFacts starts drawing facts from conversations in the background, until the caller closes the result. It returns nil, nil if [memory]
// facts or the memory is off.
func openFacts(app *core.Core, s config.Settings, events *journal.Journal, times factsTimes) (*Facts, error) {
	if !s.Memory.Facts || s.Memory.State == config.MemoryOff {
		return nil, nil
	}
	choice, key, err := factsModel(app, s)
	if err != nil {
		return nil, err
	}
	model, err := modelWithKey(choice, key, config.Agent{Name: "facts"}, nil)
	if err != nil {
		return nil, err
	}
	m, err := memories.Open(app, memories.Options{Journal: events})
	if err != nil {
		return nil, err
	}
	feed, err := m.OpenFeed()
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	x, err := facts.New(facts.Options{
		Dir: m.FactsDir(), Model: completer{model}, Store: m.FactStore(), TokensPerDay: s.Memory.FactsTokens, Timeout: times.request,
		FirstPause: times.pause,
		Tell:       func(e facts.Event) { tellFacts(events, e) },
	})
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	ctx, end := context.WithCancel(context.Background())
	f := &Facts{memory: m, end: end}
	quiet := cmp.Or(times.quiet, factsQuiet)
	run := facts.Runner{
		Busy:      func() bool { return time.Since(feed.Newest()) < quiet },
		Extractor: x, Every: times.every, Feed: func(ctx context.Context) error { return feed.Push(ctx, x) },
		Warn: func(err error) { app.Warn("no facts are drawn for now: " + err.Error()) },
	}
	f.done.Go(func() { run.Run(ctx) })
	return f, nil
}

// Now returns the number of waiting episodes and the tokens of the day.
func (f *Facts) Now() memories.FactsStats { return f.memory.FactsStats() }

// Close ends the work in the background, waits for it, and closes the memory. Waiting episodes stay in the queue for the next daemon. A nil
// Facts does nothing.
func (f *Facts) Close() error {
	if f == nil {
		return nil
	}
	f.end()
	f.done.Wait()
	return f.memory.Close()
}

// factsModel returns the model of [memory] facts_model, and its key. Addresses and keys in other programs' variables are not used.
func factsModel(app *core.Core, s config.Settings) (choice modelChoice, key string, err error) {
	m := s.Memory
	if m.FactsModel == "" {
		return choice, "", errors.New(`[memory] facts is on and names no model: set facts_model = "PROVIDER/NAME", or facts_url and facts_model for a service of your own`)
	}
	c := config.Agent{Name: "facts", Model: m.FactsModel, BaseURL: strings.TrimRight(m.FactsURL, "/"), KeyEnv: m.FactsKey}
	if c.BaseURL != "" {
		c.Provider = "openai"
		if provider, name := splitModel(m.FactsModel); provider == "anthropic" {
			c.Provider, c.Model = provider, name
		}
	}
	nothing := func(string) string { return "" }
	if choice, err = chooseModel(c, "", "", s.Upstream, nothing); err != nil {
		return choice, "", fmt.Errorf("[memory] facts_model: %w", err)
	}
	if choice.isStandin() {
		return choice, "", errors.New("[memory] facts_model: the stand-in goes by keywords and knows no facts: name a real model as PROVIDER/NAME")
	}
	choice.keyEnv = m.FactsKey
	switch {
	case m.FactsKey != "" && m.FactsKeyFile != "":
		return choice, "", errors.New("[memory] has both facts_key and facts_key_file: remove one of them")
	case m.FactsKeyFile != "":
		text, err := statefile.Read(m.FactsKeyFile, 64<<10)
		if key = strings.TrimSpace(string(text)); err != nil || key == "" {
			return choice, "", fmt.Errorf("[memory] facts_key_file names %s, which holds no key: %w", m.FactsKeyFile, errors.Join(err, errEmptyKey))
		}
	case m.FactsKey != "":
		if whose, taken := keyOwner(app, m.FactsKey); taken {
			return choice, "", fmt.Errorf("[memory] facts_key names %s, the key of %s: facts have a key of their own, in a variable of its own, as FACTS_API_KEY", m.FactsKey, whose)
		}
		if key = strings.TrimSpace(os.Getenv(m.FactsKey)); key == "" {
			return choice, "", fmt.Errorf("[memory] facts_key names the variable %s, which is empty: set it to the key for %s", m.FactsKey, choice)
		}
	case !core.OnLoopback(choice.url):
		return choice, "", fmt.Errorf("[memory] facts is on and %s has no key: set facts_key to the name of a variable that holds one of its own, or facts_key_file", choice)
	}
	if key != "" && strings.HasPrefix(choice.url, "http://") && !core.OnLoopback(choice.url) {
		return choice, "", fmt.Errorf("[memory] facts_url is %s: a key goes over https or to this machine only; write it with https", choice.url)
	}
	return choice, key, nil
}

var errEmptyKey = errors.New("write the key into it, and let nobody else read it")

// keyOwner returns in words whose key a variable holds, if it is that of another program or of a configured agent; taken is false if it is
// neither.
func keyOwner(app *core.Core, name string) (whose string, taken bool) {
	if slices.Contains(keyVariables(), name) {
		return "other programs", true
	}
	configured, err := app.Config.Agents()
	if err != nil {
		return "", false // said elsewhere
	}
	for _, a := range configured {
		if a.KeyEnv == name {
			return "the agent " + a.Name, true
		}
	}
	return "", false
}

// tellFacts writes an event into the journal, without any word of a passage, of an answer, or of a provider.
func tellFacts(events *journal.Journal, e facts.Event) {
	if e.Kind == "proposed" {
		events.Append(journal.MemoryFacts{
			Episodes: e.Episodes, Kept: e.Kept, Known: e.Known, Tokens: e.Tokens, Unquoted: e.Rejected[facts.RejectedQuote],
			Unsupported: e.Rejected[facts.RejectedUnsupported], Malformed: e.Rejected[facts.RejectedForm],
		})
		return
	}
	events.Append(journal.MemoryFactsFailed{Why: e.Kind, Episodes: e.Episodes, Tokens: e.Tokens, Error: causeOf(e.Err)})
}

// causeOf returns the kind of an error, without any words of a provider or a conversation; "" for nil.
func causeOf(err error) string {
	known, isModel := errors.AsType[*agent.ModelError](err)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, facts.ErrBudget):
		return facts.ErrBudget.Error()
	case errors.Is(err, facts.ErrAnswer):
		return facts.ErrAnswer.Error()
	case isModel && known.Status != 0:
		return fmt.Sprintf("%s (HTTP %d)", known.Failure, known.Status)
	case isModel:
		return string(known.Failure)
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return "the request failed"
}
