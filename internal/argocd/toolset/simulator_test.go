package toolset_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
)

// simulated is the tools against a simulator.
func simulated(t *testing.T, o simulator.Options, with toolset.Options) (*toolset.Toolset, *simulator.Simulator) {
	t.Helper()
	sim, err := simulator.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	return newToolset(t, with, clientOf(t, "sim", server.URL, o.Token)), sim
}

// named is a count with the name that answers have for a status that is not set.
func named(counts map[string]int) map[string]int {
	counts = maps.Clone(counts)
	if n := counts[""]; n > 0 {
		counts["none"] = n
	}
	delete(counts, "")
	return counts
}

func TestSimulatedTotals(t *testing.T) {
	t.Parallel()
	set, sim := simulated(t, simulator.Options{}, toolset.Options{})
	want := sim.Counts()
	got, text := ask[pageOf](t, set, "list_applications", `{}`)
	if got.Pagination.TotalItems != want.Applications || !maps.Equal(got.Summary.Health, named(want.Health)) || !maps.Equal(got.Summary.Sync, named(want.Sync)) {
		t.Errorf("%+v\nwant %+v", got.Summary, want)
	}
	for name, n := range got.Summary.Projects {
		if want.ByProject[name] != n {
			t.Errorf("project %s has %d applications, want %d", name, n, want.ByProject[name])
		}
	}
	if len(text) > shortPage || tokensOf(t, text) > maxTokens {
		t.Errorf("%d bytes, %d tokens", len(text), tokensOf(t, text))
	}
	if n := sim.Requests("applications"); n != 1 {
		t.Errorf("%d lists of applications were read for one page", n)
	}
	for tool, n := range map[string]int{"project_list": want.Projects, "applicationset_list": want.ApplicationSets, "cluster_service__list": want.Clusters} {
		if got, text := ask[pageOf](t, set, tool, `{}`); got.Pagination.TotalItems != n || len(text) > shortPage || tokensOf(t, text) > maxTokens {
			t.Errorf("%s: %d items, want %d; %d bytes, %d tokens", tool, got.Pagination.TotalItems, n, len(text), tokensOf(t, text))
		}
	}
}

// The server filters, and what it filters is what is counted.
func TestSimulatedFilters(t *testing.T) {
	t.Parallel()
	set, sim := simulated(t, simulator.Options{Applications: 100}, toolset.Options{})
	want := sim.Counts()
	var names []string
	for name := range want.ByProject {
		if names = append(names, name); len(names) == 2 {
			break
		}
	}
	for _, form := range []any{names, strings.Join(names, ", ")} {
		arguments, _ := json.Marshal(map[string]any{"project": form})
		got, _ := ask[pageOf](t, set, "list_applications", string(arguments))
		if got.Pagination.TotalItems != want.ByProject[names[0]]+want.ByProject[names[1]] || len(got.Summary.Projects) != 2 {
			t.Errorf("%s: %d applications, %v; want %d and %d", arguments, got.Pagination.TotalItems, got.Summary.Projects, want.ByProject[names[0]], want.ByProject[names[1]])
		}
	}
	first, _ := ask[pageOf](t, set, "list_applications", `{"page_size":1}`)
	name, _ := first.Items[0]["name"].(string)
	one, _ := ask[pageOf](t, set, "list_applications", `{"name":"`+name+`"}`)
	if one.Pagination.TotalItems != 1 || one.Items[0]["name"] != name {
		t.Errorf("%q: %+v", name, one.Pagination)
	}
	none, _ := ask[pageOf](t, set, "list_applications", `{"name":"nosuch"}`)
	if none.Pagination.TotalItems != 0 || !strings.Contains(none.Note, "search_argocd_resources") {
		t.Errorf("%+v", none)
	}
	refusedWith(t, set, "list_applications", `{"selector":"=="}`)
	found, _ := ask[foundIn](t, set, "search_argocd_resources", `{"query":"^`+name+`$"}`)
	if found.Breakdown["applications"] < 1 {
		t.Errorf("the search for %q finds %v", name, found.Breakdown)
	}
}

// A user's own token decides what is seen, and what is counted.
func TestSimulatedUsers(t *testing.T) {
	t.Parallel()
	full, sim := simulated(t, simulator.Options{Applications: 60, Token: "admin"}, toolset.Options{})
	project, maxBytes := "", 0
	for name, n := range sim.Counts().ByProject {
		if n > maxBytes || n == maxBytes && name < project {
			project, maxBytes = name, n
		}
	}
	if got, _ := ask[pageOf](t, full, "list_applications", `{}`); got.Pagination.TotalItems != 60 {
		t.Errorf("the administrator sees %d", got.Pagination.TotalItems)
	}
	o := lasting()
	o.UserTokens = toolset.TokensRequire
	set, _ := simulated(t, simulator.Options{Applications: 60, Token: "admin", Tokens: map[string]simulator.Access{
		"token-of-a": {Name: "a", Projects: []string{project}}, "token-of-b": {Name: "b"},
	}}, o)
	for _, test := range []struct {
		token string
		want  int
	}{{"token-of-a", maxBytes}, {"token-of-b", 0}, {"admin", 60}, {"token-of-a", maxBytes}} {
		text, failed := callTool(t, set, http.Header{"Authorization": {"Bearer " + test.token}}, "list_applications", `{}`)
		var got pageOf
		if err := json.Unmarshal([]byte(text), &got); failed || err != nil || got.Pagination.TotalItems != test.want {
			t.Errorf("%s sees %d applications, want %d (%v): %.300s", test.token, got.Pagination.TotalItems, test.want, err, text)
		}
	}
	if text, failed := callTool(t, set, http.Header{"Authorization": {"Bearer nobody"}}, "list_applications", `{}`); !failed || strings.Contains(text, "nobody") {
		t.Errorf("a stranger's token: %.300s", text)
	}
}

func TestSimulatedFaults(t *testing.T) {
	t.Parallel()
	for fault, words := range map[string][]string{
		"cut=2000": nil, "status=401": nil, "status=403": nil, "status=500": nil, "html": {"web page"}, "expired": {"expired"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			set, sim := simulated(t, simulator.Options{Applications: 60, Projects: 30, ApplicationSets: 30, Clusters: 5, Token: "t"}, lasting())
			faults, err := simulator.ParseFaults(fault)
			if err != nil {
				t.Fatal(err)
			}
			sim.Set(faults)
			for tool, arguments := range everything {
				text := refusedWith(t, set, tool, arguments)
				for _, word := range words {
					if !strings.Contains(text, word) {
						t.Errorf("%s: the error has no %q: %s", tool, word, text)
					}
				}
			}
			sim.Set(simulator.Faults{})
			for tool, arguments := range everything {
				ask[map[string]any](t, set, tool, arguments)
			}
		})
	}
}

// More than a thousand matches among the applications alone; one pass, and counts to go on with.
func TestSimulatedMasses(t *testing.T) {
	t.Parallel()
	set, sim := simulated(t, simulator.Options{Applications: 1050, Projects: 10, ApplicationSets: 10, Clusters: 2}, lasting())
	text := refusedWith(t, set, "search_argocd_resources", `{"query":"."}`, "more than 1000")
	var got struct {
		Total     int `json:"total_matches"`
		Breakdown map[string]int
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Total != 1072 || got.Breakdown["applications"] == 0 || len(text) > 4096 {
		t.Errorf("%v: %.600s", err, text)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			text, failed := callTool(t, set, nil, "list_applications", `{"page":53}`)
			if failed || !strings.Contains(text, `"total_items":1050`) || len(text) > shortPage {
				t.Errorf("page 53: %d bytes: %.300s", len(text), text)
			}
		})
	}
	wg.Wait()
	// The search and the listing read different fields: one pass each.
	if n := sim.Requests("applications"); n > 2 {
		t.Errorf("50 calls at once and a search read the applications %d times", n)
	}
}
