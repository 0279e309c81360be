package toolset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// manyMatches is the number of matches above which an answer suggests to narrow the search.
const manyMatches = 500

// found is an answer with one page of a search's results.
type found struct {
	Instance      string               `json:"instance,omitempty"`
	Query         string               `json:"query"`
	CaseSensitive bool                 `json:"case_sensitive"`
	Literal       bool                 `json:"literal,omitempty"`
	Exhaustive    bool                 `json:"exhaustive_search"`
	Kinds         []argocd.Kind        `json:"searched_resource_types"`
	Total         int                  `json:"total_matches"`
	Breakdown     map[string]int       `json:"breakdown"`
	Searched      map[string]int       `json:"resources_searched"`
	Failed        map[string]string    `json:"failed,omitempty"`
	Progress      progress             `json:"progress"`
	Pagination    inventory.Pagination `json:"pagination"`
	Summary       *summary             `json:"summary,omitempty"`
	BaseURL       string               `json:"argocd_base_url"`
	Link          string               `json:"link,omitempty"`
	Next          *nextCall            `json:"next,omitempty"`
	ReadAt        string               `json:"read_at,omitempty"`
	Note          string               `json:"note,omitempty"`
	Namespace     string               `json:"namespace,omitempty"` // of all results, which then leave it out
	Results       results              `json:"results"`
}

// noMatches is the answer to a search without a match: as short as possible.
type noMatches struct {
	Instance   string               `json:"instance,omitempty"`
	Query      string               `json:"query"`
	Exhaustive bool                 `json:"exhaustive_search"`
	Total      int                  `json:"total_matches"`
	Searched   map[string]int       `json:"resources_searched"`
	Failed     map[string]string    `json:"failed,omitempty"`
	Pagination inventory.Pagination `json:"pagination"`
	Note       string               `json:"note,omitempty"`
}

// progress says in words how much was searched.
type progress struct {
	Status   string `json:"status"`
	Message  string `json:"message"`
	Examined int    `json:"total_resources_examined"`
}

// results are the matches on a page by kind; every kind has a list.
type results struct {
	Applications    []json.RawMessage `json:"applications"`
	Projects        []json.RawMessage `json:"projects"`
	ApplicationSets []json.RawMessage `json:"applicationsets"`
	Clusters        []json.RawMessage `json:"clusters"`
}

// ofKind returns the list of results for a kind.
func (r *results) ofKind(kind argocd.Kind) *[]json.RawMessage {
	switch kind {
	case argocd.Projects:
		return &r.Projects
	case argocd.ApplicationSets:
		return &r.ApplicationSets
	case argocd.Clusters:
		return &r.Clusters
	}
	return &r.Applications
}

// draftSearchAnswer returns an answer of a search with its counts and what could not be searched, and without results and notes.
func (t *Toolset) draftSearchAnswer(client *argocd.Client, in searchArguments, kinds []argocd.Kind, got *inventory.Found) found {
	answer := found{
		Instance: t.instanceLabel(client), Query: in.Query, CaseSensitive: in.CaseSensitive, Literal: in.Literal,
		Exhaustive: len(got.Failed) == 0, Kinds: kinds,
		Total: got.TotalItems, Breakdown: map[string]int{}, Searched: map[string]int{},
		Pagination: got.Pagination, Summary: summaryOf(got.Counts), BaseURL: client.URL(),
		Results: results{Applications: []json.RawMessage{}, Projects: []json.RawMessage{}, ApplicationSets: []json.RawMessage{}, Clusters: []json.RawMessage{}},
	}
	failed := make([]string, 0, len(got.Failed))
	for _, kind := range kinds {
		if reason, is := got.Failed[kind]; is {
			if answer.Failed == nil {
				answer.Failed = map[string]string{}
			}
			answer.Failed[string(kind)] = secrets.Text(reason)
			failed = append(failed, string(kind))
			continue
		}
		answer.Breakdown[string(kind)] = got.Totals[kind]
		answer.Searched[string(kind)] = got.Scanned[kind]
		answer.Progress.Examined += got.Scanned[kind]
	}
	answer.Progress.Status = "completed"
	answer.Progress.Message = fmt.Sprintf("Exhaustive search: all %d objects were examined.", answer.Progress.Examined)
	if len(failed) > 0 {
		answer.Progress.Status = "incomplete"
		answer.Progress.Message = fmt.Sprintf("%d objects were examined. Not searched, see failed: %s.", answer.Progress.Examined, strings.Join(failed, ", "))
	}

	return answer
}

// manyNote returns the note that suggests to narrow a search; "" up to manyMatches.
func manyNote(total int) string {
	if total <= manyMatches {
		return ""
	}
	return fmt.Sprintf("%d matches are many: a more specific query, resource_types or project gives fewer. ", total)
}

// searchAnswer returns the answer of a search: the rows of got by kind, with counts and notes, cut to the room of the call. Without a match
// it has no rows. repeat returns the call for another page.
func (t *Toolset) searchAnswer(c *builtin.Call, client *argocd.Client, in searchArguments, kinds []argocd.Kind, got *inventory.Found, repeat func(page int) *nextCall) (*builtin.Result, error) {
	answer := t.draftSearchAnswer(client, in, kinds, got)
	answer.Note = clampNote(in.clamped().PageSize, got.PageSize) + in.sizeNote()
	every := &answer.Results
	for _, hit := range got.Items {
		row, err := withMatched(hit.Row, hit.Matched)
		if err != nil {
			return nil, fmt.Errorf("a row of %s: %w", hit.Kind, err)
		}
		group := every.ofKind(hit.Kind)
		*group = append(*group, row)
	}
	if slices.ContainsFunc(got.Items, func(h inventory.Hit) bool { return h.Kind == argocd.Applications }) {
		answer.Link = linkTemplate(client.URL(), argocd.Applications)
	}
	if got.Pagination.HasNext {
		answer.Next = repeat(got.Pagination.Page + 1)
	}
	switch {
	case answer.Total > manyMatches:
		answer.Note += manyNote(answer.Total)
	}
	if t.o.Inventory.SnapshotTTL > 0 && !got.Snapshot.IsZero() {
		answer.ReadAt = got.Snapshot.UTC().Format(time.RFC3339)
	}
	if answer.Total == 0 {
		return pageResult(noMatches{
			Instance: answer.Instance, Query: in.Query, Exhaustive: answer.Exhaustive, Searched: answer.Searched, Failed: answer.Failed,
			Pagination: answer.Pagination, Note: strings.TrimSpace(in.sizeNote()),
		})
	}
	rows := slices.Concat(pointers(every.Applications), pointers(every.Projects), pointers(every.ApplicationSets), pointers(every.Clusters))
	return rowPage{rows: rows, namespace: got.Namespace, write: func(note, namespace string) any {
		answer := answer // the copy shares the rows, which fit changes
		answer.Note, answer.Namespace = strings.TrimSpace(answer.Note+note), namespace
		return answer
	}}.fitInto(roomOfPage(in.room(c), len(rows), in.PageSize))
}

// withMatched appends the names of the fields that match to a row; the row's other bytes stay unchanged.
func withMatched(row json.RawMessage, matched []string) (json.RawMessage, error) {
	row = bytes.TrimSpace(row)
	if len(row) < 2 || row[0] != '{' || row[len(row)-1] != '}' {
		return nil, fmt.Errorf("%q is no object", shortQuote(string(row)))
	}
	if len(matched) == 0 {
		return row, nil
	}
	names, err := json.Marshal(matched)
	if err != nil {
		return nil, err
	}
	body := bytes.TrimRight(row[:len(row)-1], " \t\r\n")
	out := make([]byte, 0, len(row)+len(names)+len(`,"matched":}`))
	out = append(out, body...)
	if len(body) > 1 {
		out = append(out, ',')
	}
	out = append(out, `"matched":`...)
	out = append(out, names...)
	return append(out, '}'), nil
}
