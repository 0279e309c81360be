// Package facts draws statements from what was said, with a language model that proposes and plain code that decides.
//
//	x, err := facts.New(facts.Options{Dir: dir, Model: model, Store: store, TokensPerDay: 20_000})
//	err = x.Push(ctx, episode.ID)     // at once, on disk
//	more, err := x.Step(ctx)          // reads some of what waits; an ErrBudget when the day's tokens are spent
//
// It is off unless somebody makes an Extractor, and costs what its [Budget] allows: a request is made only when what it can take at
// most, question and longest answer, is left of the day's tokens.
//
// # What a model may do
//
// It gets up to [MaxBatch] passages of one conversation and answers with proposals: subject, attribute, value, and the words of the passage that say
// so. A proposal counts when its quote stands word for word in the passage and its value has a word of the quote;
// all others are dropped and counted by reason. So an invented fact has nothing to stand on, and an instruction in a passage can at most become the
// fact that somebody said so.
//
// The model decides neither time nor truth. A fact is valid from when its passage was said. Its origin is the lowest of the passage's and
// [memory.OriginAgent], because a model chose the words: a fact is found on request and never pinned or injected by itself. Of
// attributes with one value at a time ([SingleValued]) the value that was said last counts; the one before gets an end and stays as history, in
// whatever order they are learned. What a person typed or vouched for is ended by none. Nothing is deleted.
//
// # Queue and failures
//
// What waits is a file of ids ([Queue], at most [MaxQueue]): it survives the process, and when it is full the one that has waited longest
// goes. A request that fails or hangs (Options.Timeout) is made again after a minute, then after two, four …; after [MaxTries] the episode
// is given up and counted. An answer that is not a list of facts is a failure too. A request that the provider did not take ([ErrUnspent])
// costs no tokens and is not an attempt at its episodes. When the day's tokens are spent, all waits until midnight UTC.
//
// What was read is noted ([Seen], the last [MaxSeen]), whatever came of it: who looks for what to push leaves it out, so that nothing is paid for twice.
//
// A [Runner] does all of it in the background. After a failed request it makes none at all for a while, which doubles with each failure up to [MaxPause];
// the queue is fed meanwhile.
//
// # Concurrency
//
// All methods may be called by any goroutine, and many processes may share a directory. An episode is one process's for the time of a request.
//
// # How it is tested
//
// With the scripted provider: invented quotes, instructions in passages, answers that are cut, hang and fail, a budget that runs out. In internal/app/agents with
// a provider over HTTP that is slow, silent, busy, or talks nonsense or without end, while the process is killed. The disk is filled.
// Answers and quotes are fuzzed.
package facts
