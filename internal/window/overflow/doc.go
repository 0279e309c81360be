// Package overflow recognises that a model provider refused a request because it is too
// long, in the words of every provider that was seen, and reads the numbers in them.
//
//	if o, ok := overflow.Classify(resp.StatusCode, resp.Header.Get("Content-Type"), body); ok {
//		// o.Limit and o.Actual are tokens, 0 where the provider names none
//	}
//
// [Classify] takes a response with an error status, or a 200 whose body or stream of
// events holds an error. [Event] takes the data of one server-sent event, for streams that
// are read as they come. [StopReason] knows the reasons of an answer that ended because the
// window was full. [SilentTruncation] tells from the reported usage that a server threw
// input away without a word, as Ollama does.
//
// The knowledge is a table of rows (table.go): one per form, with the provider that uses
// it, the statuses it comes with, the code in the error object and the phrase, in which
// {limit}, {actual} and {output} stand for numbers. A second table (others.go) holds what
// looks alike and is something else: rate limits in tokens per minute, a max_tokens that is
// out of range alone, images that are too large, one string field over its length. Those
// never match, whatever else the text says. The texts come from the providers' and servers'
// sources and from reports of their users; the tests hold the literal bodies.
//
// What to expect: an error body is read up to 64 KiB, each text in it up to 8 KiB; time is
// linear in that; broken JSON, HTML and plain text are searched as text. Only the members
// that carry words of the provider are read, never the echo of a request that validators
// put beside them, and of a 200 only what lies under an error member, so that a model that
// writes about context windows is not taken for one that ran out of it. Numbers may have
// thousands separators; absurd ones (over 10^12) count as not named. Whether a limit is
// plausible is for the one who learns it to say: a server once named 3.
//
// Everything here is a pure function on its arguments and may be called from any goroutine.
package overflow
