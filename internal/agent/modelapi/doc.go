// Package modelapi is shared by the adapters of models: an HTTP exchange that is bounded
// on every side, the events of its answer, and what a failure means.
//
//	e, err := modelapi.New(modelapi.Options{URL: address, Info: info, Secrets: []string{key}})
//	…
//	x := e.Begin(ctx)
//	defer x.Close()
//	res, err := x.Do(req)             // a client's HTTPClient; the error names the next step
//	body, err := x.Answer(res)        // a stream of events, or a whole JSON answer
//	for data, err := range body.Events() { … }
//
// An [Exchange] is one request. It ends when its context does, when nothing came for too
// long, or when the answer passes [MaxStream] bytes, one event [MaxEvent], or its words
// [MaxAnswer]; the connection is closed then. Redirects are not followed: they would carry
// the conversation to a host that nobody named.
//
// Every failure is an *agent.ModelError whose kind decides what the loop does with it. Its
// text is at most 300 bytes, printable, and has no credential in it: not the key, not the
// values of headers, nothing of an address but scheme, host and path.
//
// Names and ids that one provider makes and another refuses are mapped, see [Name], [ID].
//
// An Endpoint may be used from any goroutine, an Exchange by one. Beyond what the answer
// holds, an exchange keeps the longest event, at most 64 KiB of an error, and one timer.
// The tests play servers that are slow, silent, endless, compressed or no servers at all;
// the decoder of events is fuzzed.
package modelapi
