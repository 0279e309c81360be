package rate

import (
	"net/http"
	"testing"
	"time"
)

// What a request costs of which nothing has to be counted: where plenty is left, and where the provider says nothing.
func BenchmarkPlenty(b *testing.B) {
	for name, h := range map[string]http.Header{
		"told":   spent(30_000_000, 29_999_000, "2ms"),
		"silent": header("Content-Type: application/json", "Date: Sun, 29 Nov 2026 12:00:07 GMT", "X-Request-Id: x", "Content-Length: 12"),
	} {
		b.Run(name, func(b *testing.B) {
			s := Open(b.TempDir(), func(err error) { b.Error(err) })
			defer s.Close()
			b.ReportAllocs()
			for b.Loop() {
				turn, err := s.Wait(b.Context(), Ask{Key: s.Digest("who and what"), Run: "r", Since: time.Now(), Patience: time.Second, Input: 100})
				if err != nil {
					b.Fatal(err)
				}
				turn.Answered(h)
				_ = PlanOf(h)
			}
		})
	}
}
