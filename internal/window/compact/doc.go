// Package compact makes room in a request with the least loss.
//
//	c := compact.New(compact.Options{})
//	base := checkpoint.Lookup(store, scope, chain) // what was done before, or nil
//	v, err := compact.Replay(request, base)        // the same bytes as last time
//	if measure(v.Request).Total > trigger {
//		res, err := c.Compact(ctx, v, measure, compact.Goal{Target: half, Limit: fits, Trigger: trigger})
//		if made := compact.Checkpoint(v, &res, chain); made != nil {
//			store.Put(scope, made, checkpoint.Cut{Text: res.Cut, …})
//		}
//		send(res.Request)
//	}
//
// # The ladder
//
// A compaction climbs these rungs and stops as soon as the target is reached; each works
// on the oldest messages first:
//
//   - cut: large tool results keep their head and tail, with a line between them that
//     gives the size of the missing part;
//   - mask: tool results and images are replaced by a line that describes them and quotes
//     the failures in them;
//   - model: old turns are summarised by a model, when one is configured; an error, a
//     refusal, an empty or an endless answer is never a summary;
//   - extract: old turns are summarised by choosing lines, see package extract; the summary has
//     up to a third of the target, a half of a small one, and keeps what an earlier one took when it covers that;
//   - drop: old turns go, and a line gives their number.
//
// Messages go in whole units (see [wire.Request.Units]): a call, its results and the
// thoughts that led to it stay together. One summary stands after the task, as a message
// with the user's role that says it is none of the user's; it covers earlier summaries.
//
// # What stays
//
// System and tools, the task (the first message with words of the user's own: clients put
// reminders and descriptions of the environment before them), the newest user message and
// the last unit, which is still running, are never changed. The newest messages are spared
// unless the request would otherwise be over the trigger again at once (rung "relax"). At
// the very last, results of the running unit are cut to their head and tail (rung "open").
// If that is still too much, the error is a [DoesNotFit], which names the largest message.
//
// What makes tools known, or settles how the model works, stays where it is behind the summary, with
// the rest of its unit: results of a search for tools, tools declared among the messages, updates of
// the configuration. It is never masked. Of two that name the same tools the newer one stays; and
// rather than refuse a request, the last level drops the oldest.
//
// Every step leaves a smaller request, a step that doesn't is undone, and each rung has a
// bounded number of steps. Texts hold no time and nothing random: the same request, measure and goal
// give the same bytes.
//
// # Checkpoints
//
// Agents send their whole history each turn. [Result].Patches describes the changes in terms
// of the client's own messages; kept in a checkpoint.Store and put in again with [Replay],
// it gives later requests the same bytes, so that each extends the one before, and a second
// compaction begins where the first one ended.
//
// # Concurrency and tests
//
// A [Compactor] is safe for concurrent use, a [View] may be read by many. Tests hold every
// result against the strict validator of package wire, for random conversations in all
// dialects with random goals; two hundred turns are replayed to hold each forwarded body to be a
// prefix of the next. `go run ./bench facts` measures what survives.
package compact
