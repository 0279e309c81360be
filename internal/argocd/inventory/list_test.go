package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// pages gives all pages of a listing.
func pages(t *testing.T, v *Inventory, src Source, r ListRequest) (all []*Listing) {
	t.Helper()
	for r.Page = 1; ; r.Page++ {
		l, err := v.List(t.Context(), src, r)
		if err != nil {
			t.Fatalf("page %d: %v", r.Page, err)
		}
		all = append(all, l)
		if !l.Pagination.HasNext {
			return all
		}
	}
}

func TestRecordedCounts(t *testing.T) {
	t.Parallel()
	v, src := newInventory(t, Options{}), realServer(t)
	for kind, want := range map[argocd.Kind]int{argocd.Applications: 819, argocd.Projects: 236, argocd.ApplicationSets: 287, argocd.Clusters: 13} {
		l, err := v.List(t.Context(), src, ListRequest{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		if l.Pagination.TotalItems != want || len(l.Items) != min(20, want) {
			t.Errorf("%s: %d in all, %d on the page; want %d", kind, l.Pagination.TotalItems, len(l.Items), want)
		}
		switch kind {
		case argocd.Applications:
			health := map[string]int{"Healthy": 584, "Degraded": 76, "Progressing": 63, "Unknown": 32, "Missing": 29, "Suspended": 25, "none": 10}
			sync := map[string]int{"Synced": 609, "OutOfSync": 148, "Unknown": 52, "none": 10}
			if !maps.Equal(l.Counts.Health, health) || !maps.Equal(l.Counts.Sync, sync) {
				t.Errorf("counts %v %v", l.Counts.Health, l.Counts.Sync)
			}
			sum := l.Counts.InOtherProjects
			for _, p := range l.Counts.Projects {
				sum += p.Count
			}
			if sum != want || len(l.Counts.Projects) != 10 {
				t.Errorf("the projects have %d applications together: %+v", sum, l.Counts)
			}
			if l.Bytes < 5<<20 {
				t.Errorf("%d bytes were read", l.Bytes)
			}
		case argocd.Clusters:
			sum := 0
			for _, n := range l.Counts.Connection {
				sum += n
			}
			if sum != want || l.Counts.Connection["Successful"] == 0 {
				t.Errorf("connections %v", l.Counts.Connection)
			}
		}
	}
	if n := src.lists.Load(); n != 4 {
		t.Errorf("%d lists were read for 4 pages", n)
	}
}

func generic(t testing.TB, item []byte) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(item, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// get follows keys; what is not there is "".
func get(o any, keys ...string) string {
	for _, key := range keys {
		m, _ := o.(map[string]any)
		o = m[key]
	}
	s, _ := o.(string)
	return s
}

// All pages together are every object once, in order, and no row has lost a field.
func TestApplicationRows(t *testing.T) {
	t.Parallel()
	v, src := newInventory(t, Options{SnapshotTTL: time.Hour}), realServer(t)
	left := map[string]map[string]any{}
	for _, item := range src.items[argocd.Applications] {
		o := generic(t, item)
		left[get(o, "metadata", "name")] = o
	}
	var names []string
	byName, multi, none := 0, 0, 0
	for _, l := range pages(t, v, src, ListRequest{Kind: argocd.Applications, PageSize: 100}) {
		for _, item := range l.Items {
			row := generic(t, item)
			name := get(row, "name")
			o := left[name]
			if o == nil {
				t.Fatalf("%q is not in the list, or twice", name)
			}
			delete(left, name)
			names = append(names, name)
			or := func(s, other string) string {
				if s == "" {
					return other
				}
				return s
			}
			spec, status := o["spec"].(map[string]any), o["status"]
			phase := get(status, "operationState", "phase")
			if phase == "Succeeded" {
				phase = ""
			}
			want := map[string]string{
				"namespace": get(o, "metadata", "namespace"), "project": get(spec, "project"),
				"health": or(get(status, "health", "status"), "none"), "sync": or(get(status, "sync", "status"), "none"),
				"dest":      or(get(spec, "destination", "server"), get(spec, "destination", "name")) + " " + get(spec, "destination", "namespace"),
				"operation": phase,
			}
			if want["health"] == "none" {
				none++
			}
			if get(spec, "destination", "name") != "" {
				byName++
			}
			compare := func(row any, source any) {
				for key, field := range map[string]string{"repo": "repoURL", "path": "path", "chart": "chart", "rev": "targetRevision", "ref": "ref"} {
					if get(row, key) != get(source, field) {
						t.Errorf("%s: %s is %q, want %q", name, key, get(row, key), get(source, field))
					}
				}
			}
			if sources, _ := spec["sources"].([]any); len(sources) > 0 {
				multi++
				rows, _ := row["sources"].([]any)
				if len(rows) != len(sources) {
					t.Fatalf("%s: %d sources, want %d", name, len(rows), len(sources))
				}
				for i := range sources {
					compare(rows[i], sources[i])
				}
			} else {
				compare(row, spec["source"])
			}
			for key, value := range want {
				if get(row, key) != value {
					t.Errorf("%s: %s is %q, want %q", name, key, get(row, key), value)
				}
			}
			if row["deleting"] != nil != (get(o, "metadata", "deletionTimestamp") != "") {
				t.Errorf("%s: deleting is %v", name, row["deleting"])
			}
		}
	}
	if len(left) > 0 || !slices.IsSorted(names) || byName != 246 || multi != 131 || none != 10 {
		t.Errorf("%d are missing, sorted %t, %d by name, %d with sources, %d without health", len(left), slices.IsSorted(names), byName, multi, none)
	}
}

// A page of 20 must leave room for the totals in what clients take (8 KiB).
func TestRowsAreSmall(t *testing.T) {
	t.Parallel()
	v, src := newInventory(t, Options{SnapshotTTL: time.Hour}), realServer(t)
	for kind, limit := range map[argocd.Kind]int{argocd.Applications: 6656, argocd.Projects: 8192, argocd.ApplicationSets: 8192, argocd.Clusters: 4096} {
		maxLen, sum := 0, 0
		all := pages(t, v, src, ListRequest{Kind: kind})
		for _, l := range all {
			size := 0
			for _, item := range l.Items {
				size += len(item) + 1
				if strings.ContainsAny(string(item), "\n\t") {
					t.Errorf("%s is not compact", item)
				}
			}
			maxLen, sum = max(maxLen, size), sum+size
		}
		t.Logf("%s: a page has %d bytes at most, %d as a rule: %s", kind, maxLen, sum/len(all), all[0].Items[0])
		if maxLen > limit {
			t.Errorf("a page of %s has %d bytes, more than %d", kind, maxLen, limit)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	v, src := newInventory(t, Options{}), narrowServer(t)
	for _, c := range []struct {
		r    ListRequest
		want func(o map[string]any) bool
	}{
		{ListRequest{Kind: argocd.Applications, Health: []string{"degraded"}}, func(o map[string]any) bool { return get(o, "status", "health", "status") == "Degraded" }},
		{ListRequest{Kind: argocd.Applications, Health: []string{"None", "missing"}}, func(o map[string]any) bool {
			return slices.Contains([]string{"", "Missing"}, get(o, "status", "health", "status"))
		}},
		{ListRequest{Kind: argocd.Applications, Sync: []string{"OUTOFSYNC"}, Health: []string{"Healthy"}}, func(o map[string]any) bool {
			return get(o, "status", "sync", "status") == "OutOfSync" && get(o, "status", "health", "status") == "Healthy"
		}},
		{ListRequest{Kind: argocd.Applications, Namespace: "billing-dev"}, func(o map[string]any) bool { return get(o, "spec", "destination", "namespace") == "billing-dev" }},
		{ListRequest{Kind: argocd.Projects, Query: argocd.Query{Name: "default"}}, func(o map[string]any) bool { return get(o, "metadata", "name") == "default" }},
		{ListRequest{Kind: argocd.Projects, Query: argocd.Query{Projects: []string{"default", "billing-core"}}}, func(o map[string]any) bool {
			return slices.Contains([]string{"default", "billing-core"}, get(o, "metadata", "name"))
		}},
		{ListRequest{Kind: argocd.ApplicationSets, Health: []string{"degraded"}}, func(o map[string]any) bool { return get(o, "status", "health", "status") == "Degraded" }},
	} {
		want := 0
		for _, item := range src.items[c.r.Kind] {
			if c.want(generic(t, item)) {
				want++
			}
		}
		l, err := v.List(t.Context(), src, c.r)
		if err != nil || want == 0 || l.Pagination.TotalItems != want {
			t.Errorf("%+v: %v, %+v, want %d", c.r, err, l, want)
		}
	}
	for text, r := range map[string]ListRequest{
		`health "ill" is unknown; use one or more of Healthy, Progressing`: {Kind: argocd.Applications, Health: []string{"ill"}},
		`sync "x" is unknown; use one or more of Synced`:                   {Kind: argocd.Applications, Sync: []string{"x"}},
		"projects do not have the filter health":                           {Kind: argocd.Projects, Health: []string{"Healthy"}},
		"clusters do not have the filter selector":                         {Kind: argocd.Clusters, Query: argocd.Query{Selector: "a=b"}},
		`"pods" is no kind of object; there are applications, projects`:    {Kind: "pods"},
	} {
		if _, err := v.List(t.Context(), src, r); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v, want %s", r, err, text)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	v, src := newInventory(t, Options{}), narrowServer(t)
	for _, c := range []struct {
		page, size int
		want       Pagination
	}{
		{0, 0, Pagination{1, 20, 819, 41, true, false, 1, 20}},
		{-3, -1, Pagination{1, 1, 819, 819, true, false, 1, 1}},
		{41, 20, Pagination{41, 20, 819, 41, false, true, 801, 819}},
		{9, 1000, Pagination{9, 100, 819, 9, false, true, 801, 819}},
	} {
		l, err := v.List(t.Context(), src, ListRequest{Kind: argocd.Applications, Page: c.page, PageSize: c.size})
		if err != nil || l.Pagination != c.want || len(l.Items) != c.want.ShowingTo-c.want.ShowingFrom+1 {
			t.Errorf("page %d of %d: %v %+v", c.page, c.size, err, l)
		}
	}
	for _, page := range []int{42, 1 << 60} {
		_, err := v.List(t.Context(), src, ListRequest{Kind: argocd.Applications, Page: page})
		var beyond *NoPage
		if !errors.As(err, &beyond) || *beyond != (NoPage{page, 41, 819, DefaultPageSize}) || !strings.Contains(err.Error(), "the last page is 41") {
			t.Errorf("page %d: %v", page, err)
		}
	}
	empty, err := v.List(t.Context(), &server{}, ListRequest{Kind: argocd.Applications})
	if err != nil || empty.Pagination != (Pagination{Page: 1, PageSize: 20}) || empty.Items == nil || len(empty.Counts.Health) != 0 {
		t.Errorf("an empty list: %v %+v", err, empty)
	}
	if _, err := v.List(t.Context(), &server{}, ListRequest{Kind: argocd.Applications, Page: 2}); err == nil || !strings.Contains(err.Error(), "nothing matches") {
		t.Errorf("page 2 of nothing: %v", err)
	}
}

// The order does not hang on how much memory a sort has, nor on which page is asked for,
// nor on whether all of it is kept.
func TestSortedOnDisk(t *testing.T) {
	t.Parallel()
	src := narrowServer(t)
	var want []json.RawMessage
	for _, l := range pages(t, newInventory(t, Options{SnapshotTTL: time.Hour}), src, ListRequest{Kind: argocd.Applications, PageSize: 100}) {
		want = append(want, l.Items...)
	}
	small := newInventory(t, Options{RunBytes: 2 << 10}) // about 100 runs: two rounds of merging
	for _, page := range []int{1, 4, 9} {
		l, err := small.List(t.Context(), src, ListRequest{Kind: argocd.Applications, Page: page, PageSize: 100})
		if err != nil {
			t.Fatal(err)
		}
		if from := 100 * (page - 1); !reflect.DeepEqual(want[from:min(from+100, 819)], l.Items) {
			t.Errorf("sorted on the disk page %d is another", page)
		}
	}
	if small.Stats().ScratchPeak == 0 {
		t.Error("the disk was not needed")
	}
}

func TestBrokenListsAreErrors(t *testing.T) {
	t.Parallel()
	cut := &argocd.Error{Instance: "test", Op: "list applications", Kind: argocd.Broken, Message: "cut off"}
	src := realServer(t)
	src.fail = map[argocd.Kind]error{argocd.Applications: cut}
	v := newInventory(t, Options{SnapshotTTL: time.Hour})
	for range 2 { // and are not kept
		if l, err := v.List(t.Context(), src, ListRequest{Kind: argocd.Applications}); !errors.Is(err, cut) || l != nil {
			t.Errorf("a list that breaks off gives %v, %v", l, err)
		}
		if f, err := v.Search(t.Context(), src, SearchRequest{Pattern: "payments"}); !errors.Is(err, cut) || f != nil {
			t.Errorf("a search through a list that breaks off gives %v, %v", f, err)
		}
	}
	odd := &server{items: map[argocd.Kind][]json.RawMessage{argocd.Applications: {[]byte(`{"metadata":{}}`), []byte(`"x"`)}}}
	var e *argocd.Error
	if _, err := v.List(t.Context(), odd, ListRequest{Kind: argocd.Applications}); !errors.As(err, &e) || e.Kind != argocd.Broken || !strings.Contains(err.Error(), "item 2") {
		t.Errorf("a list of texts: %v", err)
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	src := realServer(t)
	v := newInventory(t, Options{})
	calls := 0
	full := func(item []byte) ([]byte, error) {
		calls++
		return fmt.Appendf(nil, `{"size":%d}`, len(item)), nil
	}
	l, err := v.List(t.Context(), src, ListRequest{Kind: argocd.Applications, Page: 3, PageSize: 5, Full: full})
	if err != nil || len(l.Items) != 5 || !strings.HasPrefix(string(l.Items[0]), `{"size":`) || calls == 0 {
		t.Errorf("%v %+v, %d calls", err, l, calls)
	}
	if q, _ := src.queries.Load(argocd.Applications); q.(argocd.Query).Fields != nil {
		t.Errorf("whole objects were asked for as %v", q)
	}
	stop := errors.New("stop")
	if _, err := v.List(t.Context(), src, ListRequest{Kind: argocd.Applications, Full: func([]byte) ([]byte, error) { return nil, stop }}); !errors.Is(err, stop) {
		t.Errorf("an error of Full comes back as %v", err)
	}
	func() {
		defer func() {
			if what := recover(); what == nil || !strings.Contains(fmt.Sprint(what), "oh dear") {
				t.Errorf("a panic of Full comes back as %v", what)
			}
		}()
		_, _ = v.List(t.Context(), src, ListRequest{Kind: argocd.Applications, Full: func([]byte) ([]byte, error) { panic("oh dear") }})
	}()
}
