package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

func TestATextIsNotPagedForItsTwin(t *testing.T) {
	text := strings.Repeat("a line of a file, \"quoted\" and long enough\n", 150) // 6.4 KB
	list, err := json.Marshal(strings.Split(text, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	frame := func(text, structured string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":%s}],"structuredContent":%s,"n":9007199254740993}}`, quote(text), structured)
	}
	without := func(text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":%s}],"n":9007199254740993}}`, quote(text))
	}
	const maxBytes = 10 << 10
	for name, c := range map[string]struct{ in, want string }{
		"one member":        {frame(text, `{"content":`+quote(text)+`}`), without(text)},
		"the text itself":   {frame(text, quote(text)), without(text)},
		"the JSON":          {frame(string(list), `{"result": `+string(list)+` }`), without(string(list))},
		"something else":    {frame(text, `{"content":`+quote(text+"x")+`}`), ""},
		"more than it":      {frame(text, `{"content":`+quote(text)+`,"total":5}`), ""},
		"both fit":          {frame("short", `{"content":"short"}`), ""},
		"the text does not": {frame(text+text, `{"content":`+quote(text+text)+`}`), ""},
		"no result":         {`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":` + quote(text+text) + `}}`, ""},
		"broken":            {`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":` + quote(text+text), ""},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		for _, head := range []int{len(c.in), 1000} {
			want := want
			if head < len(c.in) {
				want = c.in
			}
			f := &transport.Frame{Head: []byte(c.in)[:min(head, len(c.in))]}
			if head < len(c.in) {
				f.Rest = strings.NewReader(c.in[head:])
			}
			dropDuplicateContent(f, maxBytes)
			got := new(strings.Builder)
			buf := make([]byte, 4096)
			for r := f.Reader(); ; {
				n, err := r.Read(buf)
				got.Write(buf[:n])
				if err != nil {
					break
				}
			}
			if got.String() != want {
				t.Errorf("%s, %d bytes at once: %.150s… of %d bytes, want %.150s… of %d", name, head, got, got.Len(), want, len(want))
			}
		}
	}
}
