// Package wire reads the request bodies of five model protocols as views over their raw
// bytes, and edits them by splicing.
//
// A gateway that decodes a request and encodes it again changes it: keys move, numbers
// lose digits, fields nobody knew are lost, and the provider's prompt cache starts anew.
// Here a request is its body plus a [Request]: where the messages, parts, calls, results,
// media and cache marks lie. What needs no edit is forwarded byte for byte.
//
// # Use
//
//	r, err := wire.Parse(wire.Messages, body)
//	if err != nil {
//		// *wire.SyntaxError: forward the body as it came
//	}
//	if r.Bypass.Room() == wire.RoomNever {
//		// somebody else makes room in it
//	}
//	d := r.Draft()
//	d.DropMessages(1, 3)
//	d.InsertMessages(1, wire.TextMessage(r.Dialect, wire.RoleUser, "What came before: …"))
//	next, err := d.Build() // a new body, parsed again
//
// [Parse] reads Chat Completions, Responses, Messages, generateContent and Converse bodies; what differs between them is in [Rules]. [Views] does the same for many requests of
// conversations that go on: what it has read before it only hashes.
// [Decode] unpacks compressed ones. [Request.Units] groups messages that must stay or go
// together. [Request.Fingerprint] names a message for hash chains, cache marks left out.
// [Answer] reads usage, stop reason and errors off a response that streams by, in events or
// in the frames of Amazon Bedrock.
//
// # What to expect
//
// Parse is linear, does not recurse with the nesting of the body, and allocates only
// slices that grow; a 300 KB body takes about 0.2 ms. It checks what it looks at, and of
// everything else only that strings end and brackets match. Keys with escapes are decoded
// before they are compared. Bytes that are no UTF-8 stay. A null is as good as absent.
// Images and files are measured, never decoded; so is long base64 in a block that nobody knows, which is one thing and no text. Every view is bounded ([MaxMessages],
// [MaxParts], [MaxTexts], [MaxDepth]); a request beyond is a [SyntaxError].
//
// # Concurrency
//
// A Request is not changed after Parse and may be read by many. A [Draft] and an [Answer]
// belong to one goroutine.
//
// # How it is tested
//
// Tables of bodies, requests recorded from the real clients (testdata/recorded), random
// edits of histories, and fuzz targets that hold every span, edit and chunking against
// encoding/json. What is made here is held against [Validate], which shares no code with
// the view.
package wire
