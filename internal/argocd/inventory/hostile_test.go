package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// planted is a server with a secret at every place where people put one.
func planted() *server {
	const meta = `"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"kind\":\"Secret\",\"data\":{\"a\":\"PLANTED\"}}","x/token":"PLANTED","hook":"https://u:PLANTED@hooks/x"},"labels":{"api-token":"PLANTED"}`
	const spec = `"project":"p","source":{"repoURL":"https://u:PLANTED@git/x","path":"."},"destination":{"server":"https://u:PLANTED@k8s:6443","namespace":"n"}`
	one := func(text string) []json.RawMessage { return []json.RawMessage{json.RawMessage(text)} }
	return &server{who: "planted", items: map[argocd.Kind][]json.RawMessage{
		argocd.Applications:    one(`{"metadata":{"name":"a",` + meta + `},"spec":{` + spec + `}}`),
		argocd.Projects:        one(`{"metadata":{"name":"a",` + meta + `},"spec":{"description":"see https://u:PLANTED@wiki token=PLANTED","sourceRepos":["https://u:PLANTED@git/x"],"destinations":[{"server":"https://u:PLANTED@k8s"}]}}`),
		argocd.ApplicationSets: one(`{"metadata":{"name":"a",` + meta + `},"spec":{"generators":[{"git":{"repoURL":"https://u:PLANTED@git/x"}}],"template":{"metadata":{"name":"https://u:PLANTED@x"},"spec":{` + spec + `}}},"status":{"conditions":[{"type":"ErrorOccurred","status":"True","message":"clone https://u:PLANTED@git/x: Authorization: Bearer PLANTED0PLANTED0"}]}}`),
		argocd.Clusters:        one(`{"name":"a","server":"https://u:PLANTED@k8s:6443",` + meta + `,"connectionState":{"status":"Failed","message":"Get \"https://u:PLANTED@k8s/version\": Bearer PLANTED0PLANTED0"}}`),
	}}
}

func TestRowsShowNoSecret(t *testing.T) {
	t.Parallel()
	v := newInventory(t, Options{})
	for _, kind := range argocd.Kinds() {
		got, err := v.List(t.Context(), planted(), ListRequest{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Items) != 1 || strings.Contains(string(got.Items[0]), "PLANTED") {
			t.Errorf("%s: %s", kind, got.Items)
		}
	}
}

// A search that finds what is masked would tell it, a letter at a time.
func TestSearchesFindNoSecret(t *testing.T) {
	t.Parallel()
	v := newInventory(t, Options{})
	for _, pattern := range []string{"PLANTED", "PLANT.D", "planted", `:P[A-Z]+D@`, "api-token=P"} {
		got, err := v.Search(t.Context(), planted(), SearchRequest{Pattern: pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got.TotalItems != 0 {
			t.Errorf("%q finds %d: %v", pattern, got.TotalItems, got.Items[0].Matched)
		}
	}
	for pattern, want := range map[string]int{"@git/x": 3, "@k8s": 4, "x/token": 4, "hooks/x": 4, "last-applied": 0} {
		got, err := v.Search(t.Context(), planted(), SearchRequest{Pattern: pattern, Literal: true})
		if err != nil {
			t.Fatal(err)
		}
		if got.TotalItems != want {
			t.Errorf("%q finds %d, want %d", pattern, got.TotalItems, want)
		}
	}
}

// What no Argo CD sends: names, projects and statuses without end. They are told apart and
// counted, and take no more room than others in rows, keys and counts.
func TestHugeTextsAreShort(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("é", 8<<10)
	var items []json.RawMessage
	for i := range 30 {
		items = append(items, fmt.Appendf(nil, `{"metadata":{"name":"n%02d-%s","namespace":%q},"spec":{"project":"p%02d-%s","sources":[{"repoURL":%q,"path":%q}],"destination":{"server":%q}},"status":{"health":{"status":"H%d%s"},"sync":{"status":"S"}}}`,
			i, huge, huge, i%3, huge, huge, huge, huge, i%2, huge))
	}
	src := &server{who: "huge", items: map[argocd.Kind][]json.RawMessage{argocd.Applications: items}}
	v := newInventory(t, Options{})
	got, err := v.List(t.Context(), src, ListRequest{Kind: argocd.Applications, Page: 2, PageSize: 20})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 80<<10 {
		t.Errorf("a page has %d bytes", len(text))
	}
	if got.Pagination.TotalItems != 30 || len(got.Items) != 10 || len(got.Counts.Projects) != 3 || len(got.Counts.Health) != 2 || got.Counts.Sync["S"] != 30 {
		t.Errorf("%+v, %d items, %d projects", got.Pagination, len(got.Items), len(got.Counts.Projects))
	}
	for i, item := range got.Items {
		if want := fmt.Sprintf(`{"name":"n%02d-`, 20+i); !strings.HasPrefix(string(item), want) || !strings.Contains(string(item), "é…") || strings.Contains(string(item), "\ufffd") {
			t.Errorf("row %d is %.80s", i, item)
		}
	}
	found, err := v.Search(t.Context(), src, SearchRequest{Pattern: "n0[0-4]-", Kinds: []argocd.Kind{argocd.Applications}})
	if err != nil || found.TotalItems != 5 {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := v.List(t.Context(), src, ListRequest{Kind: argocd.Applications, Page: 3}); !errors.As(err, new(*NoPage)) {
		t.Error(err)
	}
}
