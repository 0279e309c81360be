// Package openai asks models through OpenAI's Chat Completions protocol:
// OpenAI itself, and every service and server that speaks it (Azure, OpenRouter,
// DeepSeek, Kimi, Groq, vLLM, SGLang, llama.cpp, LM Studio, Ollama, …).
//
//	m, err := openai.New(openai.Options{Key: key, Model: "gpt-5.1"})
//	m, err := openai.New(openai.Options{BaseURL: "http://127.0.0.1:11434/v1", Model: "qwen3:32b"})
//	…
//	a, err := agent.New(agent.Options{Model: m})
//
// A [Model] makes one request at a time and repeats none: the agent does that. It takes its
// key from [Options] alone; of the environment it reads nothing but the proxies that every Go
// program uses, and not these either with an HTTPClient of one's own.
//
// What is sent: the system prompt, messages, tools, stream_options with include_usage, and
// the limit of the answer under the name that the service knows. Arguments that are no JSON
// object are sent inside one, names and ids that the service would refuse under others, the
// same each time, so that caches hold. To OpenAI a hash of the session goes as
// prompt_cache_key. Thoughts (reasoning_content, reasoning, reasoning_details) and the
// signatures of calls (extra_content) go back to the model they came from, with the calls
// they led to: DeepSeek, Kimi and Gemini refuse a history without them, and to the first two
// a space goes where another model, or no reasoning, led to a message. They are in
// Message.Opaque until then. OpenAI and most others give none.
//
// What is understood: streams and whole answers; calls in pieces, several at once, without
// ids, without an index, or all with the same; usage wherever it is reported.
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
// The tests talk to a provider that is as strict as the real ones (internal/testing/scripted), to
// servers that break every rule, and the decoder of streams is fuzzed.
package openai
