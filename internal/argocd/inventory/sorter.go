package inventory

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// sorter sorts records by the first maxKey bytes of their key in limit bytes of memory; records with equal keys keep their order. Records
// that do not fit are written to a scratch file in sorted runs, which are merged at the end. With keep > 0 only the first keep records in
// order are wanted: records that cannot be among them are dropped at once, so the first pages of a listing need no disk. It is not for
// several goroutines.
type sorter struct {
	d     *scratchDisk
	limit int
	keep  int

	arena       []byte
	records     []record
	bound       []byte // with keep: records with this key or a higher one are not wanted; nil if not known
	runs        []run
	file        *scratch
	runsWritten int64 // number of runs written
}

// record is the place of a record in the arena: where its key begins, and the lengths of the key and of the row behind it.
type record struct{ at, key, row int }

// run is a sorted part of the scratch file.
type run struct{ off, size int64 }

const (
	// recordBytes is the size of a record without its key and row.
	recordBytes = 24
	// maxRuns bounds the runs that are merged at one time, each through a buffer: 1 MiB in all.
	maxRuns = 64
	// maxRecord bounds a record in bytes, far above the size of an object: a damaged scratch file must not cause huge
	// allocations.
	maxRecord = 1 << 30
)

// wants reports whether a record with this key can be among the first keep; if not, its row need not be made.
func (s *sorter) wants(key []byte) bool {
	return s.bound == nil || bytes.Compare(key[:min(maxKey, len(key))], s.bound) < 0
}

// addRecord adds a record, unless it is known to be beyond those that are kept. If the memory is full, it makes room first.
func (s *sorter) addRecord(key, row []byte) error {
	key = key[:min(maxKey, len(key))]
	if !s.wants(key) {
		return nil
	}
	if len(s.records) > 0 && s.memoryUsed()+len(key)+len(row)+recordBytes > s.limit {
		if err := s.makeRoom(); err != nil {
			return err
		}
		if !s.wants(key) {
			return nil
		}
	}
	s.records = append(s.records, record{len(s.arena), len(key), len(row)})
	s.arena = append(append(s.arena, key...), row...)
	return nil
}

func (s *sorter) memoryUsed() int { return len(s.arena) + len(s.records)*recordBytes }

func (s *sorter) keyOf(r record) []byte { return s.arena[r.at : r.at+r.key] }

func (s *sorter) rowOf(r record) []byte { return s.arena[r.at+r.key : r.at+r.key+r.row] }

// sortRecords sorts the records in memory by key, equal ones in the order in which they came, and drops those beyond the first s.keep, if
// that is not 0. The last of these bounds what is added from then on.
func (s *sorter) sortRecords() {
	sorting.By(s.records, func(a, b record) int {
		if c := bytes.Compare(s.keyOf(a), s.keyOf(b)); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
	if s.keep > 0 && len(s.records) >= s.keep {
		s.records = s.records[:s.keep]
		if last := s.keyOf(s.records[s.keep-1]); s.wants(last) {
			s.bound = bytes.Clone(last)
		}
	}
}

// makeRoom makes room in memory: it drops the records beyond s.keep, and if that is not enough writes all as a run into the scratch file.
func (s *sorter) makeRoom() error {
	s.sortRecords()
	size := 0
	for _, r := range s.records {
		size += r.key + r.row + recordBytes
	}
	if size <= s.limit/2 {
		arena := make([]byte, 0, size)
		// In the order of the arena, in which the records came.
		sorting.By(s.records, func(a, b record) int { return cmp.Compare(a.at, b.at) })
		for i, r := range s.records {
			s.records[i].at = len(arena)
			arena = append(arena, s.arena[r.at:r.at+r.key+r.row]...)
		}
		s.arena = arena
		return nil
	}
	return s.writeRun()
}

// writeRun writes the records in memory, which are sorted, to the scratch file as a run, and clears the memory.
func (s *sorter) writeRun() (err error) {
	if s.file == nil {
		if s.file, err = s.d.open(); err != nil {
			return err
		}
	}
	at := run{off: s.file.size}
	for _, r := range s.records {
		if err := writeRecord(s.file, s.keyOf(r), s.rowOf(r)); err != nil {
			return err
		}
	}
	at.size = s.file.size - at.off
	s.runs = append(s.runs, at)
	s.runsWritten++
	s.records = s.records[:0]
	if s.arena = s.arena[:0]; cap(s.arena) > 2*s.limit {
		s.arena = nil // a huge record made it grow
	}
	return nil
}

// writeRecord writes the lengths of key and row as uvarints, and then both.
func writeRecord(w io.Writer, key, row []byte) error {
	var head [2 * binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(key)))
	n += binary.PutUvarint(head[n:], uint64(len(row)))
	for _, part := range [][]byte{head[:n], key, row} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// forEach calls yield with the records in order; key and row are valid only during the call. It may be called only once, after the last add.
func (s *sorter) forEach(yield func(key, row []byte) error) error {
	s.sortRecords()
	if len(s.runs) == 0 {
		for _, r := range s.records {
			if err := yield(s.keyOf(r), s.rowOf(r)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.writeRun(); err != nil {
		return err
	}
	s.arena, s.records = nil, nil
	for len(s.runs) > maxRuns {
		// Adjacent runs are merged, so that records with equal keys keep their order.
		var merged []run
		for group := range slices.Chunk(s.runs, maxRuns) {
			if err := s.file.flush(); err != nil {
				return err
			}
			at := run{off: s.file.size}
			if err := s.mergeRuns(group, func(key, row []byte) error { return writeRecord(s.file, key, row) }); err != nil {
				return err
			}
			at.size = s.file.size - at.off
			merged = append(merged, at)
		}
		s.runs = merged
	}
	if err := s.file.flush(); err != nil {
		return err
	}
	return s.mergeRuns(s.runs, yield)
}

// mergeRuns calls yield with the records of several sorted runs in order, at most s.keep of them unless that is 0.
func (s *sorter) mergeRuns(runs []run, yield func(key, row []byte) error) error {
	var h runHeap
	for i, one := range runs {
		c := &cursor{r: bufio.NewReaderSize(s.file.section(one.off, one.size), bufferBytes), n: i}
		switch err := c.nextRecord(); {
		case err == nil:
			h = append(h, c)
		case !errors.Is(err, io.EOF):
			return err
		}
	}
	heap.Init(&h)
	for n := 0; len(h) > 0 && (s.keep == 0 || n < s.keep); n++ {
		c := h[0]
		if err := yield(c.key, c.row); err != nil {
			return err
		}
		switch err := c.nextRecord(); {
		case err == nil:
			heap.Fix(&h, 0)
		case errors.Is(err, io.EOF):
			heap.Pop(&h)
		default:
			return err
		}
	}
	return nil
}

// close releases the memory and the scratch file.
func (s *sorter) close() {
	s.file.close()
	s.arena, s.records, s.runs = nil, nil, nil
}

// cursor reads a run.
type cursor struct {
	r        *bufio.Reader
	n        int
	buf      []byte
	key, row []byte
}

// nextRecord reads the next record into key and row, which are valid until the next call; io.EOF at the end of the run.
func (c *cursor) nextRecord() error {
	key, err := binary.ReadUvarint(c.r)
	if errors.Is(err, io.EOF) { // not io.ErrUnexpectedEOF, which is within a number
		return io.EOF
	}
	var row uint64
	if err == nil {
		row, err = binary.ReadUvarint(c.r)
	}
	if err == nil && (key > maxRecord || row > maxRecord) {
		err = errors.New("its lengths are impossible")
	}
	if err == nil {
		if need := int(key + row); cap(c.buf) < need || cap(c.buf) > 4*bufferBytes && cap(c.buf) > 4*need {
			c.buf = make([]byte, need)
		}
		c.buf = c.buf[:key+row]
		_, err = io.ReadFull(c.r, c.buf)
	}
	if err != nil {
		return fmt.Errorf("a scratch file is damaged: %w; ask again", err)
	}
	c.key, c.row = c.buf[:key], c.buf[key:]
	return nil
}

// runHeap is a heap of cursors by key, then by run.
type runHeap []*cursor

func (h runHeap) Len() int { return len(h) }
func (h runHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key, h[j].key); c != 0 {
		return c < 0
	}
	return h[i].n < h[j].n
}
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)   { *h = append(*h, x.(*cursor)) }
func (h *runHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
