// Package toolserver is a real MCP server to test and measure with. It speaks both protocols (2024-11-05 to 2025-11-25 with sessions,
// 2026-07-28 without) over standard streams and streamable HTTP, with JSON and SSE answers, and misbehaves when it is told to.
//
//	s := toolserver.New(toolserver.Options{})
//	ts := httptest.NewServer(s.Handler())                   // or: go s.ServeStdio(ctx, stdin, stdout)
//	go run ./internal/testing/toolserver/standalone         // the same on standard streams
//
// It is written by hand and shares no code with the official SDK or with the gateway, so that a test between them is a test of all three. The
// same arguments give the same bytes. The table of its tools is in tools.go.
//
// A Server serves any number of connections at once. Every result is written as it is made, through a buffer of 32 KiB, so that a gigabyte
// costs no memory.
package toolserver
