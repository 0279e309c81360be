package result

import (
	"encoding/json"
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

func TestKeepGivesAPartThatValidates(t *testing.T) {
	o := options(open(t))
	o.Schema = schema(t, listSchema)
	doc := list(819, 50)
	for name, text := range map[string]string{
		"text and structured": `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":` + quoted(doc) + `}],"structuredContent":` + doc + `}}`,
		"structured":          `{"jsonrpc":"2.0","id":7,"result":{"structuredContent":` + doc + `,"content":[]}}`,
	} {
		got, out := bound(t, frame(text, 200), o)
		a := decode(t, got)
		var part struct{ Items []struct{ Big json.Number } }
		if err := json.Unmarshal(a.Result.Structured, &part); err != nil || len(part.Items) != 20 || part.Items[0].Big != "12345678901234567890" {
			t.Errorf("%s: %v %d items %.500s", name, err, len(part.Items), got)
		}
		if out.Failed || a.Result.IsError || a.texts() > int(DefaultMaxText)+MaxNotice {
			t.Errorf("%s: %+v, %d bytes of text", name, out, a.texts())
		}
	}
}

func TestKeepSaysWhyNothingValidates(t *testing.T) {
	o := options(open(t))
	o.Schema = schema(t, `{"type":"object","properties":{"items":{"type":"array","minItems":800}}}`)
	got, out := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":`+list(819, 50)+`}}`, 200), o)
	a := decode(t, got)
	if !a.Result.IsError || !out.Failed || a.Result.Structured != nil || !out.Spilled {
		t.Fatalf("%+v %.500s", out, got)
	}
	var all strings.Builder
	for _, c := range a.Result.Content {
		all.WriteString(c.Text)
	}
	if !strings.Contains(all.String(), "minItems") || !strings.Contains(all.String(), out.Handle) {
		t.Error(all.String())
	}
}

func TestKeepLeavesASmallStructuredContentAlone(t *testing.T) {
	o := options(open(t))
	o.Schema = schema(t, listSchema)
	small := `{"total":1,"items":[ {"id":1,"big":9007199254740993} ]}`
	got, _ := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":`+quoted(strings.Repeat("prose\n", 5000))+`}],"structuredContent":`+small+`}}`, 200), o)
	if a := decode(t, got); string(a.Result.Structured) != small || a.Result.IsError {
		t.Errorf("%.500s", got)
	}
}
