package embed_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/memory/embed"
)

// BenchmarkScan compares 100,000 vectors of 384 dimensions with a question: what a search by meaning adds in a full namespace.
func BenchmarkScan(b *testing.B) {
	f, _ := file(b)
	some := entries(1000, 384)
	for range 100 {
		if err := f.Append(b.Context(), "m", some, nil); err != nil {
			b.Fatal(err)
		}
	}
	question := some[17].Vector
	b.ReportAllocs()
	for b.Loop() {
		best := float32(-1)
		seen, err := f.Scan(b.Context(), "m", func(e embed.Entry) { best = max(best, e.Cosine(question)) })
		if err != nil || seen.Entries != 100_000 || best < 0.99 {
			b.Fatal(seen, best, err)
		}
	}
}
