package inventory_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
)

// With the real client over HTTP: what is read with the fields of a summary has the same
// rows as whole objects have, one reading answers one question, and a list that is cut is
// no list.
func TestWithTheClient(t *testing.T) {
	t.Parallel()
	sim, err := simulator.New(simulator.Options{Applications: 150, Projects: 30, ApplicationSets: 40, Clusters: 13, Seed: 7, Version: "v3.5.1"})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(sim)
	defer web.Close()
	client, err := argocd.New(argocd.Options{URL: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	v := inventory.New(inventory.Options{Dir: t.TempDir(), SnapshotTTL: time.Hour})
	defer v.Close()
	full := func(item []byte) ([]byte, error) { return bytes.Clone(item), nil }
	for kind, total := range map[argocd.Kind]int{argocd.Applications: 150, argocd.Projects: 30, argocd.ApplicationSets: 40, argocd.Clusters: 13} {
		r := inventory.ListRequest{Kind: kind, PageSize: 100}
		rows, err := v.List(t.Context(), client, r)
		if err != nil {
			t.Fatal(err)
		}
		r.Full = full
		whole, err := v.List(t.Context(), client, r)
		if err != nil {
			t.Fatal(err)
		}
		if rows.Pagination.TotalItems != total || whole.Pagination != rows.Pagination {
			t.Fatalf("%s: %+v and %+v, want %d", kind, rows.Pagination, whole.Pagination, total)
		}
		for i, item := range whole.Items {
			row, err := inventory.Row(kind, item)
			if err != nil || !bytes.Equal(row, rows.Items[i]) {
				t.Fatalf("%s %d:\n%s\n%s (%v)", kind, i, rows.Items[i], row, err)
			}
		}
		if kind == argocd.Applications && rows.Bytes*2 > whole.Bytes {
			t.Errorf("fields saves nothing: %d of %d bytes", rows.Bytes, whole.Bytes)
		}
		if !json.Valid(rows.Items[0]) {
			t.Errorf("%s", rows.Items[0])
		}
	}
	found, err := v.Search(t.Context(), client, inventory.SearchRequest{Pattern: "prod"})
	if err != nil || found.TotalItems == 0 || found.Scanned[argocd.Applications] != 150 || len(found.Failed) != 0 {
		t.Errorf("%v %+v", err, found)
	}
	for _, kind := range argocd.Kinds() {
		if n := sim.Requests(string(kind)); n != 3 {
			t.Errorf("%s were read %d times, want 3", kind, n)
		}
	}
	sim.Set(simulator.Faults{CutAfter: 20_000})
	if l, err := v.List(t.Context(), client, inventory.ListRequest{Kind: argocd.Applications, Fresh: true}); err == nil {
		t.Errorf("a list that is cut gives %+v", l.Pagination)
	}
}
