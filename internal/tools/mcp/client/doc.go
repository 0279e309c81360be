// Package client speaks to MCP servers, whatever they do.
//
//	s := client.Stdio(client.StdioOptions{Name: "files", Launch: client.Exec(exec.Command("mcp-files"))})
//	defer s.Close()
//	s.Send(ctx, message, receiver)
//
// [Stdio] is a [transport.Peer] to a server on standard streams. It starts the server with the
// first message, restarts it with a growing pause, and passes each answer to its
// request. [HTTP] is one to a server over streamable HTTP: it lets the messages of
// clients of HTTP pass with their headers, and is the HTTP client for those that do not use HTTP.
//
// No message is ever sent twice: a request that was under way when its server ended, or
// whose answer broke off, fails with [Lost] or [CutError], because it is not known here what
// the server did.
//
// # Concurrency
//
// All methods may be called from any goroutine, and Listen returns at once. On standard
// streams frames are handed over by the goroutine that reads the server's standard output,
// in the order of the server: a Receive that waits stops that server's pipe, and must not
// wait for another answer of the same server. Over HTTP each answer has a goroutine of its
// own. Close waits for a Receive under way.
//
// # What to expect
//
// A server's message passes as it is, in constant memory: at most a head of 64 KiB and a
// buffer of 32 KiB for each that is under way. The head tells whom it is for; where the id
// stands behind a result that is too large for memory, and more than one request is open
// on a process, the message lies in a file until its id was found. What is no message, or
// an answer to nobody, is counted in the journal and never troubles a client.
//
// The requests and notifications of a server on standard streams go to the clients that listen.
// When none does, they go with the latest open request, or wait, up to 64 messages.
//
// A process that several clients use must be Shared: only then may their ids, or those of
// requests under way of one client, be equal.
//
// # How it is tested
//
// Against child processes, the test binary itself, that answer twice, die in the middle
// of a message, ignore SIGTERM or write 256 MiB without a newline; against real HTTP
// servers that break off, redirect and forget sessions; and against a whole MCP server of
// both protocol versions over every way. Pauses with testing/synctest.
package client
