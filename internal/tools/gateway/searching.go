package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// leastMatch is the smallest size in bytes to which a match is shortened, however many matches there are.
const leastMatch = 80

// answerSearch writes the answer of result_search for a kept result: a page of the pattern's matches. An error is text for the model.
func (r *reader) answerSearch(kept *spool.Result, handle string, args arguments) error {
	pattern, err := args.text("pattern", true)
	if err != nil {
		return argumentErrorf("%s; write a regular expression, such as \"error|failed\"", err)
	}
	sensitive, err := args.flag("case_sensitive")
	if err != nil {
		return err
	}
	page, err := args.number("page", 1)
	if err != nil {
		return err
	}
	if page < 1 || page > 1<<31 {
		return argumentErrorf("there is no page %d of matches; pages are counted from 1", page)
	}
	return r.answerMatches(kept, handle, pattern, !sensitive, int(page), 0)
}

// answerMatches answers with a page of the items that match. No match of the page is left out: if they are too long for the client together, each
// is shortened. size 0 stands for the default.
func (r *reader) answerMatches(kept *spool.Result, handle, pattern string, ignoreCase bool, page, size int) error {
	found, err := kept.Search(r.ctx, spool.SearchRequest{Pattern: pattern, IgnoreCase: ignoreCase, Page: page, Size: size, Most: r.s.o.Settings.maxMatches()})
	if err != nil {
		return err
	}
	noun := strings.TrimSuffix(found.Shape.Noun(), "s")
	var b strings.Builder
	each := max(leastMatch, (r.cap-64)/max(1, len(found.Matches))-32)
	for _, m := range found.Matches {
		text := string(m.Text)
		if len(m.Before)+len(m.After) > 0 {
			text = strings.Join(append(append(append([]string(nil), m.Before...), text), m.After...), "\n")
		}
		more := ""
		if !m.Whole || len(text) > each {
			of := "part of"
			if !m.Whole {
				of = "around the first match in" // there may be others, as in a log that is one string
			}
			more = fmt.Sprintf(" (%s %d bytes, whole at offset %d)", of, m.Bytes, m.Offset)
		}
		fmt.Fprintf(&b, "%s %d%s: %s\n", noun, m.Item, more, limit.Cut(text, each, func(int) string { return " … " }))
	}
	if len(found.Matches) == 0 {
		b.WriteString("nothing matches\n")
	}
	note := fmt.Sprintf("[plimsoll] %d of %d %s match", found.Total, found.Searched, found.Shape.Noun())
	if found.Total > 0 {
		note += fmt.Sprintf("; shown: %d to %d, page %d of %d", found.From, found.To, found.Number, max(1, found.TotalPages))
	}
	note += "."
	if int64(found.Number) < found.TotalPages {
		note += fmt.Sprintf(" Next page: %s {\"handle\":%s,\"pattern\":%s,%s\"page\":%d}.", r.names.Search,
			rawjson.Quote(nil, handle), rawjson.Quote(nil, limit.Cut(pattern, 200, func(int) string { return "…" })), caseArgument(ignoreCase), found.Number+1)
	}
	if found.Cut != "" {
		note += " The result broke off; what came of it was searched."
	}
	r.message = textBlocks(r.m.Head.ID, r.p.modern(), b.String(), note)
	return nil
}

// caseArgument returns `"case_sensitive":true,`, with the comma, to put before another argument of a suggested search; "" if case is ignored.
func caseArgument(ignoreCase bool) string {
	if ignoreCase {
		return ""
	}
	return `"case_sensitive":true,`
}

// answerQuery answers result_query: it runs a jq program over the result, in a child process.
func (r *reader) answerQuery(kept *spool.Result, args arguments) error {
	program, err := args.text("query", true)
	if err != nil {
		return argumentErrorf("%s; write a jq program, such as \".items[] | .name\" or \"length\"", err)
	}
	if len(r.s.o.Query) == 0 {
		return argumentErrorf("queries are not available here; use %s", r.names.Search)
	}
	document, err := kept.Document(r.ctx)
	if err != nil {
		return err
	}
	defer document.File.Close()
	t := kept.Totals()
	request := query.Request{
		Document: document.Reader(), Size: document.Size, Path: t.Path, Query: program,
		MaxBytes: max(r.cap-64, leastMatch), Command: r.s.o.Query,
	}
	request.Broken = t.Cut != ""
	switch t.Shape {
	case spool.Lines:
		request.Shape = query.Lines
	case spool.Blocks:
		request.Shape = query.Blocks
	}
	answer, err := query.Run(r.ctx, request)
	if err != nil {
		var said *query.Error
		if errors.As(err, &said) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return err
		}
		return fmt.Errorf("the query could not be run; use %s", r.names.Search) // the machine's reason is not the model's
	}
	text := string(answer.Output)
	if answer.Values == 0 && text == "" {
		text = "the query gives nothing\n"
	}
	note := fmt.Sprintf("[plimsoll] %d values", answer.Values)
	if answer.Cut {
		note += fmt.Sprintf(", and more that are left out: at most %d bytes are given. Select less, or count with length first", request.MaxBytes)
	}
	if answer.Skipped > 0 {
		note += fmt.Sprintf(". %d %s were left out because each is larger than %s, the first is number %d", answer.Skipped, t.Shape.Noun(), limit.Bytes(query.ItemBytes).Human(), answer.FirstSkipped)
	}
	if t.Cut != "" {
		note += ". The result broke off; this is of what came"
	}
	r.message = result.TextResult(r.m.Head.ID, text, false, r.p.modern())
	r.message = withNote(r.message, note+".")
	return nil
}
