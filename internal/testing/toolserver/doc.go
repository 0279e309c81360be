// Package toolserver is a real MCP server to test and measure with. It speaks both protocol versions of
// the protocol (2024-11-05 to 2025-11-25 with sessions, 2026-07-28 without) over standard
// streams and streamable HTTP, with JSON and SSE answers, and misbehaves when it is told to.
//
//	s := toolserver.New(toolserver.Options{})
//	ts := httptest.NewServer(s.Handler())      // or: go s.ServeStdio(ctx, stdin, stdout)
//
//	go run ./internal/testing/toolserver/standalone         // the same on standard streams
//
// It is written by hand and shares no code with the official SDK or with the gateway, so
// that a test between them is a test of all three. Everything is deterministic: the same
// arguments give the same bytes.
//
// # Tools
//
// Well-behaved: echo {text}, params (its own params as they came), headers (of the HTTP
// request), structured, image {bytes}, bigint, unknown_fields, error {text},
// list {items} and counter {bytes} (both readOnlyHint; counter differs with every call),
// write (counts its calls), stats, change {what, uri} (causes change notifications), log
// {level, text, count}, slow {ms, steps} (progress), region
// {region} (x-mcp-header).
//
// Large, generated while they are sent: big {bytes, items, kind, needle}. The kinds are
// json (an object with an array), items (an array), one-item, lines, text (no newline),
// structured (text and structuredContent alike), blocks (many text blocks); needle is put
// into the very last item or line. huge_error {bytes, protocol}.
//
// Interactive: ask {mode, message, rounds, several, url}, sample, roots. With a session
// they send requests to the client; without one they answer input_required, and keep
// what they learned in a sealed requestState.
//
// Faults: cut {after} (the stream ends in the middle of a result), die {mid, code}, silent,
// twice, foreign_id, noise, noline {bytes}, drop {ms} (an SSE stream closed with retry, to be
// resumed by Last-Event-ID).
//
// Also: resources (small ones, test://large/{bytes}, a blob, subscriptions), templates,
// prompts (greet, ask, large), completion, pages of tools/list (Options.PageSize).
//
// # Concurrency
//
// A Server serves any number of connections at once. Every result is written as it is made,
// through a buffer of 32 KiB, so that a gigabyte costs no memory.
//
// # How it is tested
//
// With the official Go SDK's client in both protocol versions over both transports.
package toolserver
