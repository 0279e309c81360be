package tokens

import "testing"

func BenchmarkCount(b *testing.B) {
	for _, s := range corpus(b, 256<<10) {
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(s.text)))
			b.ReportAllocs()
			for b.Loop() {
				O200K().Count(s.text)
			}
		})
	}
}

func BenchmarkHostile(b *testing.B) {
	for _, s := range hostile(256 << 10) {
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(s.text)))
			for b.Loop() {
				O200K().Count(s.text)
			}
		})
	}
}
