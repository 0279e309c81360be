package inventory

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// What one object costs, from its bytes to its row, and to know that it does not match.
func BenchmarkApplication(b *testing.B) {
	items := recorded(b, argocd.Applications)
	size := 0
	for _, item := range items {
		size += len(item)
	}
	p, err := compilePattern("payments-gateway", false, false)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size / len(items)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e, err := readEntry(argocd.Applications, items[i%len(items)])
		if err != nil {
			b.Fatal(err)
		}
		e.row()
		e.matchedFields(p)
	}
}
