// Package sse reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
//	events := sse.NewReader(body, 0)
//	for {
//		event, head, rest, err := events.Next()
//		…
//	}
//
// [Reader] gives each event as its fields and its data: a head that is held, and a rest that is read from the stream as
// the caller goes, so that an event of any size passes in constant memory. A caller that wants events whole gives the
// largest one as the bound, and an event with a rest is too large or broken off.
//
// Lines end with LF, CRLF or CR; a byte order mark, comments and fields that the standard does not know are skipped;
// fields other than data have at most [MaxFieldBytes].
//
// A Reader belongs to one goroutine at a time. What it holds is bounded: 4 KiB while events are small, at most the head and
// 32 KiB. The tests hold it against the standard's words, and the fuzz target does so for any text in pieces of any size.
//
// The one reader of events that is not this one is wire.Answer of the window plane: it does not read a stream but looks on
// while the proxy passes its bytes, and keeps none of them.
package sse
