// Package transcripts makes request bodies for tests and benchmarks of the window plane, in every dialect:
//
//   - [Valid] makes a random history that the provider accepts, with all that clients send.
//   - [Broken] damages one until a strict validator refuses it, and says what a repair must not lose.
//   - [NewSession] makes a long session that is resent in full at every turn: turn n extends turn n-1 byte for byte but for cache marks.
//   - [History] writes a conversation that a test spells out; [Growth] gives the requests by which a client came to one.
//
// The same arguments give the same bytes. Texts that a test looks for are markers of plain ASCII (user-17-…, result-4-…), which stand in the
// body unescaped. Functions are safe for concurrent use; a Session is not. The package shares no code with window/wire's validators, by
// which it is tested.
package transcripts
