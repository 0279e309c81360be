package toolset

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// The examples of RFC 7396, appendix A.
func TestMergePatchesAreThoseOfTheRFC(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		onto, patch := mustTree(t, c[0]), mustTree(t, c[1])
		got, err := compact(mergePatch(onto, patch))
		if err != nil || string(got) != c[2] {
			t.Errorf("%s on %s is %s, %v, want %s", c[1], c[0], got, err, c[2])
		}
		if !equalJSON(onto, mustTree(t, c[0])) || !equalJSON(patch, mustTree(t, c[1])) {
			t.Errorf("%s on %s changed one of them", c[1], c[0])
		}
	}
}

func mustTree(t testing.TB, text string) any {
	t.Helper()
	v, err := decodeTree([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNestingBombsAreRefused(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxNesting + 1, 1_000_000} {
		for _, open := range []string{"[", `{"a":`} {
			if _, err := decodeTree([]byte(strings.Repeat(open, n))); err == nil || !strings.Contains(err.Error(), "nested deeper") {
				t.Errorf("%d of %s: %v", n, open, err)
			}
		}
	}
	if got := nestingDepth([]byte(`{"a[[[":"\\\"{{{","b":[1]}`)); got != 2 {
		t.Errorf("brackets in strings count: %d", got)
	}
	var o object
	if err := json.Unmarshal([]byte(`"{\"replicas\":9007199254740993,\"gone\":null}"`), &o); err != nil || !reflect.DeepEqual(o, object{"replicas": json.Number("9007199254740993"), "gone": nil}) {
		t.Errorf("an object written as a string: %v, %v", o, err)
	}
	if err := json.Unmarshal([]byte(`[1]`), &o); err == nil {
		t.Error("a list was taken for an object")
	}
}

// FuzzChange holds what is shown of a change to what the change is.
func FuzzChange(f *testing.F) {
	f.Add([]byte(`{"spec":{"a":1,"password":"x","l":[1,2]}}`), []byte(`{"spec":{"a":null,"password":"y","l":[1,3]}}`))
	f.Add([]byte(`{"kind":"Secret","data":{"a":"eA=="}}`), []byte(`{"data":null}`))
	f.Add([]byte(`{"a":null}`), []byte(`{"a":null}`))
	f.Add([]byte(`[]`), []byte(`{"a":{"b":null}}`))
	f.Add([]byte(`{"a":1e400,"b":"\ud800"}`), []byte(`{"a":123456789012345678901234567890}`))
	f.Fuzz(func(t *testing.T, onto, patch []byte) {
		before, err := decodeTree(onto)
		if err != nil {
			return
		}
		p, err := decodeTree(patch)
		if err != nil {
			return
		}
		after := mergePatch(before, p)
		again := mergePatch(after, p)
		if !equalJSON(after, again) {
			t.Fatalf("%s on %s twice is not what it is once", patch, onto)
		}
		list, all, err := differences(before, after)
		if err != nil {
			return // what cannot be masked is not shown
		}
		// Null and nothing are the same to an API.
		null := bytes.Contains(onto, []byte("null"))
		if same := equalJSON(before, after); same && all > 0 || !same && all == 0 && !null || len(list) > all || len(list) > maxListed {
			t.Fatalf("%s on %s: %d differences, %d of them listed", patch, onto, all, len(list))
		}
		for _, c := range list {
			if len(c.From)+len(c.To)+len(c.Path) > 3*(maxShown+1)*4 {
				t.Fatalf("%s on %s: a difference of %d bytes", patch, onto, len(c.From)+len(c.To))
			}
		}
		_ = refuseMask("", p)
	})
}
