// Package delegate makes an agent that speaks A2A 1.0 an MCP server in this process, whose tools are its skills.
//
//	helper, err := delegate.New(delegate.Options{Name: "helper", URL: "https://agents.example.com/a2a/helper"})
//	g := gateway.NewServer(gateway.ServerOptions{Name: "helper", Builtin: true, Named: true, Dial: func(gateway.Dialing) transport.Peer { return helper.Dial() }, …})
//
// # Tools
//
// The agent's card is read when a session begins and when its tools are listed, at most once a minute. Each skill is a tool,
// NAME__SKILL, with a message for the agent. A call is a task, or a message where the agent answers with one: its
// statuses are the call's progress, its artifacts the result, of any size: up to 256 KiB are held in memory, the rest in a
// file, and the gateway in front pages them. A task that fails, or is rejected or cancelled, is a result with isError.
//
// A task that waits for its client is a result too, which says so and what the agent asks. The next call of the session goes on
// with it; so does one from anywhere that names it.
//
// # Sessions
//
// The agent's context id is kept for a session: that of the agent that calls ([agent.SessionOf]), else that of the MCP
// client. Clients of HTTP without a session have none.
//
// # When something goes wrong
//
// A stream that breaks off is taken up again with SubscribeToTask, and where that is no use the task is asked for, until
// the agent has not been reached for about half a minute. The end of the call's context cancels the task. A message is never sent
// twice, unless the agent refused it for the task or context that it named.
//
// Each message counts the agents that its question has come through; one that came through [MaxHops] goes no further. Agents
// that do not pass this on are told apart by nothing but time.
//
// # Where it connects
//
// The address is its user's, and reached as other servers are. The card is the agent's: what it names at another
// host, scheme or port must be public or allowed, as for push notifications, and is never sent the credentials. Redirects are not followed.
package delegate
