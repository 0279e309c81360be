// Package anthropic asks models through Anthropic's Messages protocol:
// Anthropic itself, and the services that speak it (DeepSeek, Kimi, MiniMax, GLM,
// gateways). Bedrock and Vertex sign requests in ways of their own and are reached through a
// gateway.
//
//	m, err := anthropic.New(anthropic.Options{Key: key, Model: "claude-sonnet-4-5"})
//	…
//	a, err := agent.New(agent.Options{Model: m})
//
// A [Model] makes one request at a time and repeats none: the agent does that. It takes its
// key from [Options] alone; of the environment and of files of credentials it reads nothing
// but the proxies that every Go program uses, and not these either with an HTTPClient of
// one's own. A service that wants a bearer token gets it as the header Authorization.
//
// What is sent: all results of a turn in one user message, before its text; messages of one
// role that follow each other as one; no empty text. The system prompt, the last tool and the
// last message are marked for the service's cache. Arguments that are no JSON object are sent
// inside one, names and ids that are refused under others, the same each time. Where a request
// declares no tools but its history has calls, the called ones are declared and may not be
// called. max_tokens, which this protocol demands, is the request's, otherwise what the model
// gives, at most 16,384.
//
// Thoughts are signed, and refused when they were changed: they are kept to the letter in
// Message.Opaque, with their place among words and calls, and go back to the model they came
// from. With a budget for [Options].Thinking a turn that lost its thoughts, because room was
// made, goes on without.
//
// What to expect: an error is an *agent.ModelError, or the context's own. An answer is at most
// 16 MiB of words in 512 MiB of stream; one event at most 8 MiB. Nothing for [Options].Patience
// before the first word, or for [Options].Silence after it, ends the request and closes its
// connection; so does the context. Pings and comments alone put that off until Patience, and for half an
// hour before the first event and while the model is said to reason. Memory is about twice the words of the answer, at the end
// three times. Redirects are not followed.
//
// A Model may be used from any number of goroutines.
//
// The tests talk to a provider that is as strict as the real one, signatures included
// (internal/testing/scripted), to servers that break every rule, and the decoder of streams is fuzzed.
package anthropic
