// Package scripted is a model provider that plays a script. It speaks the four protocols
// (OpenAI Chat Completions and Responses, Anthropic Messages, Google generateContent; with
// and without streaming) well enough for real agent CLIs, and it is as strict as the real
// providers: a history with an orphaned tool call is refused in the provider's own words,
// an input over the window in whichever provider's form a test asks for.
//
//	p := scripted.New(scripted.Options{
//		Window: 40_000,                                  // tokens
//		Script: scripted.Shells("finished", "cat a.log", "cat b.log"),
//	})
//	server := httptest.NewServer(p)
//
// A [Script] says what the model answers in which turn: text, thinking, tool calls. Calls
// are written as what they are for (Shell, Read) and become calls of whatever tool for that
// the request declares, with arguments that fit its schema, so that one script drives every
// client. A turn is counted when its answer was written whole; a refused or failed request
// is the same turn again when the client repeats it. Requests without tools (titles, quota
// probes) and a client's own compaction go to Options.Side and count for nothing.
//
// A request is held to window/wire's validators, then counted by a [Tokenizer], then held
// to Options.Window; [Forms] lists the refusals. The usage that is reported includes what a
// prompt cache would have found: the longest prefix of tools, system and messages, cache
// marks left out, that was answered before. [Fault] makes the provider hang, break off in the
// middle of an event, send HTML, and so on.
//
// What newer models bind their reasoning to is played with Options.Reasoning; [RuleOf] has the
// published rules by model. Answers then carry signatures, or encrypted reasoning, that hold the
// model's family, the account and, where the model is bound to it, a digest of system, tools and
// everything before. A request that sends reasoning back behind a change is refused in the
// vendor's words (Messages), or passes without that reasoning and says so in
// input_transformations (Messages where the request asks for it, Responses always). Compaction on
// demand (Messages), /responses/compact, compaction_trigger and context_management (Responses)
// give a block or item behind which reasoning that is kept stays valid. Chat Completions and
// Gemini bind nothing; a thoughtSignature of Gemini comes back as it may. Options.Strict adds the
// content that dooms a session because every repeat has it: see content.go.
//
// A scripted block shows the protocol and not what reasoning is worth: a test here tells which
// blocks a provider takes, never whether an answer gets better or worse without them.
//
// The cache of prompts lives by Options.Now, so that usage tells what a pause costs, also in a
// testing/synctest bubble. [Provider.Stats] has the totals: refusals by cause, reasoning taken and
// dropped, tokens read from the cache and written into it.
//
// Every request is kept for assertions ([Provider.Requests]), the newest within
// Options.RecordBytes. Paths that are no model request are answered too: model lists,
// token counts, HEAD /, a WebSocket upgrade (426); anything else gets 404 and the digest of
// the body that arrived. A Provider may be used by any number of connections at once.
//
// Command serve beside it is the same thing for trying by hand.
package scripted
