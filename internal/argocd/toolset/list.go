package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/argocd/redact"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// Sizes of pages; the same as in the Python server.
const (
	defaultPageSize = inventory.DefaultPageSize
	maxPageSize     = inventory.MaxPageSize
)

// paging holds the arguments that select a page.
type paging struct {
	Page     int `json:"page,omitempty" jsonschema:"From 1"`
	PageSize int `json:"page_size,omitempty" jsonschema:"At most 100 (default: all of up to 50, else 20)"`
}

// clamped returns the paging with defaults filled in and values moved into their bounds.
func (p paging) clamped() paging {
	p.Page = max(1, p.Page)
	if p.PageSize == 0 {
		p.PageSize = defaultPageSize
	}
	p.PageSize = min(maxPageSize, max(1, p.PageSize))
	return p
}

// following returns the paging for another page of that size, without the size if it is the default and was not given.
func (p paging) following(page, size int) paging {
	if p.PageSize == 0 && size == defaultPageSize {
		size = 0
	}
	return paging{Page: page, PageSize: size}
}

// sizeNote returns a note about a page_size that clamped has changed; "" if there is none.
func (p paging) sizeNote() string {
	if p.PageSize > maxPageSize {
		return fmt.Sprintf("page_size %d is more than %d: pages have %d items. ", p.PageSize, maxPageSize, maxPageSize)
	}
	return ""
}

// detailOptions holds the arguments that select the parts of each object.
type detailOptions struct {
	SummaryOnly *bool    `json:"summary_only,omitempty" jsonschema:"Short rows (default true); false is full=true"`
	Full        bool     `json:"full,omitempty" jsonschema:"Whole objects"`
	Include     []string `json:"include,omitempty" jsonschema:"With full: managed_fields, history, helm_values, api_versions"`
	Part        int      `json:"part,omitempty" jsonschema:"Of a large object, from 1"`
	Fresh       bool     `json:"fresh,omitempty" jsonschema:"Read the server again even if this listing was read a moment ago (default false)"`
}

// parts are the names of the parts that full objects leave out unless include names them.
var parts = [...]string{"managed_fields", "history", "helm_values", "api_versions"}

// partsToKeep returns the parts of objects that the argument include names; full reports whether whole objects are wanted, by an argument
// or because include has a part. An unknown part is an error.
func (s detailOptions) partsToKeep() (keep redact.Keep, full bool, err error) {
	for _, name := range splitValues(s.Include) {
		switch strings.ToLower(name) {
		case parts[0]:
			keep.ManagedFields = true
		case parts[1]:
			keep.History = true
		case parts[2]:
			keep.HelmValues = true
		case parts[3]:
			keep.APIVersions = true
		default:
			return keep, false, fmt.Errorf("include has no part %q; there are: %s", shortQuote(name), strings.Join(parts[:], ", "))
		}
	}
	return keep, s.Full || s.SummaryOnly != nil && !*s.SummaryOnly || keep != redact.Keep{}, nil
}

// omittedParts returns the names of the parts that are left out of full objects.
func omittedParts(keep redact.Keep) (names []string) {
	for i, kept := range []bool{keep.ManagedFields, keep.History, keep.HelmValues, keep.APIVersions} {
		if !kept {
			names = append(names, parts[i])
		}
	}
	return names
}

// listing is an answer with one page of a list. The members about all items come before the items, so that they are also seen when a client
// cuts the answer off.
type listing struct {
	Instance    string               `json:"instance,omitempty"`
	Pagination  inventory.Pagination `json:"pagination"`
	Summary     *summary             `json:"summary,omitempty"`
	SummaryOnly bool                 `json:"summary_only"`
	BaseURL     string               `json:"argocd_base_url"`
	Link        string               `json:"link,omitempty"`
	Next        *nextCall            `json:"next,omitempty"`
	LeftOut     []string             `json:"left_out,omitempty"`
	ReadAt      string               `json:"read_at,omitempty"`
	Note        string               `json:"note,omitempty"`
	// Namespace is the namespace of all items, which then leave it out; "" if they differ.
	Namespace string `json:"namespace,omitempty"`
	// Part says which part of an object this is, if the object is too large for one answer; else nil.
	Part  *objectPart       `json:"part,omitempty"`
	Items []json.RawMessage `json:"items"`
}

// listCall is one call of a tool that lists.
type listCall struct {
	target        target
	paging        paging
	detailOptions detailOptions
	list          inventory.ListRequest // without page and Full
	// repeatPart returns the arguments of the same call for another page, or for a part of its object.
	repeatPart func(p paging, part int) any
	// cluster is the name or address of the cluster that applications must deploy to; "" means any.
	cluster string
	// none is the note for an answer without items.
	none string
	// notes are further notes of the tool.
	notes string
}

// answerList answers a call of a tool that lists objects of one kind: with a page of rows or, if the arguments want it, of whole objects.
// It reads the list from the server, or uses a snapshot, and reports progress.
func (t *Toolset) answerList(ctx context.Context, c *builtin.Call, q listCall) (*builtin.Result, error) {
	keep, full, err := q.detailOptions.partsToKeep()
	if err != nil {
		return nil, err
	}
	client, err := t.clientFor(c, q.target.Instance)
	if err != nil {
		return nil, err
	}
	page := q.paging.clamped()
	q.list.Page, q.list.PageSize, q.list.Fresh = page.Page, q.paging.PageSize, q.detailOptions.Fresh
	if full {
		q.list.PageSize = page.PageSize
	}
	if full {
		q.list.Full = func(item []byte) ([]byte, error) {
			slim, _, err := redact.Slim(item, keep)
			return slim, err
		}
	}
	room := roomOf(c)
	thrift := maxAnswer
	if q.list.Kind == argocd.Applications {
		thrift = maxApplicationsAnswer
	}
	rowRoom := room
	if !full && q.paging.PageSize <= defaultPageSize {
		rowRoom = min(room, thrift)
	}
	size := page.PageSize
	repeat := func(number int) *nextCall {
		return &nextCall{Tool: c.Tool, Arguments: q.repeatPart(q.paging.following(number, size), 0)}
	}
	repeatAny := func(number int) *nextCall {
		return &nextCall{Tool: c.Tool, Arguments: q.repeatPart(paging{Page: number, PageSize: maxPageSize}, 0)}
	}
	draft := listing{
		Instance:    t.instanceLabel(client),
		SummaryOnly: !full,
		BaseURL:     client.URL(),
		Link:        linkTemplate(client.URL(), q.list.Kind),
	}
	if full {
		draft.LeftOut = omittedParts(keep)
	}
	if t.o.Inventory.SnapshotTTL > 0 {
		draft.ReadAt = time.Now().UTC().Format(time.RFC3339)
	}
	from, done := withProgress(c, client)
	defer done()
	if q.cluster != "" {
		only, note, err := clusterCalled(ctx, client, q.cluster)
		if err != nil {
			return nil, err
		}
		from.only = only
		q.notes += note
	}
	q.list.Fit = fittingSize(rowRoom, func(total int, counts *inventory.Counts, p inventory.Pagination, namespace string) any {
		bare := draft
		bare.Pagination, bare.Summary, bare.Next, bare.Namespace = p, summaryOf(counts), repeatAny(total), namespace
		bare.Note = longestPagingNote + q.notes + shapeNote
		bare.Items = []json.RawMessage{}
		return bare
	}, full)
	got, err := t.inventory.List(ctx, from, q.list)
	if err != nil {
		return answerRefusal(err, "", repeat)
	}
	size = got.Pagination.PageSize
	answer := draft
	answer.Pagination, answer.Summary, answer.Items = got.Pagination, summaryOf(got.Counts), got.Items
	answer.Note = clampNote(page.PageSize, size) + q.paging.sizeNote() + q.notes
	if answer.Items == nil {
		answer.Items = []json.RawMessage{}
	}
	if got.Pagination.HasNext {
		answer.Next = repeat(got.Pagination.Page + 1)
	}
	if got.Pagination.TotalItems == 0 {
		answer.Note += q.none
		answer.Link = ""
	}
	answer.ReadAt = ""
	if t.o.Inventory.SnapshotTTL > 0 && !got.Snapshot.IsZero() {
		answer.ReadAt = got.Snapshot.UTC().Format(time.RFC3339)
	}
	with := func(note, namespace string) any {
		answer := answer
		answer.Note, answer.Namespace = strings.TrimSpace(answer.Note+note), namespace
		return answer
	}
	if full {
		return wholeObjects(answer, q.detailOptions.Part, room, func(part int) *nextCall {
			return &nextCall{Tool: c.Tool, Arguments: q.repeatPart(q.paging.following(got.Pagination.Page, size), part)}
		})
	}
	return rowPage{rows: pointers(answer.Items), namespace: got.Namespace, write: with}.fitInto(roomOfPage(rowRoom, len(answer.Items), q.paging.PageSize))
}

// wholeObjects returns a page of whole objects. Page sizes are chosen by the largest object of all pages, so an object that is larger than
// an answer is alone on its page, and read part by part: "next" has the next part, and after the last the next page.
func wholeObjects(answer listing, part, room int, repeat func(part int) *nextCall) (*builtin.Result, error) {
	r, err := pageResult(answer)
	if err != nil || len(answer.Items) != 1 || part <= 1 && len(r.Text) <= room {
		return r, err
	}
	object := answer.Items[0]
	of, piece, err := partOf(object, part, room-(len(r.Text)-len(object)))
	if err != nil {
		return nil, err
	}
	answer.Part, answer.Items = of, []json.RawMessage{piece}
	if of.HasNext {
		answer.Next = repeat(of.Part + 1)
	}
	return pageResult(answer)
}

// pageResult returns an answer that the gateway must not page again.
func pageResult(answer any) (*builtin.Result, error) {
	r, err := builtin.JSON(answer)
	if err != nil {
		return nil, err
	}
	r.Paged = true
	return r, nil
}

// longestPagingNote is at least as long as the notes about a page size can be.
var longestPagingNote = clampNote(maxPageSize, maxPageSize-1) + paging{PageSize: 1e6}.sizeNote()

// clampNote returns the note that a page is smaller than asked for; "" if it is not.
func clampNote(asked, size int) string {
	if size >= asked {
		return ""
	}
	return fmt.Sprintf("page_size is %d here, on every page: %d rows are more than one answer takes. ", size, asked)
}

// pointers returns pointers to the elements of rows.
func pointers(rows []json.RawMessage) []*json.RawMessage {
	list := make([]*json.RawMessage, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	return list
}

// linkTemplate returns the address of an object's page in the user interface, with the names of a row's fields in braces; "" for the kinds
// that have no page in Argo CD.
func linkTemplate(base string, kind argocd.Kind) string {
	switch kind {
	case argocd.Applications:
		return base + "/applications/{namespace}/{name}"
	case argocd.Projects:
		return base + "/settings/projects/{name}"
	}
	return ""
}

// splitValues returns the values of an argument that accepts several: one by one, or in one text with commas between them; models write
// both. No name in Argo CD has a comma. Values are unique and not empty.
func splitValues(values []string) (list []string) {
	for _, value := range values {
		for word := range strings.SplitSeq(value, ",") {
			if word = strings.TrimSpace(word); word != "" && !slices.Contains(list, word) {
				list = append(list, word)
			}
		}
	}
	return list
}

// sameValue returns the value of two arguments that mean the same; an error if both are given and differ.
func sameValue(nameA, a, nameB, b string) (string, error) {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	switch {
	case a == "" || a == b:
		return b, nil
	case b == "":
		return a, nil
	}
	return "", fmt.Errorf("%s is %q and %s is %q, and both mean the same: send one of them", nameA, shortQuote(a), nameB, shortQuote(b))
}

// summary holds the counts over all matches, as in an answer.
type summary struct {
	Health     map[string]int `json:"health,omitempty"`
	Sync       map[string]int `json:"sync,omitempty"`
	Connection map[string]int `json:"connection,omitempty"`
	// Projects are the ten with the most matches.
	Projects        projectCounts `json:"projects,omitempty"`
	OtherProjects   int           `json:"other_projects,omitempty"`
	InOtherProjects int           `json:"in_other_projects,omitempty"`
}

// summaryOf returns the summary of counts; nil if nothing was counted.
func summaryOf(c *inventory.Counts) *summary {
	if c == nil || len(c.Health)+len(c.Sync)+len(c.Connection)+len(c.Projects) == 0 {
		return nil
	}
	return &summary{
		Health: c.Health, Sync: c.Sync, Connection: c.Connection, Projects: c.Projects,
		OtherProjects: c.OtherProjects, InOtherProjects: c.InOtherProjects,
	}
}

// projectCounts is encoded as one object whose keys keep their order: half the size of an array of objects.
type projectCounts []inventory.ProjectCount

// MarshalJSON returns {"name":count,…}.
func (p projectCounts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(one.Count))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
