package result

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// Every part of a result is bounded, whether a model reads it or not: what is too large is left out, and that is said.
func TestNoPartOfAResultIsUnbounded(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	large := strings.Repeat("B", size)
	for name, part := range map[string]string{
		"_meta":                   `"content":[{"type":"text","text":"ok"}],"_meta":{"x":"` + large + `"}`,
		"many _meta":              `"content":[{"type":"text","text":"ok"}],"_meta":{"a":"` + large[:MaxMeta] + `"},"_meta":{"b":"c"}`,
		"annotations":             `"content":[{"type":"text","text":"ok","annotations":{"x":"` + large + `"}}]`,
		"_meta of a block":        `"content":[{"_meta":{"x":"` + large + `"},"type":"text","text":"ok"}]`,
		"a member of no name":     `"content":[{"type":"text","text":"ok"}],"more":"` + large + `"`,
		"many members":            `"content":[{"type":"text","text":"ok"}]` + strings.Repeat(`,"m":1`, size/6),
		"a name":                  `"` + large + `":1,"content":[{"type":"text","text":"ok"}]`,
		"a gap":                   `"content":[{"type":"text",` + strings.Repeat(" \n", size/2) + `"text":"ok"}]`,
		"data of an unknown type": `"content":[{"type":"text","text":"ok"},{"type":"weird","data":"` + large + `"}]`,
		"the type at the end":     `"content":[{"data":"` + large + `","type":"weird"},{"type":"text","text":"ok"}]`,
		"data of no type":         `"content":[{"data":"` + large + `"},{"type":"text","text":"ok"}]`,
		"an unknown type":         `"content":[{"type":"text","text":"ok"},{"type":"weird","more":"` + large + `"}]`,
		"a link":                  `"content":[{"type":"resource_link","uri":"file:///` + large + `","name":"n"},{"type":"text","text":"ok"}]`,
	} {
		got, out := bound(t, &transport.Frame{Head: []byte(`{"jsonrpc":"2.0","id":7,"result":{` + part + `}}`)}, options(open(t)))
		var m struct {
			Result struct {
				Content []map[string]any
			}
		}
		if err := json.Unmarshal(got, &m); err != nil || len(got) > 32<<10 || out.Failed {
			t.Errorf("%s: %d bytes, %v: %.300s", name, len(got), err, got)
		}
		if text := string(got); !strings.Contains(text, `"ok"`) || name != "a gap" && !strings.Contains(text, "[plimsoll]") {
			t.Errorf("%s: %.300s", name, text)
		}
		for _, block := range m.Result.Content {
			if block["type"] == "resource_link" && block["uri"] == nil {
				t.Errorf("%s: a block without what it must have: %v", name, block)
			}
		}
	}
}

// What is within the bounds keeps its bytes.
func TestWhatIsSmallStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		`"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", 1<<20) + `"}],"_meta":{"x":"` + strings.Repeat("y", 60<<10) + `"}`,
		`"content":[{"type":"weird","data":"` + strings.Repeat("A", 5000) + `"}]`,
		`"content":[{"type":"text","text":"` + strings.Repeat(`\u0041`, DefaultMaxText) + `"}]`,
		`"content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"","annotations":{"audience":["user"]}},`, DefaultMaxItems), ",") + `]`,
	} {
		text := `{"jsonrpc":"2.0","id":7,"result":{` + part + `}}`
		if got, _ := bound(t, &transport.Frame{Head: []byte(text)}, options(open(t))); string(got) != text {
			t.Errorf("%.100s became %.300s", text, got)
		}
	}
	// A block of an unknown type is kept, and can be read.
	s := open(t)
	got, out := bound(t, &transport.Frame{Head: []byte(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"weird","data":"` + strings.Repeat("QUJD", 50000) + `"}]}}`)}, options(s))
	if !out.Spilled || out.Handle == "" || !strings.Contains(string(got), "A block of an unknown type with 195 KiB of data") {
		t.Errorf("%+v %.300s", out, got)
	}
}
