package result

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// What is decided about messages that can be read in two ways.
func TestDecisions(t *testing.T) {
	s := open(t)
	long := quoted(strings.Repeat("some words\n", 3000))
	for name, c := range map[string]struct {
		text string
		ok   func(a answer, out Outcome) bool
	}{
		"of two ids the last": {
			`{"id":1,"result":{"content":[{"type":"text","text":` + long + `}]},"id":2}`,
			func(a answer, out Outcome) bool { return string(a.ID) == "2" && out.ID == "2" },
		},
		"an id that is none is the request's": {
			`{"id":{"a":1},"result":{"content":[{"type":"text","text":` + long + `}]}}`,
			func(a answer, _ Outcome) bool { return string(a.ID) == "7" },
		},
		"of two isError the last": {
			`{"id":7,"result":{"isError":true,"content":[{"type":"text","text":` + long + `}],"isError":false}}`,
			func(a answer, out Outcome) bool { return !a.Result.IsError && !out.Failed },
		},
		"two texts of a block are both kept": {
			`{"id":7,"result":{"content":[{"type":"text","text":"first","text":` + long + `}]}}`,
			func(_ answer, out Outcome) bool { return out.Spilled && out.Items >= 2 },
		},
		"keys are compared decoded": {
			`{"id":7,"r\u0065sult":{"cont\u0065nt":[{"type":"text","te\u0078t":` + long + `}]}}`,
			func(_ answer, out Outcome) bool { return out.Spilled && out.Items == 3000 },
		},
		"bytes after the message are ignored": {
			`{"id":7,"result":{"content":[{"type":"text","text":` + long + `}]}} {"id":8}`,
			func(_ answer, out Outcome) bool { return out.Spilled && out.Cut == nil },
		},
		"small members that are no JSON are left out": {
			`{"id":7,"odd":1.e,"result":{"odd":[1 2],"nextCursor":"n","content":[{"type":"text","text":` + long + `,"odd":tru}]}}`,
			func(a answer, out Outcome) bool { return out.Spilled && a.Result.NextCursor == "n" },
		},
		"what has no place in a result": {
			`{"id":7,"result":"` + strings.Repeat("x", 20_000) + `"}`,
			func(a answer, out Outcome) bool { return out.Spilled && a.Result != nil },
		},
		"a batch is not followed": {
			`[{"id":7,"result":{"content":[{"type":"text","text":` + long + `}]}}]`,
			func(a answer, out Outcome) bool { return a.Error != nil && out.Failed },
		},
	} {
		got, out := bound(t, frame(c.text, 100), options(s))
		if a := decode(t, got); !c.ok(a, out) {
			t.Errorf("%s: %+v %.400s", name, out, got)
		}
	}
}

func TestModernResultsNameTheirType(t *testing.T) {
	o := options(open(t))
	o.Modern = true
	text := `{"id":7,"result":{"content":[{"type":"text","text":` + quoted(strings.Repeat("line\n", 3000)) + `}]}}`
	if got, _ := bound(t, frame(text, 100), o); decode(t, got).Result.ResultType != "complete" {
		t.Errorf("%.300s", got)
	}
	typed := strings.Replace(text, `"content"`, `"resultType":"other","content"`, 1)
	if got, _ := bound(t, frame(typed, 100), o); decode(t, got).Result.ResultType != "other" {
		t.Errorf("%.300s", got)
	}
}

// The call that a notice names gives what follows, also when the page was of a size of its
// own: pages of another size have other numbers.
func TestTheNextPageIsOfTheSameSize(t *testing.T) {
	v := View{
		Handle: "r_1", Page: spool.Page{Number: 2, Size: 5, TotalPages: 9, TotalItems: 45, From: 6, To: 10, Complete: true, JSON: true},
		Totals: spool.Totals{Shape: spool.Array, PageItems: 20},
	}
	if n := v.Notice(); !strings.Contains(n, `result_page {"handle":"r_1","page":3,"page_size":5}.`) {
		t.Error(n)
	}
	v.Page.Size = 20
	if n := v.Notice(); !strings.Contains(n, `result_page {"handle":"r_1","page":3}.`) {
		t.Error(n)
	}
}

func TestAnswersOfOurOwn(t *testing.T) {
	v := View{
		Handle: "r_\"x", Page: spool.Page{Text: []byte("a\n\x00\"b\""), Number: 2, Size: 20, TotalPages: 3, TotalItems: 41, From: 21, To: 40, Complete: true, JSON: true},
		Totals: spool.Totals{Shape: spool.Array, Bytes: 5000, Path: []string{"a", "not plain"}},
		Names:  Names{Page: strings.Repeat("p", 100), Search: strings.Repeat("s", 200), Query: strings.Repeat("q", 300)},
	}
	for _, modern := range []bool{false, true} {
		a := decode(t, PageResult(`"i"`, v, modern))
		if string(a.ID) != `"i"` || a.Result.Content[0].Text != "a\n\x00\"b\"" || (a.Result.ResultType == "complete") != modern {
			t.Errorf("%+v", a.Result)
		}
		if m := metaOf(t, a); m != (meta{v.Handle, 5000, 41, 2, 20, 3, true, ""}) {
			t.Errorf("%+v", m)
		}
		if n := a.Result.Content[1].Text; len(n) > MaxNotice || !strings.Contains(n, v.Names.Page) || !strings.HasSuffix(n, ".") {
			t.Errorf("%d bytes: %s", len(n), n)
		}
	}
	v.Page.Cut = "the server ended"
	if a := decode(t, PageResult("1", v, false)); metaOf(t, a).Complete || !strings.Contains(a.Result.Content[1].Text, "incomplete") {
		t.Errorf("%+v", a.Result)
	}
	if a := decode(t, TextResult("1", "no <such> handle", true, false)); !a.Result.IsError || a.Result.Content[0].Text != "no <such> handle" {
		t.Errorf("%+v", a.Result)
	}
}

// A gateway that wants a page of everything asks for a bound of one byte: an error of the
// server's keeps its words, and a page has room.
func TestABoundOfOneBytePagesEverything(t *testing.T) {
	o := options(open(t))
	o.MaxText, o.Source.PageBytes = 1, 10_000
	got, out := bound(t, frame(textResponse(`{"items":[1,2,3]}`)), o)
	if a := decode(t, got); !out.Spilled || out.Items != 3 || !json.Valid([]byte(a.Result.Content[0].Text)) {
		t.Errorf("%+v %s", out, got)
	}
	got, _ = bound(t, frame(`{"id":7,"error":{"code":-32602,"message":"Unknown tool: x"}}`), o)
	if a := decode(t, got); a.Error.Message != "Unknown tool: x" || a.Error.Code != -32602 {
		t.Errorf("%s", got)
	}
}

func TestNoBoundOnText(t *testing.T) {
	o := options(open(t))
	o.MaxText, o.MaxItems = -1, 0
	text := textResponse(strings.Repeat("line\n", int(limit.MiB)))
	if got, out := bound(t, frame(text, 255), o); string(got) != text || out.Spilled {
		t.Errorf("%+v", out)
	}
}
