package tokens

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

// BenchmarkTallyOfNew is what it takes to count 300 KB that were never seen: prose, code and JSON, as tools return them.
func BenchmarkTallyOfNew(b *testing.B) {
	lines := []string{
		"The report says that %d requests were lost while the connection was being closed by the other side.\n",
		"\t\treturn fmt.Errorf(\"flush batch %d: %%w\", err)\n",
		"{\"time\": \"2026-03-04T05:06:07Z\", \"level\": \"info\", \"msg\": \"request done\", \"duration_ms\": %d, \"path\": \"/v1/items\"}\n",
	}
	var out strings.Builder
	out.WriteString(`{"model":"gpt-4o","messages":[{"role":"system","content":"You are."}`)
	for i := 0; out.Len() < 300_000; i++ {
		var text strings.Builder
		for n := 0; text.Len() < 2500; n++ {
			fmt.Fprintf(&text, lines[i%3], 7919+i*31+n)
		}
		quoted, _ := json.Marshal(text.String())
		fmt.Fprintf(&out, `,{"role":"user","content":%s}`, quoted)
	}
	out.WriteString(`]}`)
	r, err := wire.Parse(wire.Chat, []byte(out.String()))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(r.Body)))
	b.ReportAllocs()
	for b.Loop() {
		NewCounter(Options{}).Tally(r, FamilyO200K)
	}
}
