// Package a2a serves an agent over the Agent2Agent protocol, 1.0 and 0.3, with JSON-RPC and
// REST, on the official SDK's types and transports.
//
//	server, err := a2a.New(a2a.Options{
//		Name:     "argocd",
//		Executor: a2a.AgentExecutor(myAgent),
//		Path:     "/a2a/argocd/",
//		Dir:      "/var/lib/plimsoll/tasks/argocd",
//	})
//	mux.Handle("/a2a/argocd/", server) // the card is at /a2a/argocd/.well-known/agent-card.json
//	…
//	err = server.Close(ctx) // before the http.Server's Shutdown: it ends the streams
//
// An [Executor] does the work. [AgentExecutor] makes one of an agent: a context id is a
// session, the answer is one artifact that streams in pieces, calls of tools are statuses
// with metadata, and the last status says the outcome.
//
// # Tasks
//
// Nothing that a client does to its connection ends a task: CancelTask does, and Close. Every
// task ends in a final state, or waits for its client: also when the executor panics, fails,
// does not return, or when the process was killed (then at the next start, as failed). What
// a client was told of a state is in the store before. A message to a task that waits goes on
// with it; one to a task that works or has ended is refused.
//
// An executor that has said nothing for half a second has a task all the same, so that
// its client can watch and cancel it. Before that it may answer with a message instead.
//
// # Streams
//
// Each event of a task has a number, and it is the id of its event on every stream. A
// subscription begins with the task and goes on with what is newer. A client that comes back
// with Last-Event-ID gets exactly what it did not have, as long as that is kept (package
// tasklog), also for some minutes after the end of the task; else it gets the task as it is.
// The same holds for a client that sends the same SendStreamingMessage again with that
// header, as libraries for event streams do: no second task is begun. A subscription to a
// task that has ended is -32004, UnsupportedOperation.
//
// A stream is a position in the task's log. A client that does not read holds up its own
// connection for [Limits].WriteTimeout, and nothing else. Comments keep idle streams open.
//
// An error before the first event is an answer in JSON with a status; over JSON-RPC it is an
// event with status 200, for JavaScript's fetch an answer with it, as the SDKs' clients expect.
//
// What an executor has streamed is in the store a second later, or later where the task is
// large: at most 1 MiB a second is written for a task. A process that is killed leaves it in
// the failed task.
//
// # Versions
//
// The header A2A-Version selects it: "1.0", "0.3", none for 0.3. Calls of JSON-RPC without it
// are told apart by their names; REST is of 1.0 alone. The card has the fields of both
// versions unless it is asked for with A2A-Version: 1.0, or [Options].Only10 is set.
// The fields of 1.0 are taken under both of their names, taskId and task_id.
//
// # Push notifications
//
// They tell a change of state: with the whole task where that ends or waits, with the event
// else; 0.3 always with a task. They are queued, tried again with growing pauses on what can
// pass, and sent in order for each configuration. They go to public addresses only, and to
// [Options].PushAllow: that is checked when a configuration is made and again at each
// connection. Redirects are not followed, proxies are not used.
//
// # Who may call
//
// Everybody who reaches the handler, and each of them sees all tasks: put what asks for a key
// before it. Web pages of other origins are refused.
//
// # What to expect
//
// [Limits] bounds everything, [Stats] counts what the bounds did. A request is read up to 8
// MiB, 64 levels and 100,000 values. In memory are the tasks that run or are read (at most
// MaxRunning and MaxStreams, of MaxTask each), the logs (MaxLogs), notifications that wait
// (16 MiB), and about 500 bytes of each task in the store. An event is encoded once and decoded
// once per stream.
//
// # How it is tested
//
// Clients that stall, over net.Pipe in synctest and over a socket; clients that break off
// after each event and come back; panics, closing and restarts; addresses that must not
// be asked; any body to all transports, by fuzzing. internal/tcksut is the system under test
// for A2A's public test kit.
package a2a
