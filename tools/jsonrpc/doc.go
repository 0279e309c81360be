// Package jsonrpc reads the envelope of JSON-RPC 2.0 messages and frames them on streams,
// without decoding what is inside.
//
// [Scan] finds the id, the method and where params, result and error lie in the raw bytes
// of a message. Ids are compared as they were written, so that a number beyond 2^53 or
// with a trailing zero stays itself.
//
// # Concurrency
//
// The functions may be called from any goroutine.
package jsonrpc
