// Package standin is an HTTP server in this process that speaks OpenAI's Chat Completions
// protocol and has no language model behind it: for the demonstration, which needs no key
// and no network, and for tests.
//
//	server, err := standin.Listen(ctx, standin.Options{Window: 16_000, Delay: 5 * time.Millisecond})
//	defer server.Close()
//	model, err := openai.New(openai.Options{BaseURL: server.URL(), Key: server.Token(), Model: standin.Model, Standin: true})
//
// It names itself a stand-in wherever it shows: its model is called [Model], owned_by and
// system_fingerprint are [Owner], and its answers end in a line that says so.
//
// # The planner
//
// It goes by the words of the newest question. In this order, for each part of a question between "and", commas and ends of sentences:
//
//   - the name of a tool calls it, with numbers and sizes from the text ("flood 5 MiB",
//     "count to 5", "echo hello 3 times") or with an object that stands there;
//   - "page 3", "next page", "last page", "more" go on with what was listed last, by the page
//     argument of its tool or by the handle of a kept result;
//   - a table of questions about Argo CD: "events of billing-api", "why is shop degraded";
//   - "search for prod" searches, where there is a tool for that, and so does a name alone;
//   - "list all applications", "how many clusters", "which applications are degraded" call the
//     tool that lists those, whatever its server, with the values that its arguments take.
//
// When results are there it answers with counts, a table and how to go on; of more than
// fifty items it shows the first twenty under "PAGE 1 of X items", and a short list whose first
// page was not all of it is read whole first. A job that is not done is polled, an error is
// told in words, a name that was not found is searched for. Without tools it answers with
// what is there; where no word leads anywhere it says what it can do.
//
// The same request has the same answer, to the byte. Nothing is kept between requests but
// the counts of [Stats].
//
// # As strict as the real thing
//
// A history with an orphaned tool call is refused, and so is a request over the window, in
// OpenAI's words: context_length_exceeded, with both numbers. Tokens are counted with
// o200k_base (package tokens), and usage reports these. An answer longer than
// max_completion_tokens or than what is left of the window ends with "length", and the rest
// is given when it is asked for. n above 1, JSON answers and media are not served;
// tool_choice "required" is taken as "auto". A conversation that is to be summarised is a
// refusal: there is nobody who could.
//
// [Options] make it busy, cut streams, break arguments and loop, for tests.
//
// # Concurrency and memory
//
// A [Standin] is used by any number of connections, [MaxConcurrent] at one time, with bodies
// of [MaxBody] each and [MaxHeld] together; what is above is told to come again. [Listen]
// binds to 127.0.0.1 alone and demands a token, which is compared in constant time. Of a
// result 4 MiB and 50,000 values are looked at. A client that does not take a piece of the
// answer for 30 seconds is given up.
//
// # How it is tested
//
// Through OpenAI's own client: forty questions to the tools for Argo CD over its simulator,
// conversations that page through lists and through results that the gateway keeps, the
// tools of package lab, streams. Refusals are held against package overflow and the
// validators of package wire; requests are fuzzed, and what comes of them must be a
// conversation that the validators take.
package standin
