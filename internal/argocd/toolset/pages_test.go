package toolset_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
)

// What a default answer may take. Clients cut at 8 KiB (VS Code) or about 10 KB (Codex).
const (
	maxAnswer       = 10_000 // bytes
	maxApplications = 8_192  // bytes of a page of more than 20 applications
	shortPage       = 5_000  // bytes of a page of 20 of anything
	maxTokens       = 2_500  // of o200k
	shortTokens     = 1_600  // for a page of 20
)

// o200k counts tokens. Package window/tokens would be faster, but the planes do not know
// each other; this is the library that it is held against.
var o200k = sync.OnceValues(func() (*tiktoken.Tiktoken, error) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	return tiktoken.GetEncoding("o200k_base")
})

func tokensOf(t testing.TB, text string) int {
	t.Helper()
	encoding, err := o200k()
	if err != nil {
		t.Fatal(err)
	}
	return len(encoding.EncodeOrdinary(text))
}

func TestEveryPageOfEveryKind(t *testing.T) {
	t.Parallel()
	// One listing, one reading: 67 pages would read 7 MB each otherwise.
	set, server := recordedToolset(t, lasting())
	for _, kind := range argocd.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			var (
				names                 []string
				mostBytes, mostTokens int
				first                 pageOf
				arguments             = "{}"
			)
			for number := 1; ; number++ {
				page, text := ask[pageOf](t, set, listTools[kind], arguments)
				if number == 1 {
					first = page
				}
				p := page.Pagination
				if want := (totals[kind] + 19) / 20; p.Page != number || p.PageSize != 20 || p.TotalItems != totals[kind] || p.TotalPages != want {
					t.Fatalf("page %d: %+v", number, p)
				}
				if p.ShowingFrom != len(names)+1 || p.ShowingTo != len(names)+len(page.Items) || p.HasPrev != (number > 1) || p.HasNext != (p.ShowingTo < totals[kind]) {
					t.Fatalf("page %d: %+v with %d items", number, p, len(page.Items))
				}
				if fmt.Sprint(page.Summary) != fmt.Sprint(first.Summary) {
					t.Errorf("page %d: the totals are %v, page 1 has %v", number, page.Summary, first.Summary)
				}
				if !page.SummaryOnly || page.BaseURL != server.URL {
					t.Errorf("page %d: summary_only %v, argocd_base_url %q", number, page.SummaryOnly, page.BaseURL)
				}
				for _, item := range page.Items {
					for _, field := range []string{"name", "project", "health", "sync", "dest"} {
						if kind == argocd.Applications && item[field] == nil {
							t.Errorf("page %d: %v has no %s", number, item["name"], field)
						}
					}
					namespace, _ := item["namespace"].(string) // none where it stands once for all
					names = append(names, item["name"].(string)+"\x00"+namespace)
				}
				mostBytes = max(mostBytes, len(text))
				mostTokens = max(mostTokens, tokensOf(t, text))
				if (page.Next != nil) != p.HasNext {
					t.Fatalf("page %d: has_next %v, next %v", number, p.HasNext, page.Next)
				}
				if page.Next == nil {
					break
				}
				if page.Next.Tool != listTools[kind] {
					t.Errorf("page %d: next is a call of %q", number, page.Next.Tool)
				}
				arguments = string(page.Next.Arguments)
			}
			if len(names) != totals[kind] || !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
				t.Errorf("%d names on all pages, sorted and each once: %v", len(names), slices.IsSorted(names))
			}
			var want []string
			for _, object := range recordedObjects(t, kind) {
				name, _ := at(object, "metadata", "name").(string)
				if kind == argocd.Clusters {
					name, _ = object["name"].(string)
				}
				want = append(want, name)
			}
			got := make([]string, len(names))
			for i, name := range names {
				got[i], _, _ = strings.Cut(name, "\x00")
			}
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Error("the pages do not have the names of the list")
			}
			t.Logf("largest page: %d bytes, %d tokens", mostBytes, mostTokens)
			if mostBytes > shortPage || mostTokens > shortTokens {
				t.Errorf("the largest page has %d bytes and %d tokens, more than %d or %d", mostBytes, mostTokens, shortPage, shortTokens)
			}
			if n := server.asked(kind); n != 1 {
				t.Errorf("the list was read %d times, want once", n)
			}
		})
	}
}

// at walks into decoded JSON.
func at(v any, keys ...string) any {
	for _, key := range keys {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return v
}

func TestTotalsAreThoseOfTheList(t *testing.T) {
	t.Parallel()
	set, _ := recordedToolset(t, toolset.Options{})
	got, text := ask[pageOf](t, set, "list_applications", `{"page_size":1}`)
	health := map[string]int{"Healthy": 584, "Degraded": 76, "Progressing": 63, "Unknown": 32, "Missing": 29, "Suspended": 25, "none": 10}
	sync := map[string]int{"Synced": 609, "OutOfSync": 148, "Unknown": 52, "none": 10}
	if !maps.Equal(got.Summary.Health, health) || !maps.Equal(got.Summary.Sync, sync) {
		t.Errorf("health %v\nsync %v", got.Summary.Health, got.Summary.Sync)
	}

	projects := map[string]int{}
	for _, app := range recordedObjects(t, argocd.Applications) {
		name, _ := at(app, "spec", "project").(string)
		projects[name]++
	}
	order := slices.SortedFunc(maps.Keys(projects), func(a, b string) int {
		return cmp.Or(projects[b]-projects[a], strings.Compare(a, b))
	})
	listed, others := 0, 819
	for _, name := range order[:10] {
		if got.Summary.Projects[name] != projects[name] {
			t.Errorf("project %s has %d applications, want %d", name, got.Summary.Projects[name], projects[name])
		}
		listed++
		others -= projects[name]
	}
	if len(got.Summary.Projects) != listed || got.Summary.OtherProjects != len(projects)-10 || got.Summary.InOtherProjects != others {
		t.Errorf("%d projects and %d others with %d applications, want 10, %d, %d",
			len(got.Summary.Projects), got.Summary.OtherProjects, got.Summary.InOtherProjects, len(projects)-10, others)
	}
	// The most used project stands first: an object keeps that order.
	if i, j := strings.Index(text, order[0]), strings.Index(text, order[9]); i < 0 || j < i {
		t.Errorf("%s does not stand before %s", order[0], order[9])
	}
	if got.Link != got.BaseURL+"/applications/{namespace}/{name}" {
		t.Errorf("link %q", got.Link)
	}

	// Counting is enough for most questions, and cheap.
	if len(text) > 1500 {
		t.Errorf("totals and one application take %d bytes", len(text))
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	set, _ := recordedToolset(t, lasting())
	apps := recordedObjects(t, argocd.Applications)
	count := func(is func(app map[string]any) bool) (n int) {
		for _, app := range apps {
			if is(app) {
				n++
			}
		}
		return n
	}
	text := func(app map[string]any, keys ...string) string { s, _ := at(app, keys...).(string); return s }
	for arguments, want := range map[string]int{
		`{"health":["Degraded"]}`:           76,
		`{"health":"degraded, missing"}`:    76 + 29,
		`{"sync":["OutOfSync"]}`:            148,
		`{"sync":["none"],"health":"none"}`: 10,
		`{"health":["Degraded"],"sync":["OutOfSync"]}`: count(func(app map[string]any) bool {
			return text(app, "status", "health", "status") == "Degraded" && text(app, "status", "sync", "status") == "OutOfSync"
		}),
	} {
		got, _ := ask[pageOf](t, set, "list_applications", arguments)
		if got.Pagination.TotalItems != want {
			t.Errorf("%s: %d applications, want %d", arguments, got.Pagination.TotalItems, want)
		}
		sum := 0
		for _, n := range got.Summary.Health {
			sum += n
		}
		if sum != want {
			t.Errorf("%s: the counts by health have %d applications, want %d", arguments, sum, want)
		}
	}
	// Projects are not filtered by the server.
	got, _ := ask[pageOf](t, set, "project_list", `{"param_name":"billing-integrations"}`)
	if got.Pagination.TotalItems != 1 || len(got.Items) != 1 || got.Items[0]["name"] != "billing-integrations" {
		t.Errorf("project_list by name: %+v", got)
	}
	got, _ = ask[pageOf](t, set, "project_list", `{"param_name":"billing"}`)
	if got.Pagination.TotalItems != 0 || got.Items == nil || !strings.Contains(got.Note, "search_argocd_resources") {
		t.Errorf("project_list by a part of a name: %+v", got)
	}
}

func TestPagesBeyondTheEnd(t *testing.T) {
	t.Parallel()
	set, _ := recordedToolset(t, lasting())
	for kind, tool := range listTools {
		last := (totals[kind] + 19) / 20
		refusedWith(t, set, tool, `{"page":1000}`, "page 1000 is beyond the end", fmt.Sprintf("the last page is %d", last), fmt.Sprintf(`"total_items":%d`, totals[kind]), `"has_next":false`,
			fmt.Sprintf(`"next":{"tool":%q,"arguments":{"page":%d}}`, tool, last))
	}
	refusedWith(t, set, "list_applications", `{"page":42,"page_size":20,"health":["Healthy"]}`, "the last page is 30", `"health":["Healthy"]`)
	refusedWith(t, set, "search_argocd_resources", `{"query":"billing","page":1000}`, "page 1000 is beyond the end")
	// An empty listing has no page beyond it: it is empty.
	got, _ := ask[pageOf](t, set, "project_list", `{"param_name":"nosuch"}`)
	if got.Pagination.TotalItems != 0 || got.Pagination.HasNext {
		t.Errorf("%+v", got.Pagination)
	}
}

func TestPagesAreClamped(t *testing.T) {
	t.Parallel()
	set, _ := recordedToolset(t, lasting())
	for arguments, want := range map[string][2]int{
		`{"page":0}`:                    {1, 20},
		`{"page":-7,"page_size":-1}`:    {1, 1},
		`{"page":2,"page_size":100}`:    {2, 100},
		`{"page":1,"page_size":5000}`:   {1, 100},
		`{"page":"3","page_size":"10"}`: {3, 10},
		`{"page":null}`:                 {1, 20},
	} {
		got, _ := ask[pageOf](t, set, "list_applications", arguments)
		if got.Pagination.Page != want[0] || got.Pagination.PageSize != want[1] || len(got.Items) != want[1] {
			t.Errorf("%s: page %d of %d items, want %v", arguments, got.Pagination.Page, got.Pagination.PageSize, want)
		}
		if strings.Contains(arguments, "5000") != strings.Contains(got.Note, "page_size 5000") {
			t.Errorf("%s: note %q", arguments, got.Note)
		}
	}
}
