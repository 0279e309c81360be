// Package argocd is a client of the API of Argo CD that holds one object at a time.
//
//	c, err := argocd.New(argocd.Options{Name: "prod", URL: "argocd.example.com", Token: argocd.FileToken(path)})
//
//	q := argocd.Query{Fields: argocd.SummaryFields(argocd.Applications)}
//	info, err := c.List(ctx, argocd.Applications, q, func(item []byte) error { … })
//
//	app, err := c.Get(ctx, []string{"applications", name}, url.Values{"project": {project}})
//	err = c.Stream(ctx, []string{"applications", name, "logs"}, query, func(entry []byte) error { … })
//	_, err = c.Call(ctx, "POST", []string{"applications", name, "sync"}, nil, body)
//
// # Lists
//
// Argo CD has no pages: a list is one answer of any size. It is taken apart as it comes, and
// each object is passed to a function. A list is valid if it was complete JSON to its last
// byte; any other end is an [*Error], and [ListInfo] has the number of objects that had come
// by then. A caller that shows them as the whole list would be wrong.
//
// Lists of applications and projects can leave out fields. Which ones a server knows depends
// on its version, which is asked for and remembered for ten minutes; see [Query]. A list
// whose items are null and that tells no version is read again, for 30 seconds: a server that
// has just started says that of an installation with a thousand applications.
//
// # Paths
//
// A path is a list of segments below /api/v1, and every segment is escaped: names with
// slashes, spaces and percent signs, and the URL of a cluster with its port, are one segment.
//
// # Errors
//
// An [*Error] has a kind to go by and a hint for the user. Argo CD answers 403 for an
// application that does not exist, unless the request names its project; the hint says both.
// Web pages, login pages and redirects to another host are told as such, and no redirect
// takes the token to another origin. Text of a server is shown on one line, without control
// characters and without what stands before the host of a URL; no credential is in an error
// or in what printing a Client or its Options gives.
//
// Only GET and [Client.Ask] are repeated, as long as no answer has begun: without a connection, on 429,
// 502, 503 and 504. The server may be silent for [Options].Timeout, at first and between two parts of
// a body; a stream that follows may be silent until its context ends.
//
// # Users
//
// [Client.As] asks with another token over the same connections, so that the rules of Argo
// CD itself decide what a user sees. [Client.Who] is different for each of them.
//
// # Configuration
//
// [Discover] finds a server and a token where the argocd CLI and other MCP servers have them:
// in variables of the environment and in the CLI's config file. A token of that file goes to
// its own server only.
//
// # Concurrency
//
// A Client may be used by many goroutines. A function that is given to List, Elements or
// Stream is called by the goroutine of that call; the next bytes are read when it returns,
// so a slow one slows the server down and nothing is buffered for it. The time that it takes
// does not count as the server's silence.
//
// # What to expect
//
// A call holds its largest object so far (64 KiB at least, at most [Options].MaxObject) and
// about 50 KiB for gzip. An object nests at most 1000 deep. Nothing grows with a list: an
// answer may have any number of objects, and takes as long as its context allows.
//
// # How it is tested
//
// Against recorded answers of a real server: whole lists, and one of each refusal with its
// header. A list is cut at every byte, plain and packed; time is synthetic; the heap is
// measured in the middle of 100,000 objects. The splitter is fuzzed against encoding/json;
// refusals, streams, config files and ARGOCD_OPTS are fuzzed too.
package argocd
