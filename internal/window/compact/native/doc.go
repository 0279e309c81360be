// Package native has a model provider compact a conversation itself.
//
// Where a model's reasoning is bound to what stood before it, whatever a gateway cuts takes the reasoning behind the cut with it. Two
// providers write a summary that their own check accepts: the turns behind it keep their reasoning.
//
//	rule, ok := native.RuleFor(native.Anthropic, wire.Messages, "claude-opus-5-5")
//	call, err := rule.Request("/v1/messages", header, sent) // sent is a request that was made
//	…                                                        // send call, with the client's own credential
//	block, err := rule.Parse(status, contentType, body)
//	…                                                        // block.Messages stand in place of the messages of sent, from now on
//	header, body, err := rule.Carry(header, next)            // every later request goes through this
//
// # The table
//
// Each row names a provider that has it, and the page of its documentation ([Rules]). [Wanted] decides when it is used. A provider that
// has it no more, or not yet, answers with a [Refused], which is to be remembered; other errors pass.
//
// # What to expect
//
// A compaction costs what a request of that size costs, most of it at the price of the prompt cache, and takes from seconds to a
// minute or two; package background sees to it that nobody waits. The request is made of the bytes of the ordinary one: members that
// the provider refuses beside it are left out, everything else stays as it is, so that the cache holds. The answer is kept as it came,
// to the byte, because it is signed. A [Rule] is a value and may be used from any goroutine.
//
// # How it is tested
//
// Tables of requests and of answers as the vendors' pages show them, whole and as streams, and a fuzz target that holds the reader of
// answers against encoding/json.
package native
