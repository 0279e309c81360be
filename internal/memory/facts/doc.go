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
