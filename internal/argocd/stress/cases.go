package stress

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/limit"
)

// A testCase is a named test of the server and the function that runs it.
type testCase struct {
	name string
	play func(ctx context.Context, c *caseRun)
}

// lists are the tools that list, with what they list.
var lists = [...]struct{ tool, kind string }{
	{"list_applications", "applications"},
	{"project_list", "projects"},
	{"applicationset_list", "applicationsets"},
	{"cluster_service__list", "clusters"},
}

const searchTool = "search_argocd_resources"

// cases returns the cases in the order in which they are played: what is cheap comes first.
func cases(o Options) []testCase {
	few := max(10, o.Queries/20)
	all := []testCase{
		{"repeated list", func(ctx context.Context, c *caseRun) { c.repeatFirstPage(ctx, few) }},
		{"5 at a time", func(ctx context.Context, c *caseRun) { c.mixCalls(ctx, few, 5) }},
		{"50 at a time", func(ctx context.Context, c *caseRun) { c.mixCalls(ctx, max(50, few), 50) }},
		{fmt.Sprintf("%d queries", o.Queries), func(ctx context.Context, c *caseRun) { c.memoryGrowth(ctx, o.Queries) }},
		{fmt.Sprintf("search over %d", o.MaxMatches/2), func(ctx context.Context, c *caseRun) { c.searchManyMatches(ctx) }},
		{fmt.Sprintf("search over %d", o.MaxMatches), func(ctx context.Context, c *caseRun) { c.searchTooManyMatches(ctx) }},
	}
	for _, l := range lists {
		all = append(all, testCase{"pages of " + l.kind, func(ctx context.Context, c *caseRun) { c.pages(ctx, l.tool) }})
	}
	return all
}

// repeatFirstPage asks for the first page of the applications n times, and notes their total whenever it changes.
func (c *caseRun) repeatFirstPage(ctx context.Context, n int) {
	total := -1
	for range n {
		p, ok := c.readPageOf(ctx, lists[0].tool, map[string]any{}, 1)
		switch {
		case !ok && c.isFinished(ctx):
			return
		case !ok:
		case total < 0:
			total = p.total()
			c.note("%d applications", total)
		case p.total() != total:
			c.note("then %d", p.total()) // somebody works there
			total = p.total()
		}
	}
}

// mixCalls makes n calls, lists of all kinds and searches in turn, so many at one time. It stops early if the case is given up.
func (c *caseRun) mixCalls(ctx context.Context, n, parallel int) {
	var wg sync.WaitGroup
	var next, done atomic.Int64
	for range parallel {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && !c.isFinished(ctx); i = next.Add(1) - 1 {
				if k := int(i) % (len(lists) + 1); k < len(lists) {
					c.readPageOf(ctx, lists[k].tool, map[string]any{}, 1)
				} else {
					c.searchPage(ctx, map[string]any{"query": terms[int(i)/(len(lists)+1)%len(terms)]}, 1)
				}
				c.reportDone(int(done.Add(1)), n)
			}
		})
	}
	wg.Wait()
}

// memoryGrowth makes n calls and notes the memory in the second tenth and in the last: growth by more than a quarter and 8 MiB is an error.
func (c *caseRun) memoryGrowth(ctx context.Context, n int) {
	// Four at one time keep a server of a few cores busy without being a case of their own.
	c.mixCalls(ctx, n, 4)
	from, to, ok := c.memoryMeans()
	if !ok {
		return
	}
	c.note("RssAnon %s in the second tenth, %s in the last", limit.Bytes(from).Human(), limit.Bytes(to).Human())
	// Go's heap swings by a few megabytes with the collector's rhythm; what grows with the
	// calls is beyond that after a thousand of them.
	if to > from+8<<20 && to > from+from/4 {
		c.noteError("memory grows with the calls")
	}
}

// pages reads all pages of a listing.
func (c *caseRun) pages(ctx context.Context, tool string) {
	if last, ok := c.readAllPages(ctx, tool, map[string]any{}); ok {
		c.pageOutOfRange(ctx, tool, last)
	}
}

// readAllPages reads all pages of a listing, of more than Options.MaxPages the first and the last, and checks that they agree with each
// other: what does not is an error of the case. It returns the number of the last page; ok is false after an error.
func (c *caseRun) readAllPages(ctx context.Context, tool string, args map[string]any) (last int, ok bool) {
	first, ok := c.readPageOf(ctx, tool, withArgument(args), 1)
	if !ok {
		return 0, false
	}
	last = max(1, first.Pagination.TotalPages)
	seen := map[string]bool{}
	changed, skipped := false, false
	for number, p := 1, first; ; {
		for _, r := range p.rows() {
			key, err := r.key()
			switch {
			case err != nil:
				c.noteError("%s page %d: %v", tool, number, err)
				return last, false
			case seen[key] && !changed:
				c.noteError("%s page %d: a row stands on another page too: %s", tool, number, shorten(string(r.raw)))
				return last, false
			}
			seen[key] = true
		}
		if number >= last {
			break
		}
		number++
		if half := c.o.MaxPages / 2; last > c.o.MaxPages && number == half+1 {
			number, skipped = last-(c.o.MaxPages-half)+1, true
		}
		if p, ok = c.readPageOf(ctx, tool, withArgument(args), number); !ok {
			return last, false
		}
		if p.total() != first.total() && !changed {
			changed = true
			c.note("the total changed while it was read: %d, then %d", first.total(), p.total())
		}
	}
	switch {
	case skipped:
		c.note("%d items; the first and the last of %d pages", first.total(), last)
	case changed:
	case len(seen) != first.total():
		c.noteError("%s: the pages have %d items and total_items is %d", tool, len(seen), first.total())
		return last, false
	default:
		c.note("%d items on %d pages", first.total(), last)
	}
	return last, true
}

// withArgument copies arguments: a call adds to them.
func withArgument(args map[string]any) map[string]any {
	out := make(map[string]any, len(args)+2)
	maps.Copy(out, args)
	return out
}
