package stress_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd/stress"
)

// A server plays the tools over numbered objects. The faults of it are what is to be found.
type server struct {
	totals map[string]int // of the four tools that list
	match  map[string]int // of the terms; others match nothing
	calls  atomic.Int64
	open   atomic.Int64
	most   atomic.Int64 // calls at one time
	// spoil changes an answer, if it is there.
	spoil  func(tool string, args map[string]any, answer map[string]any)
	memory func(calls int64) (int64, error)
}

func newServer() *server {
	return &server{
		totals: map[string]int{"list_applications": 819, "project_list": 236, "applicationset_list": 287, "cluster_service__list": 13},
		match:  map[string]int{"prod": 1113, "team": 640},
	}
}

func (s *server) target() stress.Target {
	t := stress.Target{Call: s.call}
	if s.memory != nil {
		t.Memory = func() (int64, error) { return s.memory(s.calls.Load()) }
	}
	return t
}

func (s *server) call(ctx context.Context, tool string, args map[string]any) (stress.Answer, error) {
	s.calls.Add(1)
	open := s.open.Add(1)
	defer s.open.Add(-1)
	s.most.Store(max(s.most.Load(), open))
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
		return stress.Answer{}, ctx.Err()
	}
	page, size, total := 1, 20, s.totals[tool]
	if n, ok := args["page"].(int); ok {
		page = n
	}
	answer := map[string]any{}
	if tool == "search_argocd_resources" {
		total = s.match[args["query"].(string)]
		if total > 1000 {
			answer["error"] = fmt.Sprintf("the search matches %d objects, more than 1000", total)
			answer["suggestion"], answer["total_matches"] = "narrow it", total
		}
		if answer["error"] == nil {
			answer["total_matches"] = total
		}
	}
	last := max(1, (total+size-1)/size)
	if page > last {
		answer["error"] = fmt.Sprintf("the last page is %d", last)
	}
	if answer["error"] == nil {
		var items []any
		for i := (page - 1) * size; i < min(page*size, total); i++ {
			items = append(items, map[string]any{"name": fmt.Sprint("object-", i), "namespace": "argocd"})
		}
		answer["items"] = items
		if tool == "search_argocd_resources" {
			answer["items"] = nil
			answer["results"] = map[string]any{"applications": items, "clusters": []any{}}
		}
		from := 0
		if len(items) > 0 {
			from = (page-1)*size + 1
		}
		answer["pagination"] = map[string]any{
			"page": page, "page_size": size, "total_items": total, "total_pages": last, "has_next": page < last, "has_prev": page > 1,
			"showing_from": from, "showing_to": (page-1)*size + len(items),
		}
	}
	if s.spoil != nil {
		s.spoil(tool, args, answer)
	}
	if err, ok := answer["broken"].(error); ok {
		return stress.Answer{}, err
	}
	text, err := json.Marshal(answer)
	return stress.Answer{Text: string(text), IsError: answer["error"] != nil}, err
}

func run(t *testing.T, s *server, o stress.Options) (rows map[string]stress.Row) {
	t.Helper()
	rows = map[string]stress.Row{}
	synctest.Test(t, func(t *testing.T) {
		report, err := stress.Run(t.Context(), s.target(), o)
		if err != nil {
			t.Error(err)
		}
		good := len(report.Rows) > 0
		for _, row := range report.Rows {
			rows[row.Case] = row
			good = good && row.OK
		}
		if report.OK() != good {
			t.Errorf("the report is OK: %v, its rows: %v", report.OK(), good)
		}
	})
	return rows
}

func TestAGoodServer(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.memory = func(int64) (int64, error) { return 20 << 20, nil }
	var told []string
	rows := run(t, s, stress.Options{Queries: 200, Progress: func(r stress.Row) { told = append(told, r.Case) }, MaxMemory: 32 << 20})
	want := []string{"repeated list", "5 at a time", "50 at a time", "200 queries", "search over 500", "search over 1000", "pages of applications", "pages of projects", "pages of applicationsets", "pages of clusters"}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("the cases were %q", told)
	}
	for _, name := range want {
		r := rows[name]
		if !r.OK || r.Skipped || r.Errors != 0 || r.PeakBytes != 20<<20 || r.P50 != 10*time.Millisecond || r.P95 != 10*time.Millisecond || r.MaxResponse == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for name, requests := range map[string]int{"repeated list": 10, "5 at a time": 10, "50 at a time": 50, "200 queries": 200, "pages of applications": 42, "pages of clusters": 2} {
		if rows[name].Requests != requests {
			t.Errorf("%s made %d requests, want %d", name, rows[name].Requests, requests)
		}
	}
	for name, note := range map[string]string{
		"search over 500": "team; 640 items on 32 pages", "search over 1000": "prod: refused, 1113 matches", "pages of projects": "236 items on 12 pages",
		"200 queries": "RssAnon 20 MiB in the second tenth, 20 MiB in the last",
	} {
		if rows[name].Note != note {
			t.Errorf("%s: %q, want %q", name, rows[name].Note, note)
		}
	}
	if s.most.Load() != 50 {
		t.Errorf("%d calls were open at one time", s.most.Load())
	}
}

func TestWhatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	gone := errors.New("connection refused")
	pagination := func(answer map[string]any) map[string]any {
		p, _ := answer["pagination"].(map[string]any)
		if p == nil {
			return map[string]any{}
		}
		return p
	}
	for name, c := range map[string]struct {
		in, note string
		spoil    func(tool string, args, answer map[string]any)
	}{
		"no server":        {"repeated list", "connection refused; given up after 10 errors in a row", func(_ string, _, answer map[string]any) { answer["broken"] = gone }},
		"a tool's refusal": {"repeated list", "list_applications: {\"error\":\"token expired\"}", func(_ string, _, answer map[string]any) { clear(answer); answer["error"] = "token expired" }},
		"too large":        {"5 at a time", "over 12500", func(_ string, _, answer map[string]any) { answer["padding"] = strings.Repeat("x", 12_500) }},
		"no pagination":    {"repeated list", "has no pagination", func(_ string, _, answer map[string]any) { delete(answer, "pagination") }},
		"one item too few": {"pages of projects", "19 items on it, of 236 in all", func(_ string, _, answer map[string]any) {
			if items, ok := answer["items"].([]any); ok && len(items) == 20 {
				answer["items"] = items[1:]
			}
		}},
		"always page 1": {"pages of applications", "it is page 1", func(_ string, _, answer map[string]any) { pagination(answer)["page"] = 1 }},
		"the same page twice": {"pages of applicationsets", "stands on another page too", func(_ string, args, answer map[string]any) {
			if items, ok := answer["items"].([]any); ok && args["page"] == 2 {
				for i := range items {
					items[i] = map[string]any{"name": fmt.Sprint("object-", i), "namespace": "argocd"}
				}
			}
		}},
		"a page after the last": {"pages of clusters", "does not say which page is the last", func(_ string, _, answer map[string]any) {
			if answer["error"] == "the last page is 1" {
				answer["error"] = "bad page"
			}
		}},
		"has_next at the end": {"pages of clusters", "has_next true", func(_ string, _, answer map[string]any) { pagination(answer)["has_next"] = true }},
		"an off total": {"search over 500", "total_matches is 641 and total_items 640", func(_ string, _, answer map[string]any) {
			if answer["total_matches"] == 640 {
				answer["total_matches"] = 641
			}
		}},
		"shown in spite of its number": {"search over 1000", "a page of 1113 matches is shown", func(tool string, _, answer map[string]any) {
			if answer["total_matches"] == 1113 {
				clear(answer)
				answer["pagination"] = map[string]any{"page": 1, "page_size": 20, "total_items": 1113, "total_pages": 56, "has_next": true, "has_prev": false, "showing_from": 1, "showing_to": 20}
				items := make([]any, 20)
				for i := range items {
					items[i] = map[string]any{"name": fmt.Sprint(i)}
				}
				answer["items"] = items
			}
		}},
		"a refusal that shows some": {"search over 1000", "shows some of the matches", func(_ string, _, answer map[string]any) {
			if answer["error"] != nil {
				answer["items"] = []any{map[string]any{"name": "x"}}
			}
		}},
		"a refusal without advice": {"search over 1000", "without a suggestion", func(_ string, _, answer map[string]any) { delete(answer, "suggestion") }},
		"rows without names": {"pages of applications", "a row without a name", func(_ string, _, answer map[string]any) {
			if items, ok := answer["items"].([]any); ok {
				items[0] = map[string]any{}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer()
			s.spoil = c.spoil
			row := run(t, s, stress.Options{Queries: 100})[c.in]
			if row.OK || row.Errors == 0 || !strings.Contains(row.Note, c.note) {
				t.Errorf("%s: %+v, want a note with %q", c.in, row, c.note)
			}
		})
	}
}

func TestMemoryThatGrowsIsFound(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.memory = func(calls int64) (int64, error) { return 10<<20 + calls*150_000, nil }
	rows := run(t, s, stress.Options{Queries: 200})
	if r := rows["200 queries"]; r.OK || !strings.Contains(r.Note, "memory grows with the calls") {
		t.Errorf("%+v", r)
	}
	s = newServer()
	s.memory = func(int64) (int64, error) { return 40 << 20, nil }
	rows = run(t, s, stress.Options{MaxMemory: 32 << 20, Queries: 20})
	if r := rows["repeated list"]; r.OK || !strings.Contains(r.Note, "RssAnon 40 MiB is over 32 MiB") {
		t.Errorf("%+v", r)
	}
	s.memory = func(int64) (int64, error) { return 0, errors.New("no /proc here") }
	rows = run(t, s, stress.Options{MaxMemory: 32 << 20, Queries: 20})
	if r := rows["repeated list"]; !r.OK || !strings.Contains(r.Note, "memory was not seen: no /proc here") {
		t.Errorf("%+v", r)
	}
}

func TestSmallInstallationsSkipWhatTheyLack(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.totals, s.match = map[string]int{"list_applications": 3}, map[string]int{"prod": 2}
	rows := run(t, s, stress.Options{Queries: 20})
	for _, name := range []string{"search over 500", "search over 1000"} {
		if r := rows[name]; !r.OK || !r.Skipped || !strings.Contains(r.Note, "the most were 2") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := rows["pages of clusters"]; !r.OK || r.Skipped || r.Note != "0 items on 1 pages" {
		t.Errorf("%+v", r)
	}
}

func TestLongListingsAreReadAtBothEnds(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.totals["list_applications"] = 100_000
	var pages []int
	s.spoil = func(tool string, args, _ map[string]any) {
		if n, ok := args["page"].(int); ok && tool == "list_applications" {
			pages = append(pages, n)
		}
	}
	r := run(t, s, stress.Options{Queries: 20, MaxPages: 6})["pages of applications"]
	if !r.OK || fmt.Sprint(pages) != "[2 3 4998 4999 5000 5001]" {
		t.Errorf("pages %v: %+v", pages, r)
	}
}

func TestTheInstanceIsSentWithEachCall(t *testing.T) {
	t.Parallel()
	s := newServer()
	var without atomic.Int64
	s.spoil = func(_ string, args, _ map[string]any) {
		if args["instance"] != "prod" {
			without.Add(1)
		}
	}
	run(t, s, stress.Options{Queries: 20, Instance: "prod"})
	if n := without.Load(); n != 0 {
		t.Errorf("%d of %d calls were without the instance", n, s.calls.Load())
	}
}

func TestACancelledRunGivesTheRowsSoFar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		report, err := stress.Run(ctx, newServer().target(), stress.Options{Progress: func(r stress.Row) {
			if r.Case == "5 at a time" {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || len(report.Rows) != 2 {
			t.Errorf("%v, %d rows", err, len(report.Rows))
		}
	})
	if _, err := stress.Run(t.Context(), stress.Target{}, stress.Options{}); err == nil {
		t.Error("a target without Call was taken")
	}
}
