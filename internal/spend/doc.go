// Package spend holds what requests to models may cost: the limits of one run, and budgets over all runs of a user.
//
//	m := spend.New(spend.Options{Limits: spend.Limits{Cost: 5}, Book: book})
//	h, err := m.Hold(ctx, spend.Request{Input: 12_000, MaxOutput: 64_000, Price: price, Priced: true})
//	h.Settle(spend.Amount{Tokens: 12_800, Cost: 0.05})  // or h.Release()
//
// Before a request is sent, what it will probably cost is held. Held money makes others wait, and only settled money refuses: a run that has
// spent nothing is never refused, and a limit is passed by no more than the answers that were under way. A refusal is an [*Over], a wait that
// came to nothing a [*Busy].
//
// A [Book] keeps the sums of budgets for all processes of a user. What a process held when it was killed counts as spent.
package spend
