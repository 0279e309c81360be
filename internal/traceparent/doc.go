// Package traceparent reads the header traceparent of W3C Trace Context (https://www.w3.org/TR/trace-context/), which MCP clients
// put into params._meta of a request (SEP-414).
//
//	parent, ok := traceparent.Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
//
// What is malformed in any way is no parent, as section 3.2.2 wants it: capitals, zeros for an id, version ff. Of versions after
// 00 the fields of 00 are read.
//
// All functions may be called from any goroutine. The parser is fuzzed.
package traceparent
