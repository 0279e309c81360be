package spool

import (
	"fmt"
	"testing"
)

// BenchmarkWrite is where a profile of the finder comes from.
func BenchmarkWrite(b *testing.B) {
	var items, lines []byte
	for n := range 100_000 {
		items = fmt.Appendf(items, `{"metadata":{"name":"app-%d","labels":{"team":"payments"}},"status":{"health":"Healthy","count":%d}},`, n, n*7919)
		lines = fmt.Appendf(lines, "2026-11-20T18:15:23Z level=info app=guestbook-%d msg=\"sync finished\"\n", n)
	}
	for name, text := range map[string][]byte{"items": append(append([]byte{'['}, items...), `1]`...), "lines": lines} {
		b.Run(name, func(b *testing.B) {
			s := open(b, Options{MaxResults: 2})
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				keep(b, s, Source{}, string(text), 32<<10)
			}
		})
	}
}
