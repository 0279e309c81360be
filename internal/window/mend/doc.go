// Package mend changes what a message holds where the provider would refuse the request for it.
//
//	next, actions, err := mend.Mend(r, mend.Options{Provider: "anthropic", Model: "claude-opus-4-8"})
//	// next == r when there was nothing to do
//
// A client sends its whole history with every request. One block in it that the provider does not take, and the conversation is
// over: every request from then on is refused for the same block. Which calls and results belong together is for package repair; this one
// is about the contents.
//
// # What it does
//
//   - Empty texts go, and messages of nothing else; where the order of a conversation needs one, a line takes its place.
//   - Of more than four cache marks the oldest in the messages go. Marks are no content: this is the one thing done before Options.From.
//   - An image that is too large is made smaller; one whose type is another than it says gets the right type; one that cannot be
//     read or made smaller, or is one too many, becomes a line that says what stood there.
//   - Arguments of a call that end too early, because the answer reached its output limit, are closed; what is no JSON at all goes into
//     an object as one text. The model is told once, at the head of the call's result.
//   - Names of tools that no provider takes, objects where a text is wanted and texts where an object is, thinking without a signature.
//   - A conversation that ends with the model's own words, for a model that does not go on from them, gets a line of the user.
//   - max_tokens that leave no room beside thinking.budget_tokens.
//
// docs/refusals.md has each provider's refusals with their words, and what becomes of them; a test plays that page and has its sources.
//
// # What to expect
//
// Only what the provider would refuse is touched, and no more than that of it. The same request gives the same bytes, and mending them again
// gives the same pointer. Nothing before Options.From is changed: where only that would help, there is an action [Cut] that names the
// first message which has to change.
//
// A request that is in order costs a look at each new part and no memory. Images are decoded only when their header says that a rule is
// broken, one at a time, and never into more than 64 MB; a header is read where it lies. Mend is a pure function and may be called
// from any goroutine.
//
// # How it is tested
//
// A table for each rule, the page of refusals, recorded requests (none changes), images of all four formats, arguments cut at every byte,
// and a fuzz target that holds random bodies to valid JSON and to a second mending that finds nothing.
package mend
