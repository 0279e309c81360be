// Package transcripts makes request bodies for tests and benchmarks of the window plane:
//
//   - [Valid] makes a random history that the dialect's provider accepts: parallel calls,
//     reasoning, media, cache marks, ids used again, an open last turn, system messages in
//     between, plain and listed content, every kind of escape, lone surrogates.
//   - [Broken] damages such a history as clients, cuts and crashes do (results deleted,
//     doubled, late, text in between) until a strict validator refuses it, and says what a
//     repair must not lose.
//   - [NewSession] makes a long agent session that is resent in full at every turn, as real
//     agents do: turn n extends turn n-1 byte for byte but for the moving cache marks. Its
//     tool results are English, JSON, base64, hexdumps or mixed scripts.
//   - [History] writes a conversation that a test spells out, turn by turn, in any dialect; [Growth] gives the requests by which a
//     client came to one.
//
// Everything follows from a seed: the same arguments give the same bytes. Texts that a test
// looks for are markers of plain ASCII (user-17-…, result-4-…), which stand in the body
// unescaped whatever the style of the rest.
//
// Functions are safe for concurrent use; a Session is not. The package is tested against
// window/wire's validators, which share no code with it.
package transcripts
