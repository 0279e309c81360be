package embed

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzVectors holds that any bytes are read as a file of vectors without harm: what is given is what was written, and the rest is counted.
func FuzzVectors(f *testing.F) {
	v, _ := Quantize([]float32{1, -2, 3, 0.5})
	whole := Head{Model: "m", Dimensions: 4}.encodeHead()
	for i := range 3 {
		whole = appendEntry(whole, Entry{Key: Key{ID: [16]byte{uint8(i)}, Version: uint16(i)}, Vector: v})
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-2])
	f.Add(append(bytes.Clone(whole), whole...))
	f.Add([]byte("plvec\x00\x02\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		again := Head{}
		var rest []byte
		seen, err := scanFile(t.Context(), bytes.NewReader(b), "", func(e Entry, record []byte) error {
			if len(e.Values) == 0 || len(e.Values) > MaxDimensions || len(record) != RecordSize(len(e.Values)) {
				t.Fatalf("a vector of %d dimensions in %d bytes", len(e.Values), len(record))
			}
			again.Dimensions = len(e.Values)
			rest = appendEntry(rest, e)
			return nil
		})
		if err != nil {
			if !errors.Is(err, ErrNewer) || seen.Entries+seen.Damaged > 0 {
				t.Fatalf("%+v, %v", seen, err)
			}
			return
		}
		if seen.Bytes != int64(len(b)) || seen.Entries > 0 && seen.Dimensions != again.Dimensions {
			t.Fatalf("%+v of %d bytes", seen, len(b))
		}
		if size := RecordSize(seen.Dimensions); len(rest) != seen.Entries*size || seen.Dimensions > 0 && headSize+(seen.Entries+seen.Damaged)*size > len(b) {
			t.Fatalf("%+v of %d bytes, %d written again", seen, len(b), len(rest))
		}
	})
}
