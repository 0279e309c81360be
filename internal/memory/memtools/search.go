package memtools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/limit"
)

// SearchArguments are the arguments of search_memory, named as in LangMem.
type SearchArguments struct {
	Query  string  `json:"query" jsonschema:"A question or words"`
	Limit  int     `json:"limit,omitempty" jsonschema:"At most 50 (default 10)"`
	Offset int     `json:"offset,omitempty" jsonschema:"How many of the best to pass over, for the next page"`
	Filter *Filter `json:"filter,omitempty"`
}

// Filter narrows a search.
type Filter struct {
	Kind   string `json:"kind,omitempty" jsonschema:"episode, fact, note or pin"`
	Origin string `json:"origin,omitempty" jsonschema:"user, agent or tool: who said it"`
	Since  string `json:"since,omitempty" jsonschema:"A date, 2026-11-24, or a time (RFC 3339)"`
	Until  string `json:"until,omitempty" jsonschema:"The same; what was said on that day counts"`
	AsOf   string `json:"as_of,omitempty" jsonschema:"The facts that counted at this time"`
}

// The bounds of a page.
const (
	defaultLimit = 10
	maxLimit     = 50
	// maxWords is the most bytes of a record's text on a line, and minWords what is shown of it in a full page.
	maxWords, minWords = 600, 80
	// maxAnswer bounds an answer, in bytes, when the client does not say how much it takes.
	maxAnswer = 10_000
)

// wordsOnly is added to an answer when the search by meaning did not work.
const wordsOnly = " The search went by words only: what finds other words of the same meaning does not answer."

// Search finds memories and returns them as text for the model. It records that they were given out, unless the tools are read-only.
// maxText bounds the answer, 0 if the client's bound is not known.
func (t *Toolset) Search(ctx context.Context, in SearchArguments, maxText limit.Bytes) (string, error) {
	q, err := t.parseQuery(in)
	if err != nil {
		return "", err
	}
	found, err := t.o.Store.Search(ctx, q)
	if err != nil {
		return "", err
	}
	if r, ok := t.o.Store.(interface {
		RecordUse(context.Context, memory.Use, ...memory.Record) error
	}); ok && !t.o.ReadOnly && len(found.Items) > 0 {
		records := make([]memory.Record, len(found.Items))
		for i := range found.Items {
			records[i] = found.Items[i].Record
		}
		if err := r.RecordUse(ctx, memory.Use{How: memory.UseSearch, Client: t.o.Client, Run: t.o.Run, Conversation: t.o.Conversation}, records...); err != nil {
			return "", err
		}
	}
	if len(found.Items) == 0 {
		if found.Total > 0 {
			return fmt.Sprintf("%s for %s, and none from offset %d on: the last one has offset %d.", formatCount(found.Total), quoteText(in.Query), q.Offset, found.Total-1), nil
		}
		text := fmt.Sprintf("No memories for %s. Other words may find it; each word that says something is looked for.", quoteText(limit.Clip(in.Query, 200)))
		if found.WordsOnly != "" {
			text += wordsOnly
		}
		return text, nil
	}
	head := fmt.Sprintf("%s for %s; %d to %d are shown, the best first.", formatCount(found.Total), quoteText(limit.Clip(in.Query, 200)), found.Offset+1, found.Offset+len(found.Items))
	if next := found.Offset + len(found.Items); next < found.Total {
		head += fmt.Sprintf(" The next: offset=%d.", next)
	}
	if found.WordsOnly != "" {
		head += wordsOnly
	}
	records := make([]memory.Record, len(found.Items))
	for i := range found.Items {
		records[i] = found.Items[i].Record
	}
	return appendReplaced(formatPage(head, records, maxText, maxWords), found.Items), nil
}

// appendReplaced appends to an answer a line for each record whose place a newer one has taken.
func appendReplaced(answer string, items []memory.Item) string {
	for _, i := range items {
		if i.ReplacedBy != "" {
			answer += "\n" + i.ID + " is no longer so: " + i.ReplacedBy + " was said later of the same thing."
		}
	}
	return answer
}

// parseQuery returns the search that the arguments ask for. Errors are worded for the model.
func (t *Toolset) parseQuery(in SearchArguments) (memory.Query, error) {
	q := memory.Query{
		Text: strings.TrimSpace(strings.ToValidUTF8(in.Query, "\ufffd")), Namespaces: t.o.Search, Scope: t.o.Scope, AllScopes: t.o.AllScopes,
		Limit: min(in.Limit, maxLimit), Offset: in.Offset,
	}
	if in.Limit <= 0 {
		q.Limit = defaultLimit
	}
	if q.Text == "" {
		return q, errors.New("query is empty: ask a question, or give words")
	}
	if in.Offset < 0 {
		return q, fmt.Errorf("offset is %d; the first page has 0", in.Offset)
	}
	f := in.Filter
	if f == nil {
		return q, nil
	}
	if f.Kind != "" {
		q.Kinds = []memory.Kind{memory.Kind(f.Kind)}
		if all := []memory.Kind{memory.KindEpisode, memory.KindFact, memory.KindNote, memory.KindPin}; !slices.Contains(all, q.Kinds[0]) {
			return q, fmt.Errorf("filter.kind is %q; it is episode, fact, note or pin", limit.Clip(f.Kind, 40))
		}
	}
	if f.Origin != "" {
		q.Origins = []memory.Origin{memory.Origin(f.Origin)}
		if all := []memory.Origin{memory.OriginUser, memory.OriginAgent, memory.OriginTool}; !slices.Contains(all, q.Origins[0]) {
			return q, fmt.Errorf("filter.origin is %q; it is user, agent or tool", limit.Clip(f.Origin, 40))
		}
	}
	var err error
	if q.Since, err = parseTime("since", f.Since, false); err != nil {
		return q, err
	}
	if q.Until, err = parseTime("until", f.Until, true); err != nil {
		return q, err
	}
	q.AsOf, err = parseTime("as_of", f.AsOf, true)
	return q, err
}

// parseTime parses a day or an RFC 3339 time; "" is the zero time. With end set, a day gives the next one's beginning. name is for the error.
func parseTime(name, text string, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	at, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil {
		return at, fmt.Errorf("filter.%s is %q; write a date as 2026-11-24, or a time as 2026-11-24T09:00:00Z", name, limit.Clip(text, 40))
	}
	if end {
		at = at.AddDate(0, 0, 1)
	}
	return at, nil
}

// GetArguments are the arguments of get_memory.
type GetArguments struct {
	ID     string `json:"id" jsonschema:"As search_memory shows it"`
	Around int    `json:"around,omitempty" jsonschema:"How many turns before and after it (at most 20)"`
}

const maxAround = 20

// Get returns a whole memory and, if asked, those around it in its conversation, as text for the model.
func (t *Toolset) Get(ctx context.Context, in GetArguments) (string, error) {
	if in.Around < 0 || in.Around > maxAround {
		return "", fmt.Errorf("around is %d; it is 0 to %d", in.Around, maxAround)
	}
	found, err := t.visibleRecords(ctx, in.ID, in.Around)
	if err != nil {
		return "", err
	}
	head := "Memory " + in.ID
	if len(found) > 1 {
		head += fmt.Sprintf(" and what was said around it, %d records in their order", len(found))
	}
	return formatPage(head+".", found, 1<<30, 1<<30), nil
}

// visibleRecords returns a record and up to around records before and after it, without those that these tools may not see. A record that they may
// not see counts as missing.
func (t *Toolset) visibleRecords(ctx context.Context, id string, around int) ([]memory.Record, error) {
	none := fmt.Errorf("there is no memory %s; search_memory shows those that there are", quoteText(limit.Clip(id, 60)))
	if id == "" {
		return nil, errors.New("id is empty; search_memory shows the ids")
	}
	found, err := t.o.Store.Get(ctx, id, around)
	if errors.Is(err, memory.ErrForgotten) {
		return nil, fmt.Errorf("memory %s was forgotten", id)
	}
	if errors.Is(err, memory.ErrNotFound) || err == nil && len(found) == 0 {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(found, func(r memory.Record) bool { return r.ID == id })
	if i < 0 || !t.maySee(found[i]) {
		return nil, none
	}
	return slices.DeleteFunc(found, func(r memory.Record) bool { return !t.maySee(r) }), nil
}

// maySee reports whether these tools may show a record: it lies in a namespace that they search and in their scope, and waits for nobody's approval.
func (t *Toolset) maySee(r memory.Record) bool {
	return slices.Contains(t.o.Search, r.Namespace) && (t.o.AllScopes || r.Scope == "" || r.Scope == t.o.Scope) && !r.Quarantined
}

// formatCount returns a number of memories in words: "1 memory".
func formatCount(n int) string {
	if n == 1 {
		return "1 memory"
	}
	return fmt.Sprintf("%d memories", n)
}
