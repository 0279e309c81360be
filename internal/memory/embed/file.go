package embed

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"unsafe"

	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// Key identifies a vector: the id of its record, and the record's version.
type Key struct {
	ID      [16]byte
	Version uint16
}

// Entry is a vector in a file.
type Entry struct {
	Key
	Vector
}

// File is a file of vectors below a directory. It need not exist. A head names the model and the number of dimensions; behind it are records of
// one size: the id of a text and its version, a scale, a signed byte for each dimension, and a CRC-32C. A torn record at the end is cut off by
// the next writer, and a wrong byte costs its own record. Vectors of another model are not read, and the next [File.Append] replaces the file.
// Of several processes one writes at a time; readers wait for nobody.
type File struct {
	Root *os.Root
	Name string
}

// Head is the header of a file.
type Head struct {
	Model      string
	Dimensions int
}

// The head of a file, and a record, whose size depends on the dimensions:
//
//	magic 8, dimensions 2, length of the model's name 1, name 201, CRC-32C 4
//	id 16, version 2, reserved 2, scale 4, values DIMENSIONS, CRC-32C 4
const (
	magic      = "plvec\x00\x01\n"
	headSize   = 216
	maxModel   = headSize - 4 - 11
	fixedSize  = 28 // of a record, beside its values
	blockBytes = 256 << 10
)

// RecordSize returns the bytes that a vector takes in a file.
func RecordSize(dimensions int) int { return fixedSize + dimensions }

// ErrNewer means that the file has a format that this version does not know.
var ErrNewer = errors.New("is no file of vectors that this version knows")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// modelName returns the name of a model as a head holds it.
func modelName(model string) string { return limit.Clip(model, maxModel) }

// encodeHead returns the head as the first headSize bytes of a file, with a checksum at the end.
func (h Head) encodeHead() []byte {
	b := make([]byte, headSize)
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[8:], uint16(h.Dimensions))
	name := modelName(h.Model)
	b[10] = uint8(len(name))
	copy(b[11:], name)
	binary.LittleEndian.PutUint32(b[headSize-4:], crc32.Checksum(b[:headSize-4], castagnoli))
	return b
}

// parseHead reads the head of a file; false if it is not a valid one.
func parseHead(b []byte) (Head, bool) {
	if len(b) < headSize || string(b[:len(magic)]) != magic || binary.LittleEndian.Uint32(b[headSize-4:]) != crc32.Checksum(b[:headSize-4], castagnoli) {
		return Head{}, false
	}
	h := Head{Dimensions: int(binary.LittleEndian.Uint16(b[8:]))}
	if n := int(b[10]); n <= maxModel && h.Dimensions > 0 && h.Dimensions <= MaxDimensions {
		h.Model = string(b[11 : 11+n])
		return h, true
	}
	return Head{}, false
}

// appendEntry appends the record of a vector to b: its key, scale and values, and a checksum.
func appendEntry(b []byte, e Entry) []byte {
	from := len(b)
	b = append(b, e.ID[:]...)
	b = binary.LittleEndian.AppendUint16(b, e.Version)
	b = append(b, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(e.Scale))
	for _, v := range e.Values {
		b = append(b, uint8(v))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

// parseEntry reads a record; its Values point into b. It returns false when the checksum is wrong.
func parseEntry(b []byte) (Entry, bool) {
	end := len(b) - 4
	if binary.LittleEndian.Uint32(b[end:]) != crc32.Checksum(b[:end], castagnoli) {
		return Entry{}, false
	}
	values := b[24:end]
	return Entry{Key: parseKey(b), Vector: Vector{
		Scale:  math.Float32frombits(binary.LittleEndian.Uint32(b[20:])),
		Values: unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(values))), len(values)), // to copy them would be a third of a scan
	}}, true
}

// parseKey returns the key at the beginning of a record.
func parseKey(b []byte) Key {
	return Key{ID: [16]byte(b[:16]), Version: binary.LittleEndian.Uint16(b[16:])}
}

// ScanReport says what a scan of a file has found.
type ScanReport struct {
	Head
	Entries int   // valid vectors
	Damaged int   // invalid records
	Bytes   int64 // of the file
	end     int64 // of the last vector in it
}

// maxHole is the number of consecutive invalid records after which the rest of a file is passed over: the hole of a file that somebody made
// longer has no end that is worth waiting for.
const maxHole = 4096

// Scan calls each for every vector of the file in the order in which they were written; a vector is valid until that call returns. It gives
// nothing if the file does not exist or is of another model than the given one ("" means any); ScanReport.Head then names the model of the file,
// if there is one. A file of unknown format is an [ErrNewer].
func (f File) Scan(ctx context.Context, model string, each func(Entry)) (ScanReport, error) {
	file, err := statefile.OpenIn(f.Root, f.Name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ScanReport{}, nil
	}
	if err != nil {
		return ScanReport{}, fmt.Errorf("read vectors: %w", err)
	}
	defer file.Close()
	return scanFile(ctx, file, model, func(e Entry, _ []byte) error {
		each(e)
		return nil
	})
}

// scanFile implements [File.Scan] for an open file. each also gets the bytes of the record, and its error ends the scan. Damaged records are
// skipped and counted.
func scanFile(ctx context.Context, file io.Reader, model string, each func(Entry, []byte) error) (ScanReport, error) {
	var seen ScanReport
	first := make([]byte, headSize)
	n, err := io.ReadFull(file, first)
	seen.Bytes = int64(n)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && bytes.HasPrefix([]byte(magic), first[:min(n, len(magic))]):
		return seen, nil // whoever made it died
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return seen, fmt.Errorf("read vectors: %w", err)
	}
	h, ok := parseHead(first[:n])
	if !ok {
		return seen, ErrNewer
	}
	seen.Head = h
	if model != "" && h.Model != modelName(model) {
		return seen, nil
	}
	size, hole := RecordSize(h.Dimensions), 0
	at := int64(headSize)
	seen.end = at
	block := make([]byte, max(blockBytes/size, 1)*size)
	for {
		if ctx.Err() != nil {
			return seen, context.Cause(ctx)
		}
		n, err := io.ReadFull(file, block)
		seen.Bytes += int64(n)
		for b := block[:n]; len(b) >= size; b = b[size:] {
			e, ok := parseEntry(b[:size])
			at += int64(size)
			if !ok {
				seen.Damaged++
				if hole++; hole == maxHole {
					return seen, nil
				}
				continue
			}
			seen.Entries++
			hole, seen.end = 0, at
			if err := each(e, b[:size]); err != nil {
				return seen, err
			}
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF): // a torn record at the end counts for nothing
			return seen, nil
		case err != nil:
			return seen, fmt.Errorf("read vectors: %w", err)
		}
	}
}

// MaxDimensions bounds the vectors that are kept. The largest of known models have 4096.
const MaxDimensions = 8192

// Vector is a direction, with a signed byte for each dimension; multiplied by Scale they have unit length.
type Vector struct {
	Scale  float32
	Values []int8
}

// Quantize scales a vector to unit length and rounds it to bytes. It returns false for a vector without a direction: with no or more than
// MaxDimensions dimensions, all zeros, or with a NaN or an infinity.
func Quantize(v []float32) (Vector, bool) {
	if len(v) == 0 || len(v) > MaxDimensions {
		return Vector{}, false
	}
	var square, highest float64
	for _, x := range v {
		square += float64(x) * float64(x)
		highest = max(highest, math.Abs(float64(x)))
	}
	if !(highest > 0) || math.IsInf(square, 0) || math.IsNaN(square) {
		return Vector{}, false
	}
	out := Vector{Scale: float32(highest / 127 / math.Sqrt(square)), Values: make([]int8, len(v))}
	if !(out.Scale > 0) {
		return Vector{}, false
	}
	for i, x := range v {
		out.Values[i] = int8(math.Round(float64(x) / highest * 127))
	}
	return out, true
}

// Cosine returns the similarity of two vectors, from -1 to 1 within the precision of bytes; 0 when they have different dimensions.
func (v Vector) Cosine(w Vector) float32 {
	if len(v.Values) != len(w.Values) {
		return 0
	}
	return float32(dotProduct(v.Values, w.Values)) * v.Scale * w.Scale
}

// dotProduct returns the scalar product: at most 127² in each of MaxDimensions, which fits into 32 bits. Four sums beside each other keep the
// processor busy, and an array of 16 needs one bounds check.
func dotProduct(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	for len(a) >= 16 && len(b) >= 16 {
		x, y := (*[16]int8)(a), (*[16]int8)(b)
		s0 += int32(x[0])*int32(y[0]) + int32(x[4])*int32(y[4]) + int32(x[8])*int32(y[8]) + int32(x[12])*int32(y[12])
		s1 += int32(x[1])*int32(y[1]) + int32(x[5])*int32(y[5]) + int32(x[9])*int32(y[9]) + int32(x[13])*int32(y[13])
		s2 += int32(x[2])*int32(y[2]) + int32(x[6])*int32(y[6]) + int32(x[10])*int32(y[10]) + int32(x[14])*int32(y[14])
		s3 += int32(x[3])*int32(y[3]) + int32(x[7])*int32(y[7]) + int32(x[11])*int32(y[11]) + int32(x[15])*int32(y[15])
		a, b = a[16:], b[16:]
	}
	for i := range min(len(a), len(b)) {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}
