package stress

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// terms are words that are common where Argo CD is used; some match most of what there is,
// some a part of it, the last matches every object that has a name.
var terms = [...]string{"prod", "team", "platform", "staging", "dev", "service", "app", "api", "kubernetes", "https", "e", "."}

// searchPage asks for one page of a search. A refusal because of too many matches is as good as an answer: p is nil then, and total their
// number. After any other refusal, which is noted as an error, ok is false.
func (c *caseRun) searchPage(ctx context.Context, args map[string]any, number int) (p *page, total int, ok bool) {
	if number > 1 {
		args["page"] = number
	}
	query := args["query"]
	a, ok := c.callTool(ctx, searchTool, args)
	if !ok {
		return nil, 0, false
	}
	if a.IsError {
		total, err := parseTooMany(a.Text, c.o.MaxMatches)
		if err != "" {
			c.noteError("%s %q: %s", searchTool, query, err)
			return nil, 0, false
		}
		c.noteSuccess()
		return nil, total, true
	}
	p, err := parsePage(a.Text, number)
	if err != nil {
		c.noteError("%s %q page %d: %v", searchTool, query, number, err)
		return nil, 0, false
	}
	if p.total() > c.o.MaxMatches {
		c.noteError("%s %q: a page of %d matches is shown, more than %d", searchTool, query, p.total(), c.o.MaxMatches)
		return nil, 0, false
	}
	c.noteSuccess()
	return p, p.total(), true
}

// parseTooMany reads the refusal of a search with too many matches: it must have their number and advice, and show none of them. problem says
// what is wrong with it, "" for nothing.
func parseTooMany(text string, limit int) (total int, problem string) {
	var r page
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Error == "" {
		return 0, "refused: " + text
	}
	switch {
	case r.Total == nil || *r.Total <= limit:
		return 0, "refused: " + r.Error
	case r.Suggestion == "":
		return 0, "refused without a suggestion: " + r.Error
	case len(r.rows()) > 0:
		return 0, "an error that shows some of the matches: " + r.Error
	case !strings.Contains(r.Error, strconv.Itoa(*r.Total)):
		return 0, "refused without the number of matches: " + r.Error
	}
	return *r.Total, ""
}

// searchManyMatches searches for what matches many objects, and no more than are shown, and reads all of it. Without such a term the case
// is skipped.
func (c *caseRun) searchManyMatches(ctx context.Context) {
	from, to := c.o.MaxMatches/2, c.o.MaxMatches
	args, maxTotal := c.findSearch(ctx, func(total int) bool { return total > from && total <= to })
	if args == nil {
		if !c.isFinished(ctx) {
			c.skipCase("no term was found that matches %d to %d objects (the most were %d)", from+1, to, maxTotal)
		}
		return
	}
	c.note("%v", args["query"])
	if last, ok := c.readAllPages(ctx, searchTool, args); ok {
		c.pageOutOfRange(ctx, searchTool, last, args)
	}
}

// searchTooManyMatches looks for a search that matches more than is shown and so is refused. Without one the case is skipped.
func (c *caseRun) searchTooManyMatches(ctx context.Context) {
	args, maxTotal := c.findSearch(ctx, func(total int) bool { return total > c.o.MaxMatches })
	switch {
	case args != nil:
		c.note("%v: refused, %d matches", args["query"], maxTotal)
	case !c.isFinished(ctx):
		c.skipCase("no term matches more than %d objects (the most were %d)", c.o.MaxMatches, maxTotal)
	}
}

// findSearch makes searches until one has a number of matches that fits accepts, and returns its arguments with that number. If there is
// none, args is nil and maxTotal the highest number that it has seen.
func (c *caseRun) findSearch(ctx context.Context, fits func(total int) bool) (args map[string]any, maxTotal int) {
	var tries []map[string]any
	for _, term := range terms {
		tries = append(tries, map[string]any{"query": term})
	}
	for _, l := range lists {
		tries = append(tries, map[string]any{"query": ".", "resource_types": []string{l.kind}})
	}
	for _, term := range terms[:len(terms)-1] {
		tries = append(tries, map[string]any{"query": term, "resource_types": []string{lists[0].kind}})
	}
	for _, args := range tries {
		_, total, ok := c.searchPage(ctx, withArgument(args), 1)
		switch {
		case c.isFinished(ctx):
			return nil, maxTotal
		case ok && fits(total):
			return args, total
		case ok:
			maxTotal = max(maxTotal, total)
		}
	}
	return nil, maxTotal
}

// pageOutOfRange asks for the page after the last: it is an error of the case unless the answer is a refusal that names the last.
func (c *caseRun) pageOutOfRange(ctx context.Context, tool string, last int, args ...map[string]any) {
	ask := map[string]any{}
	for _, a := range args {
		ask = withArgument(a)
	}
	ask["page"] = last + 1
	a, ok := c.callTool(ctx, tool, ask)
	if !ok {
		return
	}
	if !a.IsError || !slices.Contains(numbersIn(a.Text), last) {
		c.noteError("%s page %d of %d: the answer does not say which page is the last: %s", tool, last+1, last, shorten(a.Text))
		return
	}
	c.noteSuccess()
}

// numbersIn returns the whole numbers in a text.
func numbersIn(text string) (all []int) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(word); err == nil {
			all = append(all, n)
		}
	}
	return all
}
