// Package reasoning knows what holds a model's reasoning (thinking) to the conversation it was made in,
// how providers say no to reasoning that does not fit, and how to take it out of a request.
//
//	rule := reasoning.RuleFor("bedrock", "us.anthropic.claude-opus-5-5-v1:0")
//	// rule.Binding == reasoning.Prefix: an edit of anything before a thought makes it invalid
//
//	if no, ok := reasoning.Refused(status, contentType, body); ok {
//		next, n, err := reasoning.Mend(r, no)
//		// n > 0: next is worth a second try
//	}
//
// Newer models bind what they thought to everything that stood before it: [Prefix]. The thought and all
// later ones are then refused, or dropped without a word, once something before them has changed. Who
// changes the history of such a model takes the reasoning behind the change out with it ([Without]): what
// the model thinks from then on fits the new history. Older models hold their thoughts to the model that
// made them ([Model]), or to nothing ([Free]).
//
// The rules are one table (table.go), the refusals another (form.go), each row with its source and the
// day on which it was looked up. A model that is newer than those in the table counts as the newest of
// its family: that loses some thoughts at a cut at worst, where the other way round requests are refused.
//
// # What to expect
//
// Everything is a pure function and may be called from any goroutine. Requests are edited as package wire
// edits them: what is not touched stays as it was, byte for byte. Reading a refusal is linear in its first
// 64 KiB. Tables hold names over all platforms, literal refusals and edits in each dialect; a fuzz target
// holds [Refused] and [Without] against whatever comes.
package reasoning
