package toolset

import (
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// refusal is an answer that says why the request was not answered. For programs it has the same keys as a normal answer.
type refusal struct {
	Error      string         `json:"error"`
	Suggestion string         `json:"suggestion,omitempty"`
	Query      string         `json:"query,omitempty"`
	Total      int            `json:"total_matches,omitempty"`
	Limit      int            `json:"limit,omitempty"`
	Breakdown  map[string]int `json:"breakdown,omitempty"`
	Summary    *summary       `json:"summary,omitempty"`
	Pagination *outOfRange    `json:"pagination,omitempty"`
	Next       *nextCall      `json:"next,omitempty"`
}

// outOfRange is the pagination of an answer to a page number beyond the last page.
type outOfRange struct {
	Page       int  `json:"page"`
	PageSize   int  `json:"page_size"`
	TotalItems int  `json:"total_items"`
	TotalPages int  `json:"total_pages"`
	HasNext    bool `json:"has_next"`
	HasPrev    bool `json:"has_prev"`
}

// nextCall is a complete call that the model can make as its next one.
type nextCall struct {
	Tool      string `json:"tool"`
	Arguments any    `json:"arguments"`
}

// answerRefusal returns an error of a listing or a search as an answer, if the model can act on it; any other error is returned as an error. query
// is the text that was searched for; repeat returns the same call for another page.
func answerRefusal(err error, query string, repeat func(page int) *nextCall) (*builtin.Result, error) {
	answer := refusal{Error: err.Error(), Query: query}
	if none, is := errors.AsType[*inventory.NoPage](err); is {
		answer.Error = fmt.Sprintf("page %d is beyond the end: the last page is %d (%d items, %d on a page)", none.Page, none.Last, none.TotalItems, none.Size)
		answer.Pagination = &outOfRange{Page: none.Page, PageSize: none.Size, TotalItems: none.TotalItems, TotalPages: none.Last, HasPrev: true}
		answer.Next = repeat(none.Last)
	} else if many, is := errors.AsType[*inventory.TooMany](err); is {
		answer.Error = fmt.Sprintf("the search matches %d objects, more than %d: nothing is shown", many.Total, many.Limit)
		answer.Suggestion = many.Suggestion
		if answer.Suggestion == "" {
			answer.Suggestion = "Use a more specific pattern, or narrow the search with resource_types or project."
		}
		answer.Total, answer.Limit = many.Total, many.Limit
		answer.Breakdown = countsByName(many.Totals)
		answer.Summary = summaryOf(many.Counts)
	} else if bad, is := errors.AsType[*inventory.BadPattern](err); is {
		answer.Error = "the query is no regular expression (RE2): " + bad.Reason
		answer.Suggestion = fmt.Sprintf("Send literal=true to look for the text as it stands, or escape it: %s", bad.Escaped)
	} else {
		return nil, err
	}
	r, err := builtin.JSON(answer)
	if err != nil {
		return nil, err
	}
	r.IsError = true
	return r, nil
}

// countsByName returns the counts by the kinds' names, for JSON; nil stays nil.
func countsByName(m map[argocd.Kind]int) map[string]int {
	if m == nil {
		return nil
	}
	named := make(map[string]int, len(m))
	for kind, n := range m {
		named[string(kind)] = n
	}
	return named
}

// shortQuote cuts a text that a model sent to maxQuoted bytes, for an error.
func shortQuote(text string) string { return limit.Short(text, maxQuoted) }

// maxQuoted bounds the text that an error repeats, in bytes.
const maxQuoted = 83
