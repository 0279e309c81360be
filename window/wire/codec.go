package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Encodings are the content encodings that are read, as Accept-Encoding has them.
const Encodings = "gzip, deflate, br, zstd"

// ErrEncoding is returned for a content encoding that is not known here (compress, several at once).
var ErrEncoding = errors.New("a content encoding that is not known")

// TooLargeError means that a body, decoded, would be larger than was allowed.
type TooLargeError struct{ Max int64 } // in bytes

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the body is larger than %d bytes when it is decoded", e.Max)
}

// Decode unpacks a body by its Content-Encoding: gzip, x-gzip, deflate, br or zstd; for "" and identity it returns the body itself. It
// takes no more than about max bytes of memory (and 8 MB for zstd, for br those of [Window]), whatever the body claims. The error is a
// [*TooLargeError] for a text over max bytes, ErrEncoding for another encoding, or that of a broken body.
func Decode(encoding string, body []byte, max int64) ([]byte, error) {
	switch normalCoding(encoding) {
	case "":
		if int64(len(body)) > max {
			return nil, &TooLargeError{max}
		}
		return body, nil
	case "gzip":
		return gunzip(body, max)
	case "deflate":
		return inflate(body, max)
	case "br": // RFC 7932; windows above 16 MB are of an extension and refused
		return readAll("br", brotli.NewReader(bytes.NewReader(body)), int64(len(body))*5, max)
	case "zstd":
		return unzstd(body, max)
	}
	return nil, fmt.Errorf("wire: %.40q: %w", encoding, ErrEncoding)
}

// Window returns an upper bound of the memory in bytes that unpacking a body takes beside its text: brotli's window (RFC 7932, 9.1), whose
// size is in the first byte, and half of it again while it grows. For the other encodings it is 0.
func Window(encoding string, packed []byte) int64 {
	if normalCoding(encoding) != "br" || len(packed) == 0 {
		return 0
	}
	bits := 16
	if b := packed[0]; b&1 != 0 {
		switch long, short := b>>1&7, b>>4&7; {
		case long != 0:
			bits = 17 + int(long)
		case short == 0:
			bits = 17
		case short == 1: // a window of the extension, which is refused
			return 0
		default:
			bits = 8 + int(short)
		}
	}
	return 3 << (bits - 1)
}

// NewBrotliReader returns a reader that unpacks a brotli stream as it comes. It reads the first byte at once; a window above maxWindow bytes is a
// [*TooLargeError].
func NewBrotliReader(r io.Reader, maxWindow int64) (io.Reader, error) {
	var first [1]byte
	if _, err := io.ReadFull(r, first[:]); err != nil {
		return nil, err
	}
	if Window("br", first[:])/3*2 > maxWindow {
		return nil, &TooLargeError{maxWindow}
	}
	return brotli.NewReader(io.MultiReader(bytes.NewReader(first[:]), r)), nil
}

// DecodedSize returns the decoded size in bytes that a compressed body declares; ok is false if it declares none. The declaration may be false. That
// of gzip has only 32 bits, and counts as no less than the body's length.
func DecodedSize(encoding string, body []byte) (n int64, ok bool) {
	switch normalCoding(encoding) {
	case "gzip": // RFC 1952: ISIZE
		if end := len(body); end >= 18 {
			return max(int64(binary.LittleEndian.Uint32(body[end-4:])), int64(end)), true
		}
	case "zstd": // RFC 8878: Frame_Content_Size
		var h zstd.Header
		if h.Decode(body) == nil && h.HasFCS && h.FrameContentSize <= 1<<40 {
			return int64(h.FrameContentSize), true
		}
	}
	return 0, false
}

// EditedEncoding returns the Content-Encoding to use for an edited body that the client had sent in encoding: the same, but "" for br,
// which is only read (an encoder is larger than all other codecs together).
func EditedEncoding(encoding string) string {
	if normalCoding(encoding) == "br" {
		return ""
	}
	return encoding
}

// Encode packs an edited body by a Content-Encoding that [EditedEncoding] returned. The error is ErrEncoding for any other.
func Encode(encoding string, body []byte) ([]byte, error) {
	switch normalCoding(encoding) {
	case "":
		return body, nil
	case "gzip":
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
		return compress(&out, w, body, err)
	case "deflate":
		var out bytes.Buffer
		w, err := zlib.NewWriterLevel(&out, zlib.BestSpeed)
		return compress(&out, w, body, err)
	case "zstd":
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(zstdWindow))
		if err != nil {
			return nil, err
		}
		defer w.Close()
		return w.EncodeAll(body, nil), nil
	}
	return nil, fmt.Errorf("wire: %.40q: %w", encoding, ErrEncoding)
}

// compress writes a body through the encoder that err says could be made, and returns what came of it in out.
func compress(out *bytes.Buffer, encoder io.WriteCloser, body []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if _, err := encoder.Write(body); err != nil {
		return nil, err
	}
	err = encoder.Close()
	return out.Bytes(), err
}

const (
	// zstdWindow is small enough for any server: RFC 9659 has HTTP stop at 8 MB.
	zstdWindow = 4 << 20
	// zstdLeast is the smallest decoder window in bytes that is allowed, however small the body.
	zstdLeast = 8 << 20
)

// normalCoding returns a Content-Encoding in lower case, "" for identity and gzip for x-gzip.
func normalCoding(encoding string) string {
	switch encoding = strings.ToLower(strings.TrimSpace(encoding)); encoding {
	case "identity":
		return ""
	case "x-gzip":
		return "gzip"
	}
	return encoding
}

var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// gunzip unpacks gzip. A text over limit bytes is a [*TooLargeError].
func gunzip(body []byte, limit int64) ([]byte, error) {
	z := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(z)
	if err := z.Reset(bytes.NewReader(body)); err != nil {
		return nil, fmt.Errorf("wire: gzip: %w", err)
	}
	// JSON packs about four to one; the buffer grows from there. What the end says of the size (RFC 1952, ISIZE) is believed
	// up to the limit, which the caller has room for: growing would hold the text twice.
	size := int64(len(body)) * 5
	if n := len(body); n >= 18 {
		size = max(size, int64(binary.LittleEndian.Uint32(body[n-4:]))+1)
	}
	return readAll("gzip", z, size, limit)
}

// inflate unpacks what RFC 9110 calls deflate (8.4.1.2), the form of RFC 1950; and that of RFC 1951, without a header, which some clients
// send.
func inflate(body []byte, limit int64) ([]byte, error) {
	size := int64(len(body)) * 5
	if len(body) >= 2 && body[0]&0x0F == 8 && binary.BigEndian.Uint16(body)%31 == 0 {
		z, err := zlib.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("wire: deflate: %w", err)
		}
		return readAll("deflate", z, size, limit)
	}
	return readAll("deflate", flate.NewReader(bytes.NewReader(body)), size, limit)
}

// readAll reads z to the end, at most limit bytes; size is a guess. encoding is for errors.
func readAll(encoding string, z io.Reader, size, limit int64) ([]byte, error) {
	out := make([]byte, 0, max(512, min(limit+1, size)))
	for {
		if len(out) == cap(out) {
			grown := make([]byte, len(out), min(limit+1, int64(cap(out))*2))
			copy(grown, out)
			out = grown
		}
		n, err := z.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		if int64(len(out)) > limit {
			return nil, &TooLargeError{limit}
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("wire: %s: %w", encoding, err)
		}
	}
}

// zstdReader is a decoder with the bound, in bytes, that it was made with.
type zstdReader struct {
	*zstd.Decoder
	limit int64
}

var zstdReaders sync.Pool

// unzstd unpacks zstd. A text over limit bytes, or a window over those and over zstdLeast, is a [*TooLargeError].
func unzstd(body []byte, limit int64) ([]byte, error) {
	z, _ := zstdReaders.Get().(*zstdReader)
	if z == nil || z.limit != limit {
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(max(limit, zstdLeast))))
		if err != nil {
			return nil, fmt.Errorf("wire: zstd: %w", err)
		}
		z = &zstdReader{dec, limit}
	}
	out, err := z.DecodeAll(body, nil)
	zstdReaders.Put(z)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded), int64(len(out)) > limit:
		return nil, &TooLargeError{limit}
	case err != nil:
		return nil, fmt.Errorf("wire: zstd: %w", err)
	}
	return out, nil
}
