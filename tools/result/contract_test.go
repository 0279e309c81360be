package result

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func schema(t *testing.T, text string) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const listSchema = `{"type":"object","required":["total","items"],"properties":{"total":{"type":"integer"},"items":{"type":"array","items":{"type":"object","required":["id","big"],"properties":{"big":{"type":"integer"}}}}}}`

func TestPagesCarryStructuredContentThatValidates(t *testing.T) {
	const wrapped = `{"type":"object","properties":{"result":{"type":"array","items":{"type":"object","required":["id","big"]}}}}`
	doc := list(819, 50)
	items := doc[strings.IndexByte(doc, '[') : strings.LastIndexByte(doc, ']')+1]
	for name, c := range map[string]struct{ schema, text, key string }{
		"text and structured": {listSchema, `{"content":[{"type":"text","text":` + quoted(doc) + `}],"structuredContent":` + doc + `}`, "items"},
		"structured":          {listSchema, `{"structuredContent":` + doc + `,"content":[]}`, "items"},
		"a list in a wrapper": {wrapped, `{"content":[{"type":"text","text":` + quoted(items) + `}],"structuredContent":{"result":` + items + `}}`, "result"},
	} {
		for _, kept := range []bool{true, false} {
			o := options(open(t))
			o.Contract = &Contract{Schema: schema(t, c.schema), Relaxed: !kept, Wrap: "result"}
			got, out := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":`+c.text+`}`, 200), o)
			a := decode(t, got)
			var part map[string]json.RawMessage
			var list []struct{ Big json.Number }
			if err := errors.Join(json.Unmarshal(a.Result.Structured, &part), json.Unmarshal(part[c.key], &list)); err != nil || len(list) != 20 || list[0].Big != "12345678901234567890" {
				t.Errorf("%s, kept %v: %v, %d items: %.500s", name, kept, err, len(list), got)
			}
			// Some clients show a model structuredContent and nothing else: the handle has to be there too.
			if !strings.Contains(string(part[MetaKey]), out.Handle) || !strings.Contains(string(part[MetaKey]), "Next page") {
				t.Errorf("%s, kept %v: structuredContent does not say that it is a page: %s", name, kept, part[MetaKey])
			}
			if out.Failed || a.Result.IsError || a.texts() > int(DefaultMaxText)+2*MaxNotice+500 {
				t.Errorf("%s: %+v, %d bytes of text, %d structured", name, out, a.texts(), len(a.Result.Structured))
			}
		}
	}
}

func TestNoCallThatSucceededIsReportedAsFailed(t *testing.T) {
	const demanding = `{"type":"object","properties":{"items":{"type":"array","minItems":800}},"required":["items"]}`
	doc := list(819, 50)
	message := `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"written"}],"structuredContent":` + doc + `}}`
	for name, k := range map[string]*Contract{
		"a schema that no page fits":     {Schema: schema(t, demanding)},
		"a schema that does not compile": {},
	} {
		o := options(open(t))
		o.Contract = k
		got, out := bound(t, frame(message, 200), o)
		a := decode(t, got)
		if a.Result.IsError || out.Failed || !out.Spilled || string(a.Result.Structured) != doc {
			t.Fatalf("%s: %+v %.500s", name, out, got)
		}
		if metaOf(t, a).Handle != out.Handle || a.texts()-len(doc) > int(DefaultMaxText)+MaxNotice {
			t.Errorf("%s: %.500s", name, got)
		}
		o.Spool = nil // nothing can be kept: the client gets what it was promised all the same
		got, out = bound(t, frame(message, 200), o)
		if a := decode(t, got); a.Result.IsError || out.Failed || out.Cut == nil || string(a.Result.Structured) != doc {
			t.Errorf("%s, without a spool: %+v %.500s", name, out, got)
		}
	}
	o := options(open(t))
	o.Contract = &Contract{Schema: schema(t, `{"type":"object","properties":{"result":{"type":"string"}}}`), Relaxed: true, Wrap: "result"}
	got, out := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"result":`+quoted(strings.Repeat("prose\n", 5000))+`}}}`, 200), o)
	var text struct{ Result string }
	if a := decode(t, got); json.Unmarshal(a.Result.Structured, &text) != nil || out.Failed || !strings.HasPrefix(text.Result, "prose") && !strings.Contains(string(a.Result.Structured), out.Handle) {
		t.Errorf("%+v %.500s", out, got)
	}
	// Relaxed, and no page is an object: what the client gets says what it is.
	for _, kept := range []bool{true, false} {
		o := options(nil)
		if kept {
			o = options(open(t))
		}
		o.Contract = &Contract{Schema: schema(t, `{"type":"object"}`), Relaxed: true}
		got, out := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":`+quoted(strings.Repeat("prose\n", 5000))+`}],"structuredContent":{"text":`+quoted(strings.Repeat("prose\n", 5000))+`}}}`, 200), o)
		a := decode(t, got)
		var part map[string]struct{ Notice, Handle string }
		if err := json.Unmarshal(a.Result.Structured, &part); err != nil || a.Result.IsError || out.Failed || part[MetaKey].Notice == "" || part[MetaKey].Handle != out.Handle {
			t.Errorf("in a spool %v: %v %+v %.500s", kept, err, out, got)
		}
	}
}

func TestASmallStructuredContentIsLeftAlone(t *testing.T) {
	for _, relaxed := range []bool{true, false} {
		o := options(open(t))
		o.Contract = &Contract{Schema: schema(t, listSchema), Relaxed: relaxed}
		small := `{"total":1,"items":[ {"id":1,"big":9007199254740993} ]}`
		got, _ := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":`+quoted(strings.Repeat("prose\n", 5000))+`}],"structuredContent":`+small+`}}`, 200), o)
		if a := decode(t, got); string(a.Result.Structured) != small || a.Result.IsError {
			t.Errorf("%.500s", got)
		}
	}
}
