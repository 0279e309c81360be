// Package result bounds what a tool's answer may be: it reads the response to a tools/call
// or resources/read while it arrives, and hands on either the very bytes the server wrote,
// or, when they are more than a client should get, a page of them and a notice that says
// how to get the rest.
//
//	outcome := result.Bound(ctx, frame, result.Options{
//		Method:  "tools/call",
//		ID:      head.ID,
//		MaxText: 10_000,
//		Spool:   store,
//		Source:  spool.Source{Principal: message.Principal, Server: "github", Tool: "list_issues"},
//		Deliver: to.Receive,
//	})
//
// # What counts
//
// Text is the part that a model reads: every text block, the text of embedded resources,
// structuredContent, blocks of unknown types, an error's message. It is counted
// unescaped, over all of the response. At most MaxText of it is delivered, page and kept
// blocks together; the notice comes on top and has at most [MaxNotice] bytes. Media (the
// data of images and audio, blobs) counts by itself, up to MaxMedia over all blocks.
//
// A response under these bounds is delivered byte for byte, whatever it holds: unknown
// members, big integers, white space, a wrong encoding.
//
// # What becomes of the rest
//
// A larger one goes to the spool while it arrives. What is delivered then is composed:
// page 1 of the document in the place of the text it came from, small blocks around it as
// they were, then one text block with the notice. The same is in
// result._meta["plimsoll/result"]: {handle, bytes, total_items, page, page_size,
// total_pages, complete}. structuredContent is left out, or, where clients were told a
// schema of it (Options.Contract), one takes its place that they accept: all of it where that has
// room, else the page with the notice under "plimsoll/result", else the notice alone or, where the
// schema is the server's own, the whole. No call that succeeded is reported as failed. An answer with a handle in it is for one principal, so its
// cacheScope becomes private. A composed message is always valid JSON.
//
// A response that breaks off becomes an error that gives the bytes that came; what came stays
// in the spool.
//
// # Decisions
//
//   - Of two equal keys the last wins for what is short (id, isError, mimeType and so on),
//     as decoders have it. Text, media and structuredContent that come twice are both
//     counted and both kept: what went by cannot be taken back.
//   - Brackets and strings are checked while they pass, up to [MaxDepth] deep. The short
//     values that a composed message keeps are checked in full; the ones that are no JSON
//     are left out.
//   - Bytes after the message, and values that are no JSON, are for the client to judge in
//     what passes unchanged. In what is composed the first are ignored; where the message
//     itself cannot be followed it counts as broken off.
//
// # Memory
//
// Constant for any size: a chunk of [ChunkBytes], at most [HoldBytes] of raw bytes twice,
// small members up to [MaxKept], and what the spool needs to write. What must be held
// beyond that (images that are delivered in the end, a frame of another method) is in a
// file without a name.
//
// # Concurrency
//
// Bound is called by as many goroutines as there are responses. It calls Deliver at most
// once, and Progress never beside or after it; with Options.Early they may be called on
// another goroutine than Bound's, which has ended when Bound returns.
//
// # How it is tested
//
// Fuzz tests hold that any chunking of any bytes gives the same outcome, that composed
// messages are valid JSON with the text within bounds, and that everything under the
// bounds is delivered byte for byte. Others pass results of 256 MiB and watch the heap.
package result
