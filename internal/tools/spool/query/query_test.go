package query_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
	"github.com/plimsoll/plimsoll/limit"
)

// hang is the argument of a child that never answers.
const hang = "__hang"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case query.Argument:
			os.Exit(query.Main())
		case hang:
			_, _ = io.Copy(io.Discard, os.Stdin)
			time.Sleep(time.Hour) // until it is killed
		}
	}
	os.Exit(m.Run())
}

func child(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, query.Argument}
}

func run(t testing.TB, document string, r query.Request) (query.Answer, error) {
	t.Helper()
	r.Document, r.Size = strings.NewReader(document), int64(len(document))
	if r.Command == nil {
		r.Command = child(t)
	}
	return query.Run(t.Context(), r)
}

func fails(t testing.TB, err error, kind query.Kind, words ...string) *query.Error {
	t.Helper()
	e, ok := errors.AsType[*query.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("error %v, want one of kind %s", err, kind)
	}
	for _, word := range words {
		if !strings.Contains(e.Text, word) {
			t.Errorf("error %q does not say %q", e.Text, word)
		}
	}
	return e
}

func TestWholeDocument(t *testing.T) {
	for _, c := range []struct {
		name, document, query, want string
		shape                       query.Shape
	}{
		{"select", `{"items":[{"n":1},{"n":2}]}`, `.items[] | select(.n > 1) | .n`, "2\n", query.JSON},
		{
			"big integers", `{"a":9007199254740993,"b":123456789012345678901234567890}`, `.a, .b, .a + 1, .b + 1`,
			"9007199254740993\n123456789012345678901234567890\n9007199254740994\n123456789012345678901234567891\n", query.JSON,
		},
		{"numbers as written", `[1.10,-0,1e400,1E2]`, `.`, "[1.10,-0,1e400,1E2]\n", query.JSON},
		{"escapes", `{"k\u0041":"a\"\\\n\ud83d\ude00é"}`, `.kA`, `"a\"\\\n😀é"` + "\n", query.JSON},
		{"byte order mark", "\xef\xbb\xbf[1]", `.[0]`, "1\n", query.JSON},
		{"no environment", `1`, `env | length, ($ENV | length)`, "0\n0\n", query.JSON},
		{"lines", "one\r\ntwo\nthr\xffee", `.[] | select(test("t"))`, "\"two\"\n\"thr\ufffdee\"\n", query.Lines},
		{"blocks of JSON", "{\"a\":1}\n{\n \"a\": 2\n}\n", `map(.a)`, "[1,2]\n", query.Blocks},
		{"blocks of text", "found 1\n{\"a\":1}", `.[0]`, "\"found 1\"\n", query.Blocks},
		{"no lines", "", `length`, "0\n", query.Lines},
		{"halt", `[1,2]`, `.[] | if . == 2 then halt else . end`, "1\n", query.JSON},
		{"empty", `[]`, `.[]`, "", query.JSON},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, err := run(t, c.document, query.Request{Query: c.query, Shape: c.shape})
			if err != nil {
				t.Fatal(err)
			}
			if string(answer.Output) != c.want || answer.Values != int64(strings.Count(c.want, "\n")) || answer.Cut {
				t.Errorf("answer %+v with %q, want %q", answer, answer.Output, c.want)
			}
		})
	}
}

func TestErrorsTellTheAuthor(t *testing.T) {
	for _, c := range []struct {
		name, document, query string
		kind                  query.Kind
		offset                int
		words                 []string
	}{
		{"syntax", `1`, `.a | ] | .b`, query.Syntax, 5, []string{"character 6", `"]"`}},
		{"unfinished", `1`, `.[] | select(`, query.Syntax, 13, []string{"character 14"}},
		{"unknown function", `1`, `.a | nosuch(1)`, query.Syntax, 5, []string{"nosuch/1", "character 6"}},
		{"unknown variable", `1`, `. + $x`, query.Syntax, 4, []string{"$x", "character 5"}},
		{"module", `1`, `import "a" as a; .`, query.Syntax, -1, nil},
		{"file", `1`, `input_filename`, query.Syntax, 0, nil},
		{"inputs", `1`, `[inputs]`, query.Syntax, -1, nil},
		{"type", `{"a":"x"}`, `.a.b`, query.Runtime, -1, []string{"object"}},
		{"own error", `1`, `error("no such thing")`, query.Runtime, -1, []string{"no such thing"}},
		{"string", `1`, `"x"*1e9`, query.Memory, -1, []string{"256"}},
		{"broken", `{"a":`, `.a`, query.Document, -1, []string{"result_search"}},
		{"too long", `1`, strings.Repeat(" ", query.MaxQuery+1), query.Syntax, -1, []string{"16384"}},
		{"deep query", `1`, strings.Repeat("(", query.MaxQuery), query.Syntax, query.MaxQuery, nil},
		{"deep document", strings.Repeat("[", 1<<20), `.`, query.Document, -1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := run(t, c.document, query.Request{Query: c.query})
			e := fails(t, err, c.kind, c.words...)
			if c.offset >= 0 && e.Offset != c.offset {
				t.Errorf("offset %d, want %d: %s", e.Offset, c.offset, e.Text)
			}
		})
	}
}

func TestValuesBeforeAnErrorAreKept(t *testing.T) {
	answer, err := run(t, `[1,2,"x"]`, query.Request{Query: `.[] | . - 1`})
	fails(t, err, query.Runtime)
	if string(answer.Output) != "0\n1\n" || answer.Values != 2 {
		t.Errorf("kept %q, %d values", answer.Output, answer.Values)
	}
}

// What a program can do to a machine ends with its process.
func TestGreedyAndEndlessPrograms(t *testing.T) {
	for _, c := range []struct {
		query string
		kinds []query.Kind
	}{
		{`[range(1e12)]`, []query.Kind{query.Memory, query.Time}},
		{`def f: f; f`, []query.Kind{query.Time}},
		{`until(false; .)`, []query.Kind{query.Time}},
		{`def f: 1 + f; f`, []query.Kind{query.Memory, query.Time}},
		{`def f: [f]; f`, []query.Kind{query.Memory, query.Time}},
		{`reduce range(1e9) as $i (""; . + "xxxxxxxxxxxxxxxxxxxx")`, []query.Kind{query.Memory, query.Time}},
		{`[limit(1e8; repeat("x"))] | tojson`, []query.Kind{query.Memory, query.Time}},
		{`reduce range(1e7) as $i (.; [.])`, []query.Kind{query.Memory, query.Time}},
		{`last(range(1e15))`, []query.Kind{query.Time}},
		{`"x" * 1e9`, []query.Kind{query.Memory, query.Time}},
		{`[splits("")] | combinations(1e9)`, []query.Kind{query.Memory, query.Time, query.Runtime}},
	} {
		t.Run(c.query, func(t *testing.T) {
			_, err := run(t, `"x"`, query.Request{Query: c.query, Timeout: time.Second / 2})
			e, ok := errors.AsType[*query.Error](err)
			if !ok {
				t.Fatalf("error %v, want one for the author", err)
			}
			if slices.Contains(c.kinds, e.Kind) {
				return
			}
			t.Errorf("kind %s (%v), want one of %v", e.Kind, err, c.kinds)
		})
	}
}

func TestOutputIsBounded(t *testing.T) {
	answer, err := run(t, `null`, query.Request{Query: `range(1e9)`, MaxBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(answer.Output), "\n"), "\n")
	if !answer.Cut || len(answer.Output) > 101 || int64(len(lines)) != answer.Values || lines[len(lines)-1] != fmt.Sprint(len(lines)-1) {
		t.Errorf("cut %v, %d bytes, %d values, ending in %q", answer.Cut, len(answer.Output), answer.Values, lines[len(lines)-1])
	}

	answer, err = run(t, `null`, query.Request{Query: `"é" * 1000`, MaxBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	if want := `"` + strings.Repeat("é", 49); !answer.Cut || answer.Values != 0 || string(answer.Output) != want {
		t.Errorf("cut %v, %d values, %q", answer.Cut, answer.Values, answer.Output)
	}

	answer, err = run(t, `null`, query.Request{Query: `"x" * 98`, MaxBytes: 100})
	if err != nil || answer.Cut || answer.Values != 1 || len(answer.Output) != 101 {
		t.Errorf("a value that just fits: %v, cut %v, %d bytes", err, answer.Cut, len(answer.Output))
	}
}

func TestASilentChildIsKilled(t *testing.T) {
	command := child(t)
	command[1] = hang
	_, err := run(t, `1`, query.Request{Query: `.`, Timeout: time.Millisecond, Command: command})
	fails(t, err, query.Time)
}

func TestTheCallerGoesAway(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reading := make(chan struct{})
	document := readerFunc(func(p []byte) (int, error) {
		select {
		case <-reading:
		default:
			close(reading)
		}
		return copy(p, " "), nil
	})
	go func() {
		<-reading
		cancel()
	}()
	_, err := query.Run(ctx, query.Request{Document: document, Size: 1 << 40, Query: `.[]`, Command: child(t), Timeout: time.Minute})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestNoProgramToStart(t *testing.T) {
	_, err := run(t, `1`, query.Request{Query: `.`, Command: []string{filepath.Join(t.TempDir(), "absent")}})
	if _, theirs := errors.AsType[*query.Error](err); err == nil || theirs {
		t.Errorf("error %v: the author of the query cannot do anything about it", err)
	}
	if _, err := run(t, `1`, query.Request{Query: `.`, Command: []string{}}); err == nil {
		t.Error("no command, no error")
	}
}

func TestSixteenMebibytesWhole(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`{"total":1,"items":[`)
	for i := 0; b.Len() < query.WholeBytes-300; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"application-%d","status":"Healthy","labels":{"team":"t%d","tier":"gold"},"replicas":[1,2,3]}`, 1000+i, i, i%7)
	}
	b.WriteString(`]}`)
	// Not a form that goes item by item: `.total` is beside it.
	answer, err := run(t, b.String(), query.Request{Query: `[.total, (.items | length), (.items | last | .labels.tier)] | .[1] > 100000, .[2]`, Path: []string{"items"}, Timeout: time.Minute})
	if err != nil || string(answer.Output) != "true\n\"gold\"\n" || answer.Items != 0 {
		t.Errorf("%+v %q, %v", answer, answer.Output, err)
	}
}

func TestALargeDocumentNeedsItems(t *testing.T) {
	big := `{"items":[` + strings.Repeat(`{"a":"bbbbbbbbbbbbbbbbbbbbbbbbbb"},`, query.WholeBytes/32) + `{}]}`
	for _, q := range []string{
		`.`, `.items`, `.items | length`, `.items[0]`, `.other[]`, `.items[] as $x | .total`, `[.items[]], .total`,
		`reduce .items[] as $x (.; .)`, `limit(.n; .items[])`, `.items[] += 1`, `def first(f): .; first(.items[])`, `.items[][.x]`,
	} {
		_, err := run(t, big, query.Request{Query: q, Path: []string{"items"}})
		fails(t, err, query.Large, "`.items[]`", "reduce .items[]")
	}
}

func TestOfABrokenDocumentWhatCame(t *testing.T) {
	document := `{"items":[{"a":1},{"a":2},{"a`
	answer, err := run(t, document, query.Request{Query: `[.items[] | .a]`, Path: []string{"items"}, Broken: true})
	if err != nil || string(answer.Output) != "[1,2]\n" || answer.Items != 3 {
		t.Errorf("%+v %q, %v", answer, answer.Output, err)
	}
	_, err = run(t, document, query.Request{Query: `.items | length`, Path: []string{"items"}, Broken: true})
	fails(t, err, query.Large, "breaks off", "`.items[]`")
	answer, err = run(t, "one\ntw", query.Request{Query: `length`, Shape: query.Lines, Broken: true})
	if err != nil || string(answer.Output) != "2\n" {
		t.Errorf("%q, %v", answer.Output, err)
	}
}

func TestMemoryHasALeast(t *testing.T) {
	answer, err := run(t, `[1]`, query.Request{Query: `.[0]`, Memory: limit.KiB})
	if err != nil || string(answer.Output) != "1\n" {
		t.Errorf("%q, %v", answer.Output, err)
	}
}
