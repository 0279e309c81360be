// Package scripted is a model provider that plays a script. It speaks the protocols of providers well enough for real agent CLIs, and is as
// strict as the real ones: a history with an orphaned tool call, or an input over the window, is refused in the provider's own words.
//
//	p := scripted.New(scripted.Options{Window: 40_000, Script: scripted.Shells("finished", "cat a.log", "cat b.log")})
//	server := httptest.NewServer(p)
//
// A [Script] says what the model answers in which turn; its calls (Shell, Read) become calls of whatever tool for that the request declares,
// so that one script drives every client. A refused or failed request is the same turn again. Requests without tools, and a client's own
// compaction, go to Options.Side. Options.Reasoning plays what newer models bind their reasoning to ([RuleOf]), [Fault] what goes wrong on the
// way. Whether an answer gets better or worse without a block of reasoning is not played.
//
// Usage includes what a prompt cache would have found, which lives by Options.Now. The newest requests are kept, within Options.RecordBytes
// ([Provider.Requests]). A Provider may be used by any number of connections.
package scripted
