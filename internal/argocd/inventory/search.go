package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// SearchRequest asks for everything that matches a pattern.
type SearchRequest struct {
	// Pattern is an RE2 expression or, with Literal, a text, of at most [MaxPattern] bytes. It may match anywhere in
	// a field; ^ and $ match the ends of the field.
	Pattern                string
	Literal, CaseSensitive bool
	// Kinds are the kinds to search; nil means all.
	Kinds []argocd.Kind
	// Page counts from 1; 0 means 1. PageSize 0 means [DefaultPageSize], or all of up to [OnePage] matches; other
	// values are moved into 1 to [MaxPageSize].
	Page, PageSize int
	// Fit makes PageSize smaller, equally for all pages; nil leaves it.
	Fit Fit
	// Query selects the applications by Projects, Selector, AppNamespace, Name and Repo. All objects of the other kinds are searched.
	Query argocd.Query
	// Fresh reads the server now, and replaces the snapshot if there is one.
	Fresh bool
}

// Found is one page of a search's matches, with the totals over all.
type Found struct {
	Items []Hit
	Pagination
	Totals    map[argocd.Kind]int    // number of matches, for each kind that was read
	Scanned   map[argocd.Kind]int    // number of objects that were searched
	Counts    *Counts                // of the applications that match; nil if they were not searched
	Namespace string                 // the namespace of all matches but clusters, which have none; "" if they differ
	Failed    map[argocd.Kind]string // the kinds that the server refuses to list, with the reason
	Bytes     int64                  // bytes that the server sent, decompressed
	Snapshot  time.Time              // when the reading began
}

// Hit is one object that matches. Hits are sorted by kind, then as in a listing.
type Hit struct {
	Kind    argocd.Kind     `json:"kind"`
	Row     json.RawMessage `json:"row"`     // the summary, as in a listing
	Matched []string        `json:"matched"` // at most 5 fields: "labels.team", "sources[1].repoURL"
}

// TooMany is the error for a search with more matches than Options.MaxMatches. None of them is shown; the totals are exact.
type TooMany struct {
	Total, Limit int
	Totals       map[argocd.Kind]int
	Counts       *Counts // of the applications that match
	Failed       map[argocd.Kind]string
	Suggestion   string // how to ask for less
}

func (e *TooMany) Error() string {
	var parts []string
	for _, kind := range argocd.Kinds() {
		if n := e.Totals[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return fmt.Sprintf("%d matches (%s), more than the %d that are shown; %s", e.Total, strings.Join(parts, ", "), e.Limit, e.Suggestion)
}

// Search returns a page of the objects of these kinds that match the pattern. It reads every object of them from the server, unless a snapshot
// or the answer to another request can be used. Errors are [BadPattern], [TooMany], [NoPage], and those of the source, unchanged: if one list
// breaks off there is no answer. A kind that the server refuses to this user, or does not have, is in Found.Failed instead, unless all are.
func (v *Inventory) Search(ctx context.Context, src Source, r SearchRequest) (*Found, error) {
	p, err := compilePattern(r.Pattern, r.Literal, r.CaseSensitive)
	if err != nil {
		return nil, err
	}
	kinds := argocd.Kinds()
	if len(r.Kinds) > 0 {
		kinds = slices.DeleteFunc(kinds, func(k argocd.Kind) bool { return !slices.Contains(r.Kinds, k) })
		for _, kind := range r.Kinds {
			if !slices.Contains(kinds, kind) {
				return nil, fmt.Errorf("%q is no kind of object; there are %s", kind, joinKindNames())
			}
		}
	}
	r.Query.Fields = nil
	f, err := newFilter(ListRequest{Kind: argocd.Applications, Query: r.Query})
	if err != nil {
		return nil, err
	}
	w := newWindow(r.Page, r.PageSize)
	key := digestKey("search", src, kinds, r.Query, r.Pattern, r.Literal, r.CaseSensitive)
	ans, release, err := v.answerFor(ctx, key, w.rowsNeeded(), r.Fresh, func(ctx context.Context, need int) (*answer, error) {
		s := &search{v: v, src: src, pattern: p, query: r.Query, filter: f, sorter: v.sorterFor(min(need, v.o.MaxMatches))}
		return s.searchAll(ctx, kinds, need == allRows)
	})
	if err != nil {
		return nil, err
	}
	defer release()
	if ans.total > v.o.MaxMatches {
		return nil, &TooMany{
			Total: ans.total, Limit: v.o.MaxMatches, Totals: maps.Clone(ans.totals), Counts: ans.counts.clone(),
			Failed: maps.Clone(ans.failed), Suggestion: suggestion(ans, len(kinds)),
		}
	}
	found := &Found{
		Totals: maps.Clone(ans.totals), Scanned: maps.Clone(ans.scanned), Counts: ans.counts.clone(), Namespace: ans.widths.Namespace,
		Failed: maps.Clone(ans.failed), Bytes: ans.bytes, Snapshot: ans.at,
	}
	w.setSize(r.Fit, ans)
	var from, to int
	if found.Pagination, from, to, err = w.locate(ans.total); err != nil {
		return nil, err
	}
	rows, err := ans.table.rowsBetween(from, to)
	if err != nil {
		return nil, err
	}
	found.Items = make([]Hit, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row, &found.Items[i]); err != nil {
			return nil, fmt.Errorf("a scratch file in %s is damaged: %w; ask again", v.disk.folderOrTemp(), err)
		}
	}
	return found, nil
}

// suggestion returns how the caller can get fewer matches, as part of a sentence.
func suggestion(ans *answer, kinds int) string {
	parts := []string{`use a longer pattern, or one with an end ("^prod-")`}
	if kinds > 1 {
		parts = append(parts, "name fewer kinds of objects")
	}
	if c := ans.counts; c != nil && len(c.Projects) > 1 {
		var names []string
		for _, p := range c.Projects[:min(3, len(c.Projects))] {
			names = append(names, fmt.Sprintf("%s: %d", p.Name, p.Count))
		}
		parts = append(parts, fmt.Sprintf("list the applications of one project (%s, …)", strings.Join(names, ", ")))
	}
	return strings.Join(parts, "; or ")
}

// search is one pass over some kinds.
type search struct {
	v       *Inventory
	src     Source
	pattern *pattern
	query   argocd.Query
	filter  filter // of applications

	mu     sync.Mutex
	sorter *sorter // nil once there are too many matches
	ans    answer
	errs   []error // errors that make the whole search fail
	panics []any
}

// searchAll searches all kinds at once. A kind that the server refuses is recorded in the answer; if all are refused, the first refusal is
// the error. Any other error cancels the other kinds. A panic in one of them is raised here. With onDisk the rows are put into scratch
// files.
func (s *search) searchAll(ctx context.Context, kinds []argocd.Kind, onDisk bool) (*answer, error) {
	defer s.dropRows()
	s.ans.totals, s.ans.scanned, s.ans.failed = map[argocd.Kind]int{}, map[argocd.Kind]int{}, map[argocd.Kind]string{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var refusals []error
	for i, kind := range kinds {
		wg.Go(func() {
			defer func() {
				if what := recover(); what != nil {
					s.mu.Lock()
					s.panics = append(s.panics, what)
					s.mu.Unlock()
					cancel()
				}
			}()
			scanned, err := s.searchKind(ctx, i, kind)
			if err == nil {
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if why, refused := refusal(err); refused && scanned == 0 {
				s.ans.failed[kind] = why
				refusals = append(refusals, err)
				return
			}
			s.errs = append(s.errs, err) // the first is the cause; the other kinds were cancelled
			cancel()
		})
	}
	wg.Wait()
	switch {
	case len(s.panics) > 0:
		panic(s.panics[0])
	case len(s.errs) > 0:
		return nil, s.errs[0]
	case len(refusals) == len(kinds):
		return nil, refusals[0]
	}
	ans := s.ans
	if s.sorter == nil {
		return &ans, nil
	}
	var err error
	ans.table, err = newTable(s.sorter, onDisk)
	return &ans, err
}

func (s *search) dropRows() {
	if s.sorter != nil {
		s.sorter.close()
		s.sorter = nil
	}
}

// refusal reports whether the server clearly refused one kind: to this user, or because it does not have such lists; why is its text. After
// any other error a part of the answer may be missing.
func refusal(err error) (why string, yes bool) {
	var e *argocd.Error
	if errors.As(err, &e) && (e.Kind == argocd.Forbidden || e.Kind == argocd.Missing) {
		return e.Error(), true
	}
	return "", false
}

// searchKind reads the objects of one kind and adds those that match, and their counts, to the answer. scanned is the number of objects
// read. order is the kind's place in the result.
func (s *search) searchKind(ctx context.Context, order int, searchKind argocd.Kind) (scanned int, err error) {
	q := argocd.Query{}
	if searchKind == argocd.Applications {
		q = serverQuery(searchKind, s.query)
	}
	q.Fields = argocd.SearchFields(searchKind)
	c := newCounter(searchKind, s.v.disk, int(s.v.o.RunBytes)/4)
	defer c.close()
	total := 0
	var widths Widths
	info, err := s.src.List(ctx, searchKind, q, func(item []byte) error {
		scanned++
		e, err := readEntry(searchKind, item)
		if err != nil {
			return notAnObject(s.src, searchKind, scanned, err)
		}
		if searchKind == argocd.Applications && !s.filter.match(e) {
			return nil
		}
		names := e.matchedFields(s.pattern)
		if len(names) == 0 {
			return nil
		}
		total++
		widths.measure(e, len(item))
		if searchKind == argocd.Applications {
			if err := c.countEntry(e); err != nil {
				return err
			}
		}
		return s.addHit(order, e, names)
	})
	if err != nil {
		return scanned, err
	}
	var counts *Counts
	if searchKind == argocd.Applications {
		if counts, err = c.finish(); err != nil {
			return scanned, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ans.totals[searchKind], s.ans.scanned[searchKind] = total, scanned
	s.ans.bytes += info.Bytes
	s.ans.widths.addAll(&widths)
	s.ans.reread = s.ans.reread || info.Reread
	if counts != nil {
		s.ans.counts = counts
	}
	return scanned, nil
}

// addHit counts a match and adds its row, with the names of the matched fields, to the sorter. After Options.MaxMatches the sorter is dropped, and
// matches are only counted.
func (s *search) addHit(order int, e *entry, names []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ans.total++; s.ans.total > s.v.o.MaxMatches {
		s.dropRows()
	}
	key := append([]byte{byte(order)}, e.key()...)
	if s.sorter == nil || !s.sorter.wants(key) {
		return nil
	}
	w := &writer{b: []byte("{")}
	w.addTextOrEmpty("kind", []byte(e.kind))
	w.writeKey("row")
	w.b = append(w.b, e.row()...)
	w.writeKey("matched")
	matched := make([][]byte, len(names))
	for i, name := range names {
		matched[i] = []byte(name)
	}
	w.writeTextArray(matched)
	w.writeRaw("}")
	return s.sorter.addRecord(key, w.b)
}
