package wire

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
)

// history makes a Messages body of at least size bytes: turns of a call, its input, and a
// result of source code, as coding agents have them.
func history(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"claude-opus-4-8","max_tokens":64000,"stream":true,"system":[{"type":"text","text":"You are.","cache_control":{"type":"ephemeral"}}],"tools":[`)
	for i := range 24 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","description":%q,"input_schema":{"type":"object","properties":{"path":{"type":"string","description":"where"},"limit":{"type":"integer","minimum":0},"all":{"type":"boolean"}},"required":["path"]}}`, i, strings.Repeat("It does a thing. ", 40))
	}
	b.WriteString(`],"messages":[{"role":"user","content":"Fix the bug."}`)
	for i := 0; b.Len() < size; i++ {
		source, _ := json.Marshal(strings.Repeat(fmt.Sprintf("func f%d(x int) (string, error) {\n\tif x > %d {\n\t\treturn \"\", fmt.Errorf(\"too many: %%d\", x)\n\t}\n}\n", i, i), 10+i%20))
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"text","text":"I look at file %d."},{"type":"tool_use","id":"toolu_%08d","name":"Read","input":{"path":"/src/file%d.go","limit":200}}]}`, i, i, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%08d","content":%s}]}`, i, source)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	for _, size := range []int{1 << 10, 300_000, 4 << 20} {
		body := history(size)
		b.Run(fmt.Sprintf("%dKB", len(body)>>10), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(Messages, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a request costs that was seen before: the view, and a hash of every message.
func BenchmarkParseAndFingerprint(b *testing.B) {
	body := history(300_000)
	var h maphash.Hash
	w := func(p []byte) { h.Write(p) }
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := Parse(Messages, body)
		if err != nil {
			b.Fatal(err)
		}
		h.Reset()
		r.FingerprintHead(w)
		for i := range r.Messages {
			h.Reset()
			r.Fingerprint(i, w)
			_ = h.Sum64()
		}
	}
}

func BenchmarkUnits(b *testing.B) {
	r := parsed(b, Messages, history(300_000))
	b.ReportAllocs()
	for b.Loop() {
		r.Units()
	}
}

func BenchmarkBuild(b *testing.B) {
	r := parsed(b, Messages, history(300_000))
	b.ReportAllocs()
	for b.Loop() {
		d := r.Draft()
		for i := 2; i < len(r.Messages); i += 2 {
			d.ReplaceResult(i, 0, "[cut]")
		}
		if _, err := d.Build(); err != nil {
			b.Fatal(err)
		}
	}
}
