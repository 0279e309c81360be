// Package breaker makes the working limit of a model smaller for a while, when what is
// known of its window keeps turning out wrong, or when the agent itself ran out of memory.
//
//	for _, change := range b.Overflow(upstream, model) {
//		// journal it: "tripped", 0.5
//	}
//	state, changes := b.State(upstream, model) // before each request
//	limit = int(float64(limit) * state.Factor)
//
// [Breaker.Overflow] counts refusals of a provider for length. Three of one model within
// ten minutes trip it: its factor is 0.5, and 0.25 when three more come. One refusal alone
// is what recovery is for. [Breaker.OutOfMemory] says that the kernel killed the agent's own
// process (a killed child is not the agent): that trips all models at once, because a
// conversation half as long is what makes the agent smaller. While a factor is below 1 the
// state is strict: cut harder, search before listing.
//
// A tripped breaker recovers by itself: after every ten minutes without a refusal one step,
// 0.25 → 0.5 → 0.75 → 1. A step is taken when somebody asks: [Breaker.State] for one model,
// [Breaker.Sweep] for all, which a program that reports an alert calls once a minute. Every
// move, up or down, is returned once as a [Change], to be journalled by the one who asked.
//
// The number of models is bounded; the one that was quiet for longest is forgotten, and if
// it was tripped that is a change too. A Breaker may be used from many goroutines. Nothing
// outlives the process. The tests run in a bubble of testing/synctest.
package breaker
