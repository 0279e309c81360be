// Command spool shows how a Go program keeps a text or JSON of any size on disk and gives it
// out in pages, with the package that Plimsoll's own gateway keeps the results of tools in.
//
//	go run ./examples/spool [PATTERN] < result.json
//
// It prints the first page and, with a pattern, the items or lines that match. What was kept
// is removed at the end; nothing is held in memory whatever comes in.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/plimsoll/plimsoll/tools/spool"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "spool:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	if len(args) > 1 {
		return errors.New("give one pattern or none, as in: spool 'error|failed' < result.json")
	}
	dir, err := os.MkdirTemp("", "spool-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := spool.Open(spool.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	// Only who names the same principal reads it again.
	const who = "example"
	w, err := store.Create(spool.Source{Principal: who, Server: "example", Tool: "stdin", PageBytes: 4000, PageItems: 5})
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, in); err != nil {
		return errors.Join(err, w.Cut("the input broke off"))
	}
	if err := w.Complete(spool.Final{}); err != nil {
		return err
	}

	kept, err := store.Read(who, w.Handle())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	page, err := kept.Page(ctx, 1, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", page.Text)
	fmt.Fprintf(out, "page %d of %d: %s %d-%d of %d, %d bytes in all\n",
		page.Number, page.TotalPages, kept.Totals().Shape.Noun(), page.From, page.To, page.TotalItems, kept.Totals().Bytes)

	if len(args) == 0 {
		return nil
	}
	found, err := kept.Search(ctx, spool.SearchRequest{Pattern: args[0]})
	if err != nil {
		return err
	}
	for _, m := range found.Matches {
		fmt.Fprintf(out, "%d: %s\n", m.Item, m.Text)
	}
	fmt.Fprintf(out, "%d of %d match\n", found.Total, found.Searched)
	return nil
}
