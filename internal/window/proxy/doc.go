// Package proxy is the HTTP proxy between agents and their model providers: it counts,
// repairs and makes room before a request is sent, recovers when a provider refuses one as
// too long, and is byte-transparent otherwise.
//
//	p, err := proxy.New(proxy.Options{Token: token, Journal: j})
//	s, err := p.Listen(proxy.ListenOptions{})          // 127.0.0.1, a free port
//	base := proxy.BaseURL(s.URL(), token, proxy.Upstream{Name: "anthropic"})
//	// ANTHROPIC_BASE_URL=base claude
//
// # Paths
//
// A path is [/TOKEN]/UPSTREAM/REST. For OpenAI /openai/v1 stands for the upstream's base
// URL, which ends in /v1 itself; for the others /NAME does. The rest goes on as it came.
// Model requests are POSTs to …/chat/completions, …/responses, …/messages,
// models/M:generateContent and :streamGenerateContent, Vertex's rawPredict and
// streamRawPredict, Azure's openai/deployments/D/chat/completions and Bedrock's
// model/ID/converse, converse-stream and, for Anthropic models, invoke; a model that is named
// by a number is told by its body. Everything else (lists of models, counting, files,
// batches) streams through untouched in both directions and is counted as passed. A WebSocket on /responses is answered 426, whose clients then use HTTP; other
// upgrades go through.
//
// # Bytes
//
// Method, path, query, headers and body go on as they came, less hop-by-hop headers; Host
// becomes the upstream's. Nothing is added. Header names are written in canonical form and
// sorted, as net/http does; names are case-insensitive. Compressed bodies are looked into
// decoded and sent compressed when nothing was changed. Answers go down as they come, each
// read flushed, trailers and 1xx included, with the headers Plimsoll-Tokens,
// Plimsoll-Limit and Plimsoll-Actions added to those of model requests.
//
// # What is done with a model request
//
// The body is read once, decoded if it is packed, and viewed ([wire.Parse]). Calls and
// results are paired (package repair), the conversation's checkpoint is put back in, a loop
// that its newest messages close is told or refused (package loops), and the input is counted: the provider's own usage for the longest known prefix and an
// estimate of the rest. Under the trigger nothing is touched; over it, or when it might not
// fit at all, room is made to the target (package compact), one request of a conversation
// at a time. Where only the requested output does not fit beside the input, that is
// lowered. When a band spans both the trigger and the limit, the provider is asked to
// count, with the client's credential and a short deadline: Anthropic, Gemini and OpenAI's
// Responses do so for free. What cannot be made to fit is answered here, in the dialect's
// own words, unless the limit is only a default. After every edit the body is validated
// against what came; an edit that broke a rule is taken back.
//
// Then the answer is awaited. When the provider refuses the request as too long (package
// overflow), the limit is learned if it was named, the request is made smaller without a
// model, and sent again: once to a limit that was named, else up to four times, each
// RetryTarget of the one before. All this happens before a byte has gone down. Of a 200 stream
// only what announces content is held, for at most 2 s or 64 KiB. A refusal after content
// only teaches. 429 and 5xx are the client's to retry. When nothing helps, the provider's
// own answer goes down.
//
// Requests that cannot be read go on as they came. What is done with those that are not the whole history, or in which
// somebody compacts, is the table of [wire.Bypass].
// Mode Observe counts and reports, Off relays only.
//
// # Bounds
//
// Bodies of model requests are held in memory, charged to a budget before they are read, with the memory needed to look
// into them: the text, as much again for an edit, and 400 bytes a record. Without room within a short wait the answer is
// 503 with Retry-After, and a body that
// stops coming for a minute is given up with 408. Above 256 KiB bodies take turns, one for each processor but one, so that
// small requests never wait behind them; one giant (4 MiB, or 80,000 records) is looked into at a time, and those for which
// turn or memory do not come within half a second stream through, counted as passed for giants. A body above
// MaxHeld (64 MiB) streams through in constant memory, counted as passed for its size, so
// a 200 MB body reaches the provider, which refuses it in its own words; above MaxBody
// (1 GiB) the answer is 413. An answer may take as long as it
// likes, but one that is streamed and stands still (no event but pings for 5 minutes, longer where the model was seen to pause longer, 30
// minutes while its provider says that it reasons) ends in the provider's own error, so that the client tries again. An answer that
// breaks off is cut off for the client too.
//
// # Who may ask
//
// Host must name localhost and the port, or a configured host; a web page's Origin must be
// ours; on Linux the other end of a connection on this machine must belong to this user or
// root.
// The token is compared in constant time, and demanded when keys are injected or the
// listener is beyond loopback, which also demands TLS. Neither token nor keys nor text
// enter an event, an error or a file; a credential is known only by its HMAC.
//
// # Concurrency and tests
//
// A Proxy is safe for concurrent use and starts no goroutine that outlives a request. The
// journal is told everything; nothing else is logged. The tests send requests through real
// sockets to scripted providers that refuse in every known form, hang, break off, send HTML
// or gzip, and compare raw bytes on both sides; `go run ./bench proxy` measures what it
// costs against httputil.ReverseProxy.
package proxy
