// Command standalone runs the test server of package toolserver: on standard streams, or over
// streamable HTTP with -http ADDR.
//
//	go run ./internal/testing/toolserver/standalone
//	go run ./internal/testing/toolserver/standalone -http 127.0.0.1:0 -ready-file url.txt -answer sse
//
// A tool that is told to kill the server ends it with status 3. It has no state on disk and
// no test of its own: what it serves is tested in its package.
package main
