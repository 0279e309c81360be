// Package facts draws statements from what was said, with a language model that proposes and plain code that decides.
//
//	x, err := facts.New(facts.Options{Dir: dir, Model: model, Store: store, TokensPerDay: 20_000})
//	err = x.Push(ctx, episode.ID)     // at once, on disk
//	more, err := x.Step(ctx)          // reads some of what waits; an ErrBudget when the day's tokens are spent
//
// A proposal counts when its quote stands word for word in the passage and its value has a word of the quote: an invented fact has nothing to
// stand on, and an instruction in a passage can at most become the fact that somebody said so. The model decides neither time nor truth: a
// fact is valid from when its passage was said, and its origin is never above [memory.OriginAgent]. Nothing is deleted.
//
// A failed request is made again after a minute, then two, four …, [MaxTries] times; one that the provider did not take ([ErrUnspent]) costs
// nothing. All methods may be called by any goroutine, and many processes may share a directory.
package facts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// The defaults of [Options].
const (
	DefaultTokensPerDay = 20_000
	DefaultTimeout      = time.Minute
	// MaxBatch is the largest number of passages, all of one conversation, in a request.
	MaxBatch = 8
	// MaxTries is the number of times an episode is tried.
	MaxTries = 5
	// maxOutput bounds an answer, in tokens.
	maxOutput = 1500
	// firstPause is the pause after the first failure; it doubles with each.
	firstPause = time.Minute
)

// Model is one request to a language model.
type Model interface {
	// Complete answers a question in text and never repeats a failed request. used is the number of tokens of both that the provider
	// counted, or 0. An [ErrUnspent] means that the provider has not begun to answer: nothing was spent, and the question is not to blame.
	Complete(ctx context.Context, system, question string, maxOutput int) (answer string, used int, err error)
}

// ErrUnspent means that a request failed before it cost anything: no connection, too many requests, a key that is refused.
var ErrUnspent = errors.New("the provider did not take the request")

// Store supplies episodes and takes facts.
type Store interface {
	// Episode returns a record; ok is false when it no longer exists.
	Episode(ctx context.Context, id string) (r memory.Record, ok bool, err error)
	// Facts returns all facts of a namespace and a scope that are about a subject.
	Facts(ctx context.Context, namespace, scope, subject string) ([]memory.Record, error)
	// Put adds a fact. It returns a [memory.ErrForgotten] when its words, or the passage that it is drawn from, were forgotten meanwhile.
	Put(ctx context.Context, fact memory.Record) error
	// End sets the time until which a fact was true.
	End(ctx context.Context, id string, until time.Time) error
}

// Options configure an [Extractor]. Dir, Model and Store are required.
type Options struct {
	// Dir holds the queue and the budget.
	Dir   string
	Model Model
	Store Store
	// TokensPerDay bounds the tokens of a day (DefaultTokensPerDay), MaxQueue the waiting episodes, Timeout a request (DefaultTimeout).
	TokensPerDay int
	MaxQueue     int
	Timeout      time.Duration
	// FirstPause is the pause after a failure (a minute); it doubles with each.
	FirstPause time.Duration
	// Tell is called for each event, which holds no word of a passage. It may be nil.
	Tell func(Event)
}

// Event is something that an Extractor did.
type Event struct {
	// Kind is "proposed" (a request was answered), "failed", "gave_up", "dropped" (the queue was full) or "budget" (the day's tokens are spent).
	Kind string
	// Kept, Known and Rejected count proposals; Rejected by reason.
	Kept, Known int
	Rejected    map[string]int
	Episodes    int
	Tokens      int
	Err         error
}

// Stats counts what an Extractor did since it was made.
type Stats struct {
	Requests, Failed, GaveUp int64
	Kept, Known              int64
	// Rejected proposals, by reason.
	RejectedQuote, RejectedUnsupported, RejectedForm int64
	Forgotten                                        int64 // facts whose passage was forgotten while the model was asked
	Dropped                                          int64 // episodes for which the queue had no room
	Tokens                                           int64
}

// Extractor draws facts from episodes.
type Extractor struct {
	o      Options
	queue  *Queue
	budget *Budget
	seen   *ReadSet

	failures  atomic.Int64 // in a row
	spent     atomic.Bool  // the event "budget" of this day was given
	forgotten atomic.Int64

	requests, failed, gaveUp, kept, known, quote, unsupported, form, dropped, tokens atomic.Int64
}

// New returns an extractor, or an error when a required option is missing. It reads and writes no file yet.
func New(o Options) (*Extractor, error) {
	if o.Dir == "" || o.Model == nil || o.Store == nil {
		return nil, errors.New("facts: a directory, a model and a store are needed")
	}
	o.TokensPerDay = cmp.Or(max(o.TokensPerDay, 0), DefaultTokensPerDay)
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.FirstPause = cmp.Or(max(o.FirstPause, 0), firstPause)
	return &Extractor{o: o, queue: NewQueue(o.Dir, o.MaxQueue), budget: NewBudget(o.Dir, o.TokensPerDay), seen: NewReadSet(o.Dir, 0)}, nil
}

// Stats returns the counts.
func (x *Extractor) Stats() Stats {
	return Stats{
		Requests: x.requests.Load(), Failed: x.failed.Load(), GaveUp: x.gaveUp.Load(), Kept: x.kept.Load(), Known: x.known.Load(),
		RejectedQuote: x.quote.Load(), RejectedUnsupported: x.unsupported.Load(), RejectedForm: x.form.Load(),
		Forgotten: x.forgotten.Load(), Dropped: x.dropped.Load(), Tokens: x.tokens.Load(),
	}
}

// Push puts episodes into the queue. When that drops others, it counts and reports them.
func (x *Extractor) Push(ctx context.Context, ids ...string) error {
	dropped, err := x.queue.Push(ctx, ids...)
	if dropped > 0 {
		x.dropped.Add(int64(dropped))
		x.report(Event{Kind: "dropped", Episodes: dropped})
	}
	return err
}

// Step takes a batch of episodes from the queue and makes at most one request for it. more is false when there was nothing to do. A failed
// request is not an error of Step: it is counted, and its episodes are tried later. The error is an [ErrBudget] when the day's tokens are
// spent.
func (x *Extractor) Step(ctx context.Context) (more bool, err error) {
	now := time.Now()
	taken, err := x.queue.takeDue(ctx, MaxBatch, now, 2*x.o.Timeout)
	if err != nil || len(taken) == 0 {
		return false, err
	}
	batch, rest, gone, err := x.readBatch(ctx, taken)
	if err != nil {
		return false, errors.Join(err, x.queue.putOff(context.WithoutCancel(ctx), taken, now, false))
	}
	if err := errors.Join(x.queue.Forget(ctx, gone...), x.queue.putOff(ctx, rest, now, false)); err != nil {
		return false, err
	}
	if len(batch) == 0 {
		return true, nil
	}
	question, reserve, batch, err := x.reserveTokens(ctx, now, batch)
	if err != nil {
		return false, errors.Join(err, x.queue.putOff(context.WithoutCancel(ctx), taken, now, false))
	}
	of := make([]item, 0, len(batch))
	passages := make([]memory.Record, 0, len(batch))
	for _, b := range batch {
		of, passages = append(of, b.item), append(passages, b.record)
	}
	x.requests.Add(1)
	asking, cancel := context.WithTimeout(ctx, x.o.Timeout)
	answer, used, err := x.o.Model.Complete(asking, system, question, maxOutput)
	cancel()
	// Whatever comes now is written down, also when ctx has ended: the tokens are spent.
	stopped := err != nil && ctx.Err() != nil
	ctx = context.WithoutCancel(ctx)
	unspent := errors.Is(err, ErrUnspent)
	if used <= 0 && !unspent {
		used = reserve
	}
	x.tokens.Add(int64(used))
	if e := x.budget.Settle(ctx, now, reserve, used); e != nil {
		return false, e
	}
	if stopped { // not for the model to answer for: who goes on tries again
		return false, errors.Join(err, x.queue.putOff(ctx, of, now, false))
	}
	var proposals []Proposal
	odd := 0
	if err == nil {
		proposals, odd, err = ParseProposals(answer)
	}
	if err != nil {
		return true, x.reportFailed(ctx, of, used, !unspent, err)
	}
	x.failures.Store(0)
	return true, x.storeProposals(ctx, of, passages, proposals, odd, used)
}

// reserveTokens returns the question about a batch, and takes the tokens that it may need off the day's budget. If they do not suffice, it asks
// about half of the passages, and so on; taken are those in the question, and the others go back into the queue. It counts a token for two
// bytes, which is more than any text has.
func (x *Extractor) reserveTokens(ctx context.Context, now time.Time, batch []waiting) (question string, tokens int, taken []waiting, err error) {
	for n := len(batch); n > 0; n /= 2 {
		passages := make([]memory.Record, n)
		for i := range n {
			passages[i] = batch[i].record
		}
		question = formatQuestion(passages)
		tokens = (len(system)+len(question))/2 + maxOutput
		if err = x.budget.Reserve(ctx, now, tokens); err == nil {
			x.spent.Store(false)
			var back []item
			for _, b := range batch[n:] {
				back = append(back, b.item)
			}
			return question, tokens, batch[:n], x.queue.putOff(ctx, back, now, false)
		}
		if !errors.Is(err, ErrBudget) {
			return "", 0, nil, err
		}
	}
	if !x.spent.Swap(true) {
		x.report(Event{Kind: "budget", Err: err})
	}
	return "", 0, nil, err
}

type waiting struct {
	item   item
	record memory.Record
}

// readBatch looks up the episodes that were taken from the queue. The batch has those of the first one's conversation alone, so that words of one
// credential never get into a request of another. rest are those of other conversations, and gone the ids that are no episodes any more.
func (x *Extractor) readBatch(ctx context.Context, taken []item) (batch []waiting, rest []item, gone []string, err error) {
	for _, t := range taken {
		r, ok, err := x.o.Store.Episode(ctx, t.ID)
		switch {
		case err != nil:
			return nil, nil, nil, err
		case !ok || r.Kind != memory.KindEpisode || r.Quarantined:
			gone = append(gone, t.ID)
		case len(batch) > 0 && (r.Namespace != batch[0].record.Namespace || r.Scope != batch[0].record.Scope || r.Source.Conversation != batch[0].record.Source.Conversation):
			rest = append(rest, t)
		default:
			batch = append(batch, waiting{t, r})
		}
	}
	return batch, rest, gone, nil
}

// reportFailed reports a failed request and puts its episodes back into the queue for a later try. If tried is set the failure counts as a try, and
// episodes that have had MaxTries are given up; otherwise the cause was not theirs.
func (x *Extractor) reportFailed(ctx context.Context, of []item, used int, tried bool, cause error) error {
	x.failed.Add(1)
	x.failures.Add(1)
	x.report(Event{Kind: "failed", Episodes: len(of), Tokens: used, Err: cause})
	var again []item
	var gone []string
	most := 0
	for _, i := range of {
		if tried && i.Tries+1 >= MaxTries {
			gone = append(gone, i.ID)
			continue
		}
		again, most = append(again, i), max(most, i.Tries)
	}
	if len(gone) > 0 {
		x.gaveUp.Add(int64(len(gone)))
		x.report(Event{Kind: "gave_up", Episodes: len(gone), Err: cause})
	}
	until := time.Now().Add(x.o.FirstPause << most)
	return errors.Join(x.seen.Add(ctx, gone...), x.queue.Forget(ctx, gone...), x.queue.putOff(ctx, again, until, tried))
}

// storeProposals checks proposals against their passages, stores those that pass as facts, reports the outcome, and marks the episodes as
// done. odd is the number of items in the answer that were not proposals.
func (x *Extractor) storeProposals(ctx context.Context, of []item, passages []memory.Record, proposals []Proposal, odd, used int) error {
	e := Event{Kind: "proposed", Episodes: len(of), Tokens: used, Rejected: map[string]int{}}
	if odd > 0 {
		e.Rejected[RejectedForm] = odd
	}
	for _, p := range proposals {
		if p.Passage < 1 || p.Passage > len(passages) {
			e.Rejected[RejectedForm]++
			continue
		}
		passage := passages[p.Passage-1]
		if why := p.Check(passage.Text); why != "" {
			e.Rejected[why]++
			continue
		}
		known, err := x.storeFact(ctx, passage, p)
		if errors.Is(err, memory.ErrForgotten) {
			x.forgotten.Add(1)
			continue
		}
		if err != nil {
			return errors.Join(err, x.queue.putOff(ctx, of, time.Now().Add(x.o.FirstPause), true))
		}
		if known {
			e.Known++
		} else {
			e.Kept++
		}
	}
	x.kept.Add(int64(e.Kept))
	x.known.Add(int64(e.Known))
	x.quote.Add(int64(e.Rejected[RejectedQuote]))
	x.unsupported.Add(int64(e.Rejected[RejectedUnsupported]))
	x.form.Add(int64(e.Rejected[RejectedForm]))
	x.report(e)
	ids := make([]string, len(of))
	for i := range of {
		ids[i] = of[i].ID
	}
	return errors.Join(x.seen.Add(ctx, ids...), x.queue.Forget(ctx, ids...))
}

// storeFact stores a proposal as a fact and ends the facts that it replaces. If the same fact is there already, known is true and nothing
// is stored.
func (x *Extractor) storeFact(ctx context.Context, passage memory.Record, p Proposal) (known bool, err error) {
	fact := memory.Record{
		Kind: memory.KindFact, Origin: memory.Lowest(passage.Origin, memory.OriginAgent), Namespace: passage.Namespace, Scope: passage.Scope,
		Text: p.Text(), Source: passage.Source, Said: passage.Said, From: []string{passage.ID},
		Fact: &memory.Fact{
			Subject: p.Subject, Attribute: p.Attribute, Value: p.Value, Quote: p.Quote, Episode: passage.ID,
			ValidFrom: passage.Said, Confidence: p.Confidence,
		},
	}
	have, err := x.o.Store.Facts(ctx, passage.Namespace, passage.Scope, p.Subject)
	if err != nil {
		return false, fmt.Errorf("the facts about a subject: %w", err)
	}
	known, ends, until := resolveFact(fact, have)
	if known {
		return true, nil
	}
	fact.Fact.ValidUntil = until
	if err := x.o.Store.Put(ctx, fact); err != nil {
		return false, fmt.Errorf("keep a fact: %w", err)
	}
	for _, e := range ends {
		if err := x.o.Store.End(ctx, e.id, e.until); err != nil {
			return false, fmt.Errorf("end a fact: %w", err)
		}
	}
	return false, nil
}

// report hands an event to Options.Tell, if that is set.
func (x *Extractor) report(e Event) {
	if x.o.Tell != nil {
		x.o.Tell(e)
	}
}

// Waiting returns the number of episodes in the queue.
func (x *Extractor) Waiting() (int, error) { return x.queue.Len() }

// EpisodesRead returns a function that reports whether an episode was read, and the number of those that were.
func (x *Extractor) EpisodesRead() (has func(id string) bool, n int, err error) { return x.seen.Load() }
