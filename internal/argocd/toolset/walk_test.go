package toolset_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// takes is ask as a client that takes so many bytes does, and what it gets has to be a page of the tool's own.
func takes[T any](t testing.TB, set *toolset.Toolset, maxText int, name, arguments string) (answer T, text string) {
	t.Helper()
	for _, tool := range set.Tools() {
		if tool.Name != name {
			continue
		}
		r, err := tool.Run(t.Context(), &builtin.Call{
			Tool: name, Arguments: json.RawMessage(arguments), Principal: "p", MaxText: limit.Bytes(maxText), Progress: func(float64, float64, string) {},
		})
		switch {
		case err != nil:
			t.Fatalf("%s %s: %v", name, arguments, err)
		case r.IsError || r.Stream != nil || !r.Paged:
			t.Fatalf("%s %s: error %v, streamed %v, paged %v: %.300s", name, arguments, r.IsError, r.Stream != nil, r.Paged, r.Text)
		case len(r.Text) > maxText:
			t.Errorf("%s %s: %d bytes for a client that takes %d", name, arguments, len(r.Text), maxText)
		}
		if err := json.Unmarshal([]byte(r.Text), &answer); err != nil {
			t.Fatalf("%s %s: %v", name, arguments, err)
		}
		return answer, r.Text
	}
	t.Fatalf("there is no tool %s", name)
	return answer, ""
}

// A walked page is what lists and searches have in common.
type walkedPage struct {
	pageOf
	Total     int `json:"total_matches"`
	Namespace string
	Part      *struct {
		Part    int
		Parts   int  `json:"total_parts"`
		HasNext bool `json:"has_next"`
	}
	Results map[string][]map[string]any
}

// rows are the names of all rows of a page, with what tells them apart.
func (p walkedPage) rows(t testing.TB, kind argocd.Kind) (names []string) {
	t.Helper()
	if p.Part != nil && p.Part.Part > 1 {
		return nil // the rest of a row that was seen
	}
	one := func(kind string, row map[string]any) {
		name, _ := row["name"].(string)
		namespace, _ := row["namespace"].(string)
		for _, in := range []any{row["metadata"]} {
			if m, is := in.(map[string]any); is {
				name, _ = m["name"].(string)
				namespace, _ = m["namespace"].(string)
			}
		}
		if m, is := row["metadata.name"].(string); is {
			name = m
		}
		if m, is := row["metadata.namespace"].(string); is {
			namespace = m
		}
		switch {
		case kind == string(argocd.Projects) || kind == string(argocd.Clusters):
			namespace = "" // only whole objects show it
		case namespace == "":
			namespace = p.Namespace
		}
		if name == "" {
			t.Errorf("a row without a name: %v", slices.Sorted(maps.Keys(row)))
		}
		server, _ := row["server"].(string)
		names = append(names, strings.Join([]string{kind, namespace, name, server}, "/"))
	}
	for _, row := range p.Items {
		one(string(kind), row)
	}
	for _, kind := range argocd.Kinds() {
		for _, row := range p.Results[string(kind)] {
			one(string(kind), row)
		}
	}
	return names
}

// checked says what is wrong with the arithmetic of a page that follows so many rows.
func (p walkedPage) checked(t testing.TB, before, rows int) {
	t.Helper()
	a := p.Pagination
	pages := (a.TotalItems + a.PageSize - 1) / a.PageSize
	if a.TotalPages != pages || a.HasNext != (a.Page < pages) || a.HasPrev != (a.Page > 1) || p.Part == nil && (p.Next != nil) != a.HasNext {
		t.Errorf("%+v, next %v", a, p.Next != nil)
	}
	if p.Part != nil && p.Part.Part > 1 {
		return
	}
	if rows != min(a.PageSize, a.TotalItems-before) || a.ShowingTo != before+rows || rows > 0 && a.ShowingFrom != before+1 {
		t.Errorf("%d rows after %d: %+v", rows, before, a)
	}
}

// A walk that follows every next and one that counts page up see every row exactly once: of lists and of searches, of short rows and
// of whole objects, at any page size and for clients of any room. All pages of a question have the same size.
func TestEveryRowExactlyOnce(t *testing.T) {
	t.Parallel()
	recorded, _ := recordedToolset(t, lasting())
	simulated, _ := simulated(t, simulator.Options{Applications: 230, Projects: 41, ApplicationSets: 37, Clusters: 9}, lasting())
	r := rand.New(rand.NewPCG(14, 4))
	rooms := []int{2500, 4000, 6000, 8 << 10, 10_000, 10_000, 25_000, 100_000}
	for n := range 60 {
		set, of := recorded, "recorded"
		if n%3 == 0 {
			set, of = simulated, "simulated"
		}
		room := rooms[r.IntN(len(rooms))]
		arguments := map[string]any{}
		if r.IntN(4) > 0 {
			arguments["page_size"] = []int{1, 7, 20, 33, 50, 100, 100, 100, 1000}[r.IntN(9)]
		}
		tool := "search_argocd_resources"
		kind := argocd.Kinds()[r.IntN(4)]
		if r.IntN(3) > 0 {
			tool = listTools[kind]
			if size, _ := arguments["page_size"].(int); r.IntN(4) == 0 && size != 1 {
				arguments["full"] = true
				if kind == argocd.Applications {
					arguments["health"] = []string{"Degraded", "Missing"} // fewer of them
				}
			}
		} else {
			arguments["query"] = []string{"team=search", "staging", "payments|core", "^b", "nothing at all"}[r.IntN(5)]
		}
		encoded := func(more ...any) string {
			all := maps.Clone(arguments)
			for i := 0; i < len(more); i += 2 {
				all[more[i].(string)] = more[i+1]
			}
			text, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		t.Run(fmt.Sprintf("%d %s %s %s %d", n, of, tool, encoded(), room), func(t *testing.T) {
			var followed, counted []string
			size, next := 0, encoded()
			for next != "" {
				page, _ := takes[walkedPage](t, set, room, tool, next)
				rows := page.rows(t, kind)
				page.checked(t, len(followed), len(rows))
				followed = append(followed, rows...)
				if size == 0 {
					size = page.Pagination.PageSize
				}
				if page.Pagination.PageSize != size {
					t.Fatalf("pages of %d and of %d in one walk", size, page.Pagination.PageSize)
				}
				if next = ""; page.Next != nil {
					next = string(page.Next.Arguments)
				}
				if len(followed) > 2000 {
					t.Fatal("the walk has no end")
				}
			}
			for number := 1; ; number++ {
				page, _ := takes[walkedPage](t, set, room, tool, encoded("page", number))
				rows := page.rows(t, kind)
				page.checked(t, len(counted), len(rows))
				counted = append(counted, rows...)
				if !page.Pagination.HasNext {
					if len(counted) != page.Pagination.TotalItems {
						t.Errorf("%d rows of %d", len(counted), page.Pagination.TotalItems)
					}
					break
				}
			}
			if !slices.Equal(followed, counted) {
				t.Errorf("%d rows by next, %d by page", len(followed), len(counted))
			}
			if slices.Sort(followed); len(slices.Compact(followed)) != len(counted) {
				t.Error("a row came twice")
			}
		})
	}
}

// 100 rows are what page_size=100 gives, also to clients that take 10,000 bytes; the rows are short then, and say so. Where
// even the shortest would not fit on every page, the page size is smaller, on all of them.
func TestRowsGetShorterBeforeTheyGetFewer(t *testing.T) {
	t.Parallel()
	set, _ := recordedToolset(t, lasting())
	for room, want := range map[int]int{8 << 10: 88, 10_000: 100, 60_000: 100} {
		page, text := takes[walkedPage](t, set, room, "list_applications", `{"page_size":100}`)
		if len(page.Items) != want || page.Pagination.PageSize != want || page.Pagination.TotalPages != (819+want-1)/want {
			t.Errorf("room for %d bytes: %d rows, %+v", room, len(page.Items), page.Pagination)
		}
		for _, row := range page.Items {
			if row["health"] == nil || row["sync"] == nil {
				t.Fatalf("room for %d bytes: %v", room, row)
			}
		}
		if short := strings.Contains(page.Note, "Rows are short here"); short != (room < 50_000) {
			t.Errorf("room for %d bytes, %d taken: %q", room, len(text), page.Note)
		}
		t.Logf("room for %d bytes: %d taken", room, len(text))
	}
	// A search on a page with several kinds has rows of all of them.
	page, _ := takes[walkedPage](t, set, 10_000, "search_argocd_resources", `{"query":"payments","page_size":100}`)
	for kind, n := range map[string]int{"applications": 1, "projects": 1, "applicationsets": 1} {
		if got := len(page.Results[kind]); got < n {
			t.Errorf("%d %s on the page: %v", got, kind, page.Total)
		}
	}
}

// What belongs to one application is paged by the same rule, and its whole object is read part by part: nothing of it is lost, the
// spec least of all.
func TestPartsOfOneApplication(t *testing.T) {
	t.Parallel()
	set, _ := simulated(t, simulator.Options{Applications: 60}, lasting())
	first, _ := takes[walkedPage](t, set, 100_000, "list_applications", `{"page_size":1}`)
	name, _ := first.Items[0]["name"].(string)
	type part struct {
		Part *struct {
			Part    int
			Parts   int  `json:"total_parts"`
			HasNext bool `json:"has_next"`
		}
		Next *struct {
			Tool      string
			Arguments json.RawMessage
		}
		LeftOut []string `json:"left_out"`
		Object  map[string]json.RawMessage
	}
	whole, _ := takes[part](t, set, 1<<20, "get_application_details", fmt.Sprintf(`{"name":%q,"full":true}`, name))
	if whole.Part != nil || whole.Object["spec"] == nil {
		t.Fatalf("the whole object: %v", slices.Sorted(maps.Keys(whole.Object)))
	}
	for _, room := range []int{1800, 2500, 4000} {
		pages, total := 0, 0
		for next := fmt.Sprintf(`{"name":%q,"page_size":100}`, name); next != ""; pages++ {
			page, _ := takes[walkedPage](t, set, room, "get_application_resource_tree", next)
			page.checked(t, total, len(page.Items))
			total += len(page.Items)
			if next = ""; page.Next != nil {
				next = string(page.Next.Arguments)
			}
		}
		all, _ := takes[walkedPage](t, set, 1<<20, "get_application_resource_tree", fmt.Sprintf(`{"name":%q,"page_size":100}`, name))
		if total != all.Pagination.TotalItems {
			t.Errorf("room for %d: %d resources of %d", room, total, all.Pagination.TotalItems)
		}

		size, seen := 0, map[string]bool{}
		for next := fmt.Sprintf(`{"name":%q,"full":true}`, name); next != ""; {
			p, _ := takes[part](t, set, room, "get_application_details", next)
			for path, value := range p.Object {
				if seen[path] {
					t.Errorf("room for %d: %s came twice", room, path)
				}
				seen[path] = true
				size += len(value)
			}
			if next = ""; p.Next != nil {
				next = string(p.Next.Arguments)
			}
			if p.Part == nil || (p.Next != nil) != p.Part.HasNext {
				t.Fatalf("room for %d: %+v", room, p.Part)
			}
		}
		spec := slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(path string) bool { return strings.HasPrefix(path, "spec") })
		if leaves := leafBytes(t, whole.Object); !spec || size < leaves {
			t.Errorf("room for %d: %d bytes of values, %d in the object, spec %v", room, size, leaves, spec)
		}
	}
	refusedWith(t, set, "get_application_details", fmt.Sprintf(`{"name":%q,"full":true,"part":99}`, name), "there is no part 99", "the object has 1") // nobody bounds this call
}

// leafBytes is how many bytes the values of an object take that are no objects or lists.
func leafBytes(t *testing.T, v any) (n int) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, one := range v {
				walk(one)
			}
		case []any:
			for _, one := range v {
				walk(one)
			}
		default:
			leaf, _ := json.Marshal(v)
			n += len(leaf)
		}
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	walk(decoded)
	return n
}
