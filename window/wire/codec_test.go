package wire

import (
	"bytes"
	"compress/flate"
	"errors"
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
