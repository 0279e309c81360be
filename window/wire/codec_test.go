package wire

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/andybalholm/brotli"
)

// packedAs packs a body as a client does, also in what is only read here.
func packedAs(t testing.TB, encoding string, body []byte) []byte {
	t.Helper()
	if encoding != "br" {
		packed, err := Encode(encoding, body)
		if err != nil {
			t.Fatal(err)
		}
		return packed
	}
	var out bytes.Buffer
	w := brotli.NewWriterLevel(&out, brotli.BestSpeed)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDecodeBombs(t *testing.T) {
	const claimed, limit = 64 << 20, 1 << 20
	zeros := make([]byte, claimed)
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd"} {
		packed := packedAs(t, encoding, zeros)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(encoding, packed, limit)
		runtime.ReadMemStats(&after)
		tooLarge, ok := errors.AsType[*TooLargeError](err)
		if !ok || tooLarge.Max != limit {
			t.Errorf("%s: %v, want a TooLargeError of %d", encoding, err, limit)
		}
		// The decoder's own tables and window are a few megabytes at most.
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("%s: %d bytes of memory for a bound of %d", encoding, took, limit)
		}
	}
}

func TestDeflateWithoutItsHeader(t *testing.T) {
	text := []byte(`{"model":"m","messages":[]}`)
	var bare bytes.Buffer
	w, err := flate.NewWriter(&bare, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := Decode("deflate", bare.Bytes(), 1<<10); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDecode(t *testing.T) {
	text := bytes.Repeat([]byte("the same words, "), 5000)
	for _, encoding := range []string{"", "identity", "gzip", "GZIP ", "x-gzip", "deflate", "br", "zstd"} {
		packed := packedAs(t, encoding, text)
		if got, err := Decode(encoding, packed, int64(len(text))); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q: %d bytes, %v", encoding, len(got), err)
		}
		if _, err := Decode(encoding, packed, int64(len(text))-1); !errors.As(err, new(*TooLargeError)) {
			t.Errorf("%q with one byte less: %v", encoding, err)
		}
		if encoding != "" && encoding != "identity" {
			if _, err := Decode(encoding, packed[:len(packed)-5], 1<<20); err == nil {
				t.Errorf("%q: a body cut off was taken", encoding)
			}
		}
	}
	for _, encoding := range []string{"compress", "gzip, gzip"} {
		if _, err := Decode(encoding, text, 1<<20); !errors.Is(err, ErrEncoding) {
			t.Errorf("%q: %v, want ErrEncoding", encoding, err)
		}
	}
}

// What the first byte says of the window is what the packer was told, and a wider one than is allowed is not unpacked.
func TestWindowOfBrotli(t *testing.T) {
	for bits := 10; bits <= 24; bits++ {
		var out bytes.Buffer
		w := brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: 5, LGWin: bits})
		_, _ = w.Write(bytes.Repeat([]byte("window "), 10))
		_ = w.Close()
		if got := Window("br", out.Bytes()); got != 3<<bits/2 {
			t.Errorf("%d bits: %d bytes", bits, got)
		}
		r, err := NewBrotliReader(bytes.NewReader(out.Bytes()), 8<<20)
		if wide := bits > 23; wide != (err != nil) {
			t.Errorf("%d bits: %v", bits, err)
		} else if !wide {
			if text, err := io.ReadAll(r); err != nil || len(text) != 70 {
				t.Errorf("%d bits: %d bytes, %v", bits, len(text), err)
			}
		}
	}
	if Window("gzip", []byte{1}) != 0 || Window("br", nil) != 0 || Window("br", []byte{0x11}) != 0 {
		t.Error("a window where there is none")
	}
}
