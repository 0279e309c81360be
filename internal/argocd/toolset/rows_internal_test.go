package toolset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
)

// rowsAnswer is an answer as small as there is.
type rowsAnswer struct {
	Note, Namespace string
	Rows            []json.RawMessage
}

func shortened(t testing.TB, rows []json.RawMessage, namespace string, room int) (rowsAnswer, int) {
	t.Helper()
	r, err := rowPage{rows: pointers(rows), namespace: namespace, write: func(note, namespace string) any {
		return rowsAnswer{note, namespace, rows}
	}}.fitInto(room)
	if err != nil || !r.Paged {
		t.Fatalf("%v, %+v", err, r)
	}
	var got rowsAnswer
	if err := json.Unmarshal([]byte(r.Text), &got); err != nil {
		t.Fatal(err)
	}
	return got, len(r.Text)
}

// All rows of a page lose the same, and no more than must be.
func TestRowsGetShorterTogether(t *testing.T) {
	t.Parallel()
	const all = "name namespace project health sync dest repo path rev n"
	for room, want := range map[int]string{
		1659: all,
		1658: "name project health sync dest repo path rev n", // the namespace once for all
		1561: "name project health sync dest repo path n",
		1457: "name project health sync dest repo n",
		1329: "name project health sync dest n",
		1017: "name project health sync n",
		801:  "name health sync n", // what is unknown stays
	} {
		rows := make([]json.RawMessage, 8)
		for i := range rows {
			rows[i] = fmt.Appendf(nil, `{"name":"a%d","namespace":"argocd","project":"shop","health":"Healthy","sync":"Synced","dest":"in-cluster shop-%d","repo":"https://git.example.com/r.git","path":"deploy","rev":"main","n":9007199254740993}`, i, i)
		}
		got, n := shortened(t, rows, "argocd", room)
		var keys []string
		for _, row := range got.Rows {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(row, &fields); err != nil || string(fields["n"]) != "9007199254740993" {
				t.Fatalf("%s: %v", row, err)
			}
			keys = append(keys, strings.Join(slices.Sorted(maps.Keys(fields)), " "))
		}
		sorted := strings.Fields(want)
		slices.Sort(sorted)
		if keys[0] != strings.Join(sorted, " ") || len(slices.Compact(slices.Clone(keys))) != 1 || n > room {
			t.Errorf("room for %d: %d bytes, %q, want %q", room, n, keys, want)
		}
		if short := want != all; (got.Note == shapeNote) != short || (got.Namespace == "argocd") != short {
			t.Errorf("room for %d: note %q, namespace %q", room, got.Note, got.Namespace)
		}
	}
}

// Whatever a row has, what it loses is a field that may go, and the rest stays as it is.
func FuzzRowsGetShorter(f *testing.F) {
	f.Add(`{"name":"a","repo":"https://git.example.com/a.git","rev":"main"}`, 30)
	f.Add(`{"repos":["a","b","c"],"more_repos":4,"namespace":[1]}`, 10)
	f.Add(`{"template":"aaaaaaaaaaaaaaaaaaaa","template":"bbbbbbbbbbbbbbbbb"}`, 0)
	f.Fuzz(func(t *testing.T, row string, room int) {
		var before, after map[string]json.RawMessage
		if json.Unmarshal([]byte(row), &before) != nil || before == nil {
			return
		}
		got, _ := shortened(t, []json.RawMessage{json.RawMessage(row)}, "", room)
		if err := json.Unmarshal(got.Rows[0], &after); err != nil || len(got.Rows[0]) > len(row) {
			t.Fatalf("%s became %s, %v", row, got.Rows[0], err)
		}
		for key, value := range before {
			kept, has := after[key]
			switch may := slices.Contains(droppableFields(), strings.TrimPrefix(key, "more_")); {
			case !has && (!may || slices.Contains(inventory.LeastFields, key) || got.Note == ""):
				t.Fatalf("%s became %s, which lost %q", row, got.Rows[0], key)
			case has && compacted(t, kept) != compacted(t, value):
				t.Fatalf("%s became %s: %q changed", row, got.Rows[0], key)
			}
		}
	})
}

func compacted(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	text, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
