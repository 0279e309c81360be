package toolset

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// rowsOf makes rows with a description of these lengths.
func rowsOf(lengths ...int) []json.RawMessage {
	rows := make([]json.RawMessage, len(lengths))
	for i, n := range lengths {
		rows[i] = fmt.Appendf(nil, `{"name":"a%d","health":"Healthy","dest":"in-cluster team","repo":"https://git.example.com/%s.git","rev":"main","n":9007199254740993}`, i, strings.Repeat("r", n))
	}
	return rows
}

func sizeOf(rows []json.RawMessage) (n int) {
	for _, row := range rows {
		n += len(row) + 1
	}
	return n
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lengths  []int
		maxBytes int
		cut      string // the numbers of the rows that are shortened
	}{
		{nil, 100, ""},
		{[]int{10, 10, 10}, 1000, ""},
		{[]int{10, 1000, 10}, 1000, "1"},
		{[]int{10, 1000, 2000}, 1500, "2"},
		{[]int{10, 1000, 2000}, 600, "1 2"},
		{[]int{300, 300, 300}, 470, "0 1 2"},
		{[]int{10, 10}, -50, "0 1"}, // no room at all: what can go goes
	} {
		rows := rowsOf(test.lengths...)
		before := sizeOf(rows)
		cut, err := fit(pointers(rows), test.maxBytes)
		if err != nil {
			t.Fatal(err)
		}
		var shortened []string
		for i, row := range rows {
			var got struct {
				Name, Health string
				N            json.Number
				Cut          []string
			}
			if err := json.Unmarshal(row, &got); err != nil || got.Name != fmt.Sprint("a", i) || got.Health != "Healthy" || got.N != "9007199254740993" {
				t.Errorf("%v in %d: row %d is %s, %v", test.lengths, test.maxBytes, i, row, err)
			}
			if got.Cut != nil {
				shortened = append(shortened, fmt.Sprint(i))
			}
		}
		if got := strings.Join(shortened, " "); got != test.cut || cut != (test.cut != "") {
			t.Errorf("%v in %d: cut %q (%v), want %q", test.lengths, test.maxBytes, got, cut, test.cut)
		}
		if after := sizeOf(rows); after > before || test.maxBytes > 400 && after > test.maxBytes {
			t.Errorf("%v in %d: %d bytes of %d", test.lengths, test.maxBytes, after, before)
		}
	}
}

// Whatever rows there are, fit leaves objects, says what it took, and never makes more of them.
func FuzzLose(f *testing.F) {
	f.Add(`{"name":"a","repo":"https://git.example.com/a.git","rev":"main"}`, 30)
	f.Add(`{"repos":["a","b","c"],"more_repos":4,"cut":[1]}`, 10)
	f.Add(`{"template":"aaaaaaaaaaaaaaaaaaaa","template":"bbbbbbbbbbbbbbbbb"}`, 0)
	f.Fuzz(func(t *testing.T, row string, maxBytes int) {
		var before map[string]json.RawMessage
		if json.Unmarshal([]byte(row), &before) != nil || before == nil {
			return
		}
		out := json.RawMessage(row)
		cut, err := fit([]*json.RawMessage{&out}, maxBytes)
		if err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		if !cut {
			if string(out) != row {
				t.Fatalf("%s became %s without a word", row, out)
			}
			return
		}
		var after map[string]json.RawMessage
		if err := json.Unmarshal(out, &after); err != nil || len(out) >= len(row) {
			t.Fatalf("%s became %s, %v", row, out, err)
		}
		var gone []string
		if err := json.Unmarshal(after["cut"], &gone); err != nil || len(gone) == 0 {
			t.Fatalf("%s became %s, which does not say what is missing", row, out)
		}
		for key, value := range before {
			if kept, has := after[key]; !has {
				named := false
				for _, one := range gone {
					named = named || key == one || key == "more_"+one
				}
				if !named {
					t.Fatalf("%s became %s, which lost %q without a word", row, out, key)
				}
			} else if key != "cut" && string(kept) != string(value) {
				t.Fatalf("%s became %s: %q changed", row, out, key)
			}
		}
	})
}
