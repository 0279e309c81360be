package proxy

import (
	"bytes"
	"compress/gzip"
	"testing"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	return gzippedText(text)
}

func gzippedText(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer takes everything
	_ = w.Close()
	return b.String()
}
