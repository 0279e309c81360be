// Package toolset has the MCP tools that agents use with Argo CD. No answer of the tools
// can flood a model, and every number in an answer is exact.
//
//	client, err := argocd.New(argocd.Options{Name: "prod", URL: "https://argocd.example.com", Token: token})
//	set, err := toolset.New(toolset.Options{Instances: []*argocd.Client{client}})
//	defer set.Close()
//	server, err := builtin.New(builtin.Options{
//		Name: "argocd", Version: "1", Tools: set.Tools(), Instructions: set.Instructions(),
//	})
//
// # The tools
//
// list_applications, project_list, applicationset_list and cluster_service__list give
// pages of short rows, 20 unless asked for more, 100 at most. search_argocd_resources looks
// through everything. Others read one object and what belongs to it, and those that change
// something are there with [Options].AllowWrites only, and do nothing before they have
// been told the name of the object again.
//
// Names, arguments, defaults and keys of answers are those of the Python server that came
// before, so that prompts and programs written for it keep working. It counted only what
// was on a page; here a page comes with the counts over all that matches.
//
// # An answer
//
// One JSON object. What tells about all of them stands first: pagination, summary (by
// health, sync status and project: the ten largest and the rest), next (the call for the
// following page, as it stands), link (a template, once, in place of a link in every row).
// Then the items. A page of 11 to 20 rows takes 5,000 bytes, any other default answer below
// 10,000: where that is too little, all rows of the page lose the same fields, those first
// that tell least, and a note says so; a smaller page_size shows them. All answers of the
// lists that were recorded from a real server stay below 3,500
// tokens of o200k. Whole objects (full=true) and pages of more than 20 have no such bound:
// who serves the tools puts them behind the gateway, which gives them out in pages.
//
// An answer that would be incomplete is an error: a list that breaks off, a page beyond the
// end (with the number of the last page), more matches than a search may have (with counts that help
// to narrow it), an invalid pattern (with what to send instead).
//
// # Instances and tokens
//
// Every tool has the argument "instance" where there are several. With [TokensAllow] and
// [TokensRequire] a client's own token is used, from the header [DefaultUserHeader] (for
// one instance only: X-Argocd-Api-Token-NAME) or else its bearer token, so that Argo CD's
// own rules decide. A header that cannot be a token is an error, never passed over: the
// call would go on with other rights. Whoever serves the tools over HTTP and has a bearer
// token of its own must take that out of the header first.
//
// What one credential has read is never shown to another.
//
// # Concurrency and memory
//
// Everything may be called from any goroutine. Nothing is kept between calls but what the
// inventory keeps on disk when [inventory.Options].SnapshotTTL says so. A call that lists
// takes what package inventory says, whatever the number of objects, and the page.
//
// # How it is tested
//
// Through the functions of the tools, over HTTP, against lists recorded from a real server
// and against the simulator: every page of every kind is compared with the list, measured
// in bytes, and counted in tokens. Lists are broken off, tokens expire, login pages are
// shown, callers go away. What is read of headers is fuzzed.
package toolset
