package simulator

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// nowhere is a client that reads as fast as is written.
type nowhere struct {
	header http.Header
	n      int64
}

func (w *nowhere) Header() http.Header { return w.header }
func (w *nowhere) WriteHeader(int)     {}
func (w *nowhere) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	return len(p), nil
}

func serveTo(h http.Handler, w http.ResponseWriter, path string) {
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
}

func fetch(h http.Handler, path string) int64 {
	w := &nowhere{header: http.Header{}}
	serveTo(h, w, path)
	return w.n
}

func BenchmarkList(b *testing.B) {
	for _, bench := range []struct{ name, path string }{
		{"whole", "/api/v1/applications"},
		{"fields", "/api/v1/applications?fields=items.metadata.name,items.metadata.labels,items.spec,items.status.health,items.status.sync.status,items.status.operationState.phase"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s, err := New(Options{Applications: 5000})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(fetch(s, bench.path))
			}
		})
	}
}
