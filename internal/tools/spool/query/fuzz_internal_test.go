package query

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
)

// calm tells that a query cannot do harm to the process that fuzzes it: no numbers to
// multiply or count to, no recursion.
func calm(q string) bool {
	return !strings.ContainsAny(q, "*0123456789@") && !strings.Contains(q, "def") && !strings.Contains(q, "re") &&
		!strings.Contains(q, "..") && !strings.Contains(q, "while") && !strings.Contains(q, "until") && !strings.Contains(q, "combin") && !strings.Contains(q, "infinite")
}

// A query is never taken for another one: what the rewriting accepts gives the same over
// the items as the original gives over the whole.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		`.items[]`, `.items[] | .a`, `[.items[].a] | length`, `.items | map(.a)`, `reduce .items[] as $x (0; . + $x.a)`,
		`first(.items[] | select(.a))`, `.items[]?.a?`, `."items"[] as $x | .`, `.["items"][]`, `limit(1; .items[])`, `.items[][.b]`, `.a.b |= 1`,
		`label $f | .items[] | break $f`, `((((`, `"\(1`, `def f: .; .items[] | f`, `[.items[]] | add`, `isempty(.items[])`, `any(.items[]; .a)`,
	} {
		f.Add(q)
	}
	const document = `{"a":7,"items":[{"a":1,"b":"a"},{"a":2,"c":[1]},{"a":null},3,"x"],"z":0}`
	f.Fuzz(func(t *testing.T, q string) {
		if len(q) > 1<<10 {
			return
		}
		o := order{Query: q, Size: byItems + 1, Path: []string{"items"}, MaxBytes: 4 << 10}
		p, err := prepare(o)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Offset > len(q) {
				t.Fatalf("%q: %#v", q, err)
			}
			return
		}
		if !p.items || !calm(q) {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o.Size = int64(len(document))
		plain, err := prepare(o)
		if err != nil {
			t.Fatalf("%q can only be run by items: %v", q, err)
		}
		input, err := decode([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		var byItem, whole bytes.Buffer
		p.stream.in = bufio.NewReader(strings.NewReader(document))
		errItem := (&values{out: &byItem, room: 4 << 10}).run(ctx, p, nil)
		errWhole := (&values{out: &whole, room: 4 << 10}).run(ctx, plain, input)
		if ctx.Err() != nil {
			return
		}
		if byItem.String() != whole.String() || (errItem == nil) != (errWhole == nil) {
			t.Fatalf("%q: by items %q, %v; whole %q, %v", q, byItem.String(), errItem, whole.String(), errWhole)
		}
	})
}

// The stream gives the items that a decoder sees in the whole, however the bytes come.
func FuzzItems(f *testing.F) {
	for _, d := range []string{
		`[]`, `[1]`, `[1 , "a,]" ,{"x":[1,{}]},null,-1e5]`, `{"a":{"b":[1,2]}}`, `{"a":{"b":{"x":1,"y":[2]}}}`, `[[[[`, `{"a":{"b":[1`,
		"\xef\xbb\xbf[\"\\u0041\\\"\"]", `[1 2]`, `[1,]`, `{"a":1,"a":{"b":[3]}}`, `["\ud800"]`, `[123456789012345678901234567890]`,
	} {
		f.Add([]byte(d), false)
		f.Add([]byte(d), true)
	}
	f.Fuzz(func(t *testing.T, document []byte, nested bool) {
		if len(document) > 64<<10 {
			return
		}
		s := &stream{limit: 1 << 20}
		if nested {
			s.path = []string{"a", "b"}
		}
		s.in = bufio.NewReaderSize(iotest.HalfReader(bytes.NewReader(document)), 16)
		var got []any
		for {
			v, more := s.Next()
			if !more {
				break
			}
			if _, failed := v.(error); failed {
				break
			}
			got = append(got, v)
		}
		if _, more := s.Next(); more {
			t.Fatal("an item behind the end")
		}
		trimmed := bytes.TrimPrefix(document, []byte("\xef\xbb\xbf"))
		if !json.Valid(trimmed) || s.err != nil && nested {
			return // the stream does not look behind the items, so what it gave may be right
		}
		whole, err := decode(trimmed)
		if err != nil {
			t.Fatal(err)
		}
		if nested {
			outer, _ := whole.(map[string]any)
			if bytes.Count(document, []byte(`"a"`))+bytes.Count(document, []byte(`"b"`))+bytes.Count(document, []byte(`\u`)) > 2 {
				return // of two equal keys a decoder takes the last, the stream the first
			}
			inner, _ := outer["a"].(map[string]any)
			whole = inner["b"]
		}
		switch whole := whole.(type) {
		case []any:
			if len(whole) != len(got) || len(got) > 0 && !cmp.Equal(got, whole) {
				t.Fatalf("items %v, want %v (%v)", got, whole, s.err)
			}
		case map[string]any:
			if int64(len(whole)) > s.seen {
				t.Fatalf("%d members, want %d", s.seen, len(whole))
			}
		default:
			if s.err == nil {
				t.Fatalf("%T has no items, and no error was given", whole)
			}
		}
	})
}

// The value that is made here is the one that encoding/json makes, but for numbers.
func FuzzDecode(f *testing.F) {
	for _, d := range []string{`{"a":[1,2.5,-0,1e9,99999999999999999999],"b":"\u00e9\n","":null}`, `"\ud83d"`, `[[],{},[{}]]`, ` true `, "\"\xff\""} {
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		got, err := decode(document)
		if (err == nil) != json.Valid(document) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		ours, err := gojq.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		dec := json.NewDecoder(bytes.NewReader(document))
		dec.UseNumber()
		if err := dec.Decode(&a); err != nil {
			t.Fatal(err)
		}
		dec = json.NewDecoder(bytes.NewReader(ours))
		dec.UseNumber()
		if err := dec.Decode(&b); err != nil {
			t.Fatalf("%s: %v", ours, err)
		}
		if !cmp.Equal(a, b) {
			t.Fatalf("%s\nbecame\n%s", document, ours)
		}
	})
}
