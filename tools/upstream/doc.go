// Package upstream speaks to MCP servers, whatever they do.
//
//	s := upstream.Stdio(upstream.StdioOptions{Name: "files", Launch: upstream.Exec(exec.Command("mcp-files"))})
//	defer s.Close()
//	s.Send(ctx, message, receiver)
//
// [Stdio] is a [peer.Peer] to a server on standard streams. It starts the server with the
// first message, restarts it with a growing pause, and tells each answer to the request
// it is for. No message is ever written twice: a request that was under way when its
// server ended fails with [Lost].
//
// # Concurrency
//
// All methods may be called from any goroutine. Frames are handed over by the goroutine
// that reads the server's standard output, in the order of the server: a Receive that
// waits stops that server's pipe, and must not wait for another answer of the same server.
// Close waits for a Receive under way.
//
// # What to expect
//
// A server's message passes as it is, in constant memory. Its head tells whom it is for;
// where the id stands behind a result that is too large for memory, and more than one
// request is open, the message lies in a file until its id was found. What is no message,
// or an answer to nobody, is counted in the journal and never troubles a client.
//
// # How it is tested
//
// Against child processes, the test binary itself, that answer twice, die in the middle
// of a message, ignore SIGTERM or write 256 MiB without a newline; pauses with
// testing/synctest.
package upstream
