// Package jsonrpc reads the envelope of JSON-RPC 2.0 messages and frames them on streams,
// without decoding what is inside.
//
// [Scan] finds the id, the method and where params, result and error lie in the raw bytes
// of a message; [ScanStart] does what it can of that with the beginning of one. Ids are
// compared as they were written, so that a number beyond 2^53 or with a trailing zero
// stays itself.
//
// # Framing
//
// MCP has a message on a line of its own on standard streams, and in the data of a
// server-sent event over HTTP. [LineReader] and [sse.Reader] give each message as a head
// that is held and a rest that is read from the stream as the caller goes, so that a
// message of any size passes in constant memory:
//
//	lines := jsonrpc.NewLineReader(stdout, 0)
//	for {
//		head, rest, err := lines.Next()
//		…
//		err = jsonrpc.WriteLine(out, head, rest) // or events.Write(event, head, rest)
//	}
//
// [WriteLine] and [EventWriter] write them again, and change only line breaks between
// values, where the other framing has no place for them.
//
// # Concurrency
//
// The functions may be called from any goroutine. Readers and writers belong to one
// goroutine at a time, and the rest of a message to the one that calls Next.
//
// # What to expect
//
// A stream that ends within a message gives io.ErrUnexpectedEOF where its bytes end, never
// a message that looks whole. A reader holds 4 KiB while messages are small, and at most
// its hold and 32 KiB.
package jsonrpc
