// Package tokens counts what a request costs in tokens, before it is sent.
//
// # Exact counts
//
// [O200K] and [CL100K] are the published vocabularies of OpenAI's models, counted exactly:
//
//	n := tokens.O200K().Count(text)
//	n = tokens.O200K().CountLiteral([]byte(`"a JSON literal\n"`)) // of the unescaped text
//
// Two hand-made splitters stand for the vocabularies' regular expressions, and the tables
// are read in place from the program file, so nothing is allocated per piece and the live
// heap is a few hundred bytes. One core does 50 to 200 MB/s of English, code and JSON and
// 20 to 200 of other scripts. Time is linear in the text, whatever it is: a megabyte of
// one letter is no slower than a megabyte of prose.
//
// # Estimates
//
// No provider but OpenAI publishes its tokenizer. What another model counts is estimated
// from the exact count by factors, one for each kind of text (words, digits, punctuation,
// white space, base64 and the like, and four groups of scripts), with a band: an
// [Estimate] has Low, Best and High. One factor a model cannot do it: the measured ratios
// of one tokenizer to another go from 0.8 on a hexadecimal dump to 1.6 on mixed scripts.
// [FamilyOf] finds the family of a model's name.
//
// A [Counter] adds up a request, [Counter.Tally]: text, calls, results, tools, media by
// the providers' formulas, and what is added around every message. It remembers messages
// by a hash of their content within a budget of bytes, so a conversation that goes on
// costs its new tail; and where it only matters that a request is below a line, it takes a sample ([Counter.TallyBelow]). A [Tally] also names every prefix of the conversation, [Tally.Chain],
// with digests that are the same in every process and do not depend on cache marks.
//
// # Usage
//
// The provider's own number beats any estimate. A [Usage] keeps what was reported for
// which prefix:
//
//	t := counter.Tally(request, tokens.FamilyOf("anthropic", request.Model))
//	in := usage.Input(scope, t)
//	if over, sure := in.Over(trigger, limit); over && !sure {
//		… ask a provider that counts for free, and usage.Report(scope, t, answer)
//	}
//	… send; then usage.Report(scope, t, input + cacheRead + cacheWrite)
//
// [Usage.Input] is the known prefix and a band for the tail only, and the tail's factors
// follow what this provider reported before for text of the same class, with a margin. So
// after the first report the band is a few percent of one turn wide. High of a text is an
// upper estimate for what people and tools write; it is not proven for text that was made
// to break it, where the number of bytes is the bound.
//
// # Concurrency
//
// All types are safe for concurrent use; a Tally is not changed once made.
//
// # How it is tested
//
// Both encodings are held, token by token, against the library tiktoken-go on texts of
// every script and on random ones, and by a fuzz target; the patterns given to it say in
// so many words that ſ is an s without case, which its regular expressions do not know.
// Estimates are held against published measurements, and a simulated provider of each
// family checks that its own count stays inside the band over whole conversations.
// `go run ./bench tokens` prints speed and allocations beside the library's.
package tokens

//go:generate go run ../../internal/window/tokens/vocabgen -out ../../internal/window/tokens/vocab
