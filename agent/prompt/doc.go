// Package prompt composes the system prompt of an agent from the tools that are connected.
//
//	a, err := agent.New(agent.Options{
//		Model: model, Tools: box,
//		Compose: prompt.Compose(prompt.Options{Kind: prompt.ArgoCD, MaxTokens: 4096}),
//	})
//
// # What it says
//
// Who the agent is ([Options].Intro, or one by Kind), and rules for what there is: tools that
// search are preferred for keywords, tools that list are for "all"; lists of more than 50
// items are shown by page ("PAGE 1 of X items (N pages)", a summary, 20 in a table, how to go on), shorter
// ones whole; an answer that would pass the model's output limit is continued by page; kept
// results are read with the tools for them; what changes something is confirmed first.
// What is not connected is not spoken of. Extra is appended.
//
// Tools are told apart by their names (words like search, find, list, all), by the arguments
// in their schemas (page and page_size, confirm, instance) and by ReadOnly. Their
// descriptions, which are their servers' words, do not get into the prompt.
//
// # What to expect
//
// The same tools give the same bytes in whatever order they come: providers keep prompts by
// their beginning. It is 2 to 4 KB: of each kind at most 12 tools are named. The numbers in it
// go by [Options].MaxTokens and Window. With SearchForced it demands that things are
// searched before they are listed, with pages of 10.
//
// # Concurrency
//
// Nothing is kept; what [Compose] returns may be called from any goroutine.
//
// # How it is tested
//
// With the real tools of Argo CD over a simulated installation of 819 applications, through a
// toolbox, against a prompt that is kept in testdata; each rule alone with tools made for it;
// any list of tools is fuzzed.
package prompt
