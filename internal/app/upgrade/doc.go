// Package upgrade finds out whether a newer release of Plimsoll is there. It downloads and replaces nothing: that is for
// install.sh or the package manager that put the program where it is.
//
//	found, err := upgrade.Check(ctx, upgrade.Options{Version: "v0.1.0"})
//	if err == nil && found.Newer { fmt.Println(found.Latest, found.Page) }
//
// One GET without a token is sent, to GitHub's releases API or to an address of the same form. It takes at most [Timeout], and at most
// [MaxBody] bytes of the answer are read. Redirects never lead from https to http. Errors are one sentence with the next step.
//
// Safe for concurrent use. The tests ask real servers; the reader of answers is fuzzed.
package upgrade
