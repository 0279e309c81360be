// Package gemini asks models through Google's own protocol, generateContent of the Gemini
// API. Vertex AI signs requests in ways of its own and is reached through a gateway.
//
//	m, err := gemini.New(gemini.Options{Key: key, Model: "gemini-2.5-pro"})
//	…
//	a, err := agent.New(agent.Options{Model: m})
//
// A [Model] makes one request at a time and repeats none: the agent does that. It takes its
// key from [Options] alone, and sends it as a header, never in an address. Of the environment
// it reads nothing but the proxies that every Go program uses, and not these either with an
// HTTPClient of one's own.
//
// What is sent: messages of one role that follow each other as one content, all results of a
// turn before its text, because a turn with calls must be followed by as many responses. Calls
// and responses have ids. A result is {"output": text}, a failed one {"error": text}. Tools are
// declared with their JSON Schema as it is. Arguments that are no JSON object are sent inside
// one, names and ids that are refused under others, the same each time.
//
// Calls and words come with signatures of the thoughts behind them (thoughtSignature), which
// models since Gemini 3 demand back: they are kept to the letter in Message.Opaque, and go back
// in their places to the model they came from. Where a turn has calls without one, because another
// model made them or room was made, the value goes with the first call that Google gives for that.
//
// How an answer ends: a filter (SAFETY, RECITATION, a blocked question and the like) is
// agent.StopRefused. A call that the model wrote so badly that the service could not read it
// (MALFORMED_FUNCTION_CALL and the like) is a *agent.ModelError of the kind agent.Broken,
// which the loop tries again. An error with RetryInfo names the time to wait.
//
// What to expect: an error is an *agent.ModelError, or the context's own. An answer is at most
// 16 MiB of words in 512 MiB of stream; one event at most 8 MiB. Nothing for [Options].Patience
// before the first word, or for [Options].Silence after it, ends the request and closes its
// connection; so does the context. Pings and comments alone put that off until Patience, and for half an
// hour before the first event and while the model is said to reason. Redirects are not followed.
//
// A Model may be used from any number of goroutines.
//
// The tests talk to a provider that is as strict as the real one about turns, calls and responses
// (internal/testing/scripted), to servers that break every rule, and the decoder of streams is fuzzed.
package gemini
