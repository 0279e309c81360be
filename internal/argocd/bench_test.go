package argocd

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
)

// The recorded list of 819 applications, 7.2 MB, as fast as it can be taken apart.
func BenchmarkSplitter(b *testing.B) {
	f, err := os.Open(filepath.Join("testdata", "recorded", "applications.json.gz"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		s := splitter{Reader: jsonstream.NewReader(bytes.NewReader(body), bounds(DefaultMaxObject)), maxBytes: DefaultMaxObject}
		s.arrays = map[string]func([]byte) error{"items": nothing}
		if err := s.readObject(); err != nil {
			b.Fatal(err)
		}
	}
}
