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
		o := options(open(t))
		o.Contract = &Contract{Schema: schema(t, c.schema), Wrap: "result"}
		got, out := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":`+c.text+`}`, 200), o)
		a := decode(t, got)
		var part map[string]json.RawMessage
		var list []struct{ Big json.Number }
		if err := errors.Join(json.Unmarshal(a.Result.Structured, &part), json.Unmarshal(part[c.key], &list)); err != nil || len(list) != 20 || list[0].Big != "12345678901234567890" {
			t.Errorf("%s: %v, %d items: %.500s", name, err, len(list), got)
		}
		// Some clients show a model structuredContent and nothing else: the handle has to be there too.
		if !strings.Contains(string(part[MetaKey]), out.Handle) || !strings.Contains(string(part[MetaKey]), "Next page") {
			t.Errorf("%s: structuredContent does not say that it is a page: %s", name, part[MetaKey])
		}
		if out.Failed || a.Result.IsError || a.texts() > int(DefaultMaxText)+2*MaxNotice+500 {
			t.Errorf("%s: %+v, %d bytes of text, %d structured", name, out, a.texts(), len(a.Result.Structured))
		}
	}
}

func TestNoCallThatSucceededIsReportedAsFailed(t *testing.T) {
	o := options(open(t))
	o.Contract = &Contract{Schema: schema(t, `{"type":"object","properties":{"result":{"type":"string"}}}`), Wrap: "result"}
	got, out := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"result":`+quoted(strings.Repeat("prose\n", 5000))+`}}}`, 200), o)
	var text struct{ Result string }
	if a := decode(t, got); json.Unmarshal(a.Result.Structured, &text) != nil || out.Failed || !strings.HasPrefix(text.Result, "prose") && !strings.Contains(string(a.Result.Structured), out.Handle) {
		t.Errorf("%+v %.500s", out, got)
	}
	// No page is an object: what the client gets says what it is.
	for _, kept := range []bool{true, false} {
		o := options(nil)
		if kept {
			o = options(open(t))
		}
		o.Contract = &Contract{Schema: schema(t, `{"type":"object"}`)}
		got, out := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":`+quoted(strings.Repeat("prose\n", 5000))+`}],"structuredContent":{"text":`+quoted(strings.Repeat("prose\n", 5000))+`}}}`, 200), o)
		a := decode(t, got)
		var part map[string]struct{ Notice, Handle string }
		if err := json.Unmarshal(a.Result.Structured, &part); err != nil || a.Result.IsError || out.Failed || part[MetaKey].Notice == "" || part[MetaKey].Handle != out.Handle {
			t.Errorf("in a spool %v: %v %+v %.500s", kept, err, out, got)
		}
	}
}

func TestASmallStructuredContentIsLeftAlone(t *testing.T) {
	o := options(open(t))
	o.Contract = &Contract{Schema: schema(t, listSchema)}
	small := `{"total":1,"items":[ {"id":1,"big":9007199254740993} ]}`
	got, _ := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":`+quoted(strings.Repeat("prose\n", 5000))+`}],"structuredContent":`+small+`}}`, 200), o)
	if a := decode(t, got); string(a.Result.Structured) != small || a.Result.IsError {
		t.Errorf("%.500s", got)
	}
}
