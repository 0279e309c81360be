package query_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
	"github.com/plimsoll/plimsoll/limit"
)

// generated is a document of n items that exists only while it is read.
type generated struct {
	before, item, between, after string
	n, at                        int
	rest                         string
	ended                        bool
}

func (g *generated) size() int64 {
	return int64(len(g.before)+len(g.after)) + int64(g.n)*int64(len(fmt.Sprintf(g.item, 0))+len(g.between)) - int64(len(g.between))
}

func (g *generated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if g.rest == "" {
			switch {
			case g.at == 0:
				g.rest = g.before + fmt.Sprintf(g.item, g.at)
			case g.at < g.n:
				g.rest = g.between + fmt.Sprintf(g.item, g.at)
			case !g.ended:
				g.ended = true
				g.rest = g.after
			default:
				if n == 0 {
					return 0, io.EOF
				}
				return n, nil
			}
			g.at++
			continue
		}
		k := copy(p[n:], g.rest)
		n, g.rest = n+k, g.rest[k:]
	}
	return n, nil
}

// applications has n items of 1 KiB and some.
func applications(n int) *generated {
	return &generated{
		before: `{"kind":"List","other":{"items":[1,2]},"data":{"x":[[[]]],"items":[`,
		item:   `{"id":%012d,"text":"` + strings.Repeat(`a \" ] } , `, 100) + `"}`, between: ",\n ", after: `]},"end":true}`, n: n,
	}
}

func TestItemByItem(t *testing.T) {
	// The item's id has leading zeros, which JSON does not know: quoted here.
	make := func() *generated {
		g := applications(60_000)
		g.item = strings.Replace(g.item, "%012d", `"%012d"`, 1)
		return g
	}
	if size := make().size(); size < 64<<20 {
		t.Fatalf("%d bytes are not much", size)
	}
	for _, c := range []struct{ query, want string }{
		{`.data.items[] | select(.id == "000000059999") | .id`, `"000000059999"`},
		{`.data | .items[] | select(.id | endswith("59998")) | .id`, `"000000059998"`},
		{`reduce .data.items[] as $x (0; . + 1)`, `60000`},
		{`[.data.items[] | .id] | length`, `60000`},
		{`.data["items"] | map(.id) | last`, `"000000059999"`},
		{`first(.data.items[] | select(.id > "00000001")).id`, `"000000010000"`},
		{`[limit(2; .data.items[] | .id)]`, `["000000000000","000000000001"]`},
		{`def id: .id; last(.data.items[]?) | id`, `"000000059999"`},
		{`any(.data.items[]; .id == "x"), all(.data.items[]; .text)`, ""},
		{`label $f | .data.items[] | .id, break $f`, `"000000000000"`},
	} {
		t.Run(c.query, func(t *testing.T) {
			g := make()
			// In less memory than the document has.
			answer, err := query.Run(t.Context(), query.Request{
				Document: g, Size: g.size(), Path: []string{"data", "items"},
				Query: c.query, Command: child(t), Memory: query.LeastMemory, Timeout: time.Minute,
			})
			if c.want == "" { // two expressions see the document
				fails(t, err, query.Large)
				return
			}
			if err != nil || strings.TrimSpace(string(answer.Output)) != c.want || answer.Items == 0 {
				t.Errorf("%+v, %q, %v, want %s", answer, answer.Output, err, c.want)
			}
		})
	}
}

func TestLargeText(t *testing.T) {
	g := &generated{item: "line %09d says nothing of interest, as most lines do", between: "\n", n: 500_000}
	answer, err := query.Run(t.Context(), query.Request{
		Document: g, Size: g.size(), Shape: query.Lines,
		Query: `.[] | select(test("000499999")) | .[:14]`, Command: child(t), Memory: query.LeastMemory, Timeout: time.Minute,
	})
	if err != nil || string(answer.Output) != "\"line 000499999\"\n" || answer.Items != 500_000 {
		t.Errorf("%+v, %q, %v", answer, answer.Output, err)
	}
}

func TestLargeItemsAreSkippedAndTold(t *testing.T) {
	huge := `"` + strings.Repeat("x", query.ItemBytes) + `"`
	document := `[1,` + huge + `,{"deep":` + strings.Repeat("[", 3<<20) + strings.Repeat("]", 3<<20) + `},` + huge + `,` + huge + `,2]`
	answer, err := run(t, document, query.Request{Query: `.[]`, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if string(answer.Output) != "1\n2\n" || answer.Items != 6 || answer.Skipped != 4 || answer.FirstSkipped != 2 {
		t.Errorf("%+v, %q", answer, answer.Output)
	}
}

func TestABrokenLargeDocument(t *testing.T) {
	g := applications(20_000)
	g.item = strings.Replace(g.item, "%012d", `"%012d"`, 1)
	whole := g.size()
	answer, err := query.Run(t.Context(), query.Request{
		Document: io.LimitReader(g, whole/2), Size: whole, Path: []string{"data", "items"},
		Query: `try (reduce .data.items[] as $x (0; . + 1)) catch "caught"`, Command: child(t), Timeout: time.Minute,
	})
	_ = answer
	fails(t, err, query.Large) // try is not one of the forms

	g = applications(20_000)
	g.item = strings.Replace(g.item, "%012d", `"%012d"`, 1)
	answer, err = query.Run(t.Context(), query.Request{
		Document: io.LimitReader(g, whole/2), Size: whole, Path: []string{"data", "items"},
		Query: `.data.items[] | select(.id == "000000000003") | .id`, Command: child(t), Timeout: time.Minute,
	})
	fails(t, err, query.Document, "breaks off", "items")
	if string(answer.Output) != "\"000000000003\"\n" {
		t.Errorf("kept %q", answer.Output)
	}
}

func BenchmarkItems(b *testing.B) {
	for b.Loop() {
		g := applications(100_000)
		g.item = strings.Replace(g.item, "%012d", `"%012d"`, 1)
		b.SetBytes(g.size())
		if _, err := query.Run(b.Context(), query.Request{
			Document: g, Size: g.size(), Path: []string{"data", "items"},
			Query: `.data.items[] | select(.id == "x")`, Command: child(b), Timeout: time.Minute, Memory: 64 * limit.MiB,
		}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		if _, err := run(b, `[1]`, query.Request{Query: `.[0]`}); err != nil {
			b.Fatal(err)
		}
	}
}
