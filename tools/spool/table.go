package spool

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"sync"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// tableBuffer bounds the rows of a growing table that are in memory, in bytes.
const tableBuffer = 4 << 10

// A row is the entry of a table for one page, one large item or one block:
//
//	page   number of its first item (from 0), offset of that item
//	item   its number, offset, offset of its end
//	block  number of its part, offset, offset of its end
type row [3]int64

// rowSize is the size of a row on the disk: three numbers of 64 bits, and a CRC-32 (Castagnoli) of them and the row's index, so that a
// damaged or misplaced row is noticed.
const rowSize = 28

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// table is a list of rows that is only appended to. The last rows are in memory; a file is made when they no longer fit into the buffer.
type table struct {
	mu      sync.Mutex
	dir     *os.Root
	name    string
	file    *os.File
	null    bool   // rows are only counted
	passing bool   // the file has no name: it is gone once it is closed
	pending []byte // rows that are not in the file yet
	flushed int64  // rows in the file
	count   int64
	grow    func(bytes int64) error // reserves room on the disk; nil reserves none
	err     error
}

// errDamaged reports that a file of an entry is not what was written.
type errDamaged struct{ what string }

func (e *errDamaged) Error() string { return "the index is damaged: " + e.what }

// append adds a row; it is written to the file when the buffer is full. An error is kept in t.err. If t.null is set, rows are only counted.
func (t *table) append(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.null {
		t.count++
		return
	}
	var b [rowSize]byte
	r.encode(&b, t.count)
	t.pending = append(t.pending, b[:]...)
	t.count++
	// After an error the rows stay in memory, for Cut; the caller stops appending soon.
	if t.err == nil && len(t.pending)+rowSize > tableBuffer {
		t.err = t.flushLocked()
	}
}

// clearError clears the error, so that writing is tried again after room was made.
func (t *table) clearError() {
	t.mu.Lock()
	t.err = nil
	t.mu.Unlock()
}

// healthy reports whether no write has failed.
func (t *table) healthy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err == nil
}

// encode writes row number place of a table to b, with its checksum.
func (r row) encode(b *[rowSize]byte, place int64) {
	for i, v := range r {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(v))
	}
	binary.LittleEndian.PutUint32(b[24:], r.sum(b[:24], place))
}

// sum returns the checksum of b, the numbers of a row, at its place in a table.
func (row) sum(b []byte, place int64) uint32 {
	var at [8]byte
	binary.LittleEndian.PutUint64(at[:], uint64(place))
	return crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, at[:])
}

// flush writes all rows to the file. After an error it returns that error at every call.
func (t *table) flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.flushLocked()
	}
	return t.err
}

// flushLocked writes the pending rows to the file, which is made on first use. The caller holds t.mu.
func (t *table) flushLocked() error {
	if len(t.pending) == 0 {
		return nil
	}
	if t.grow != nil {
		if err := t.grow(int64(len(t.pending))); err != nil {
			return err
		}
	}
	if t.file == nil {
		f, err := statefile.OpenIn(t.dir, t.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		t.file = f
		if t.passing {
			_ = t.dir.Remove(t.name) // where that cannot be done it goes with the result
		}
	}
	if _, err := t.file.WriteAt(t.pending, t.flushed*rowSize); err != nil {
		return err
	}
	t.flushed += int64(len(t.pending) / rowSize)
	t.pending = t.pending[:0]
	return nil
}

// reset removes all rows, also from the file, and clears the error. An error of truncating the file is kept in t.err.
func (t *table) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending, t.flushed, t.count = t.pending[:0], 0, 0
	if t.file != nil {
		t.err = t.file.Truncate(0)
	}
}

func (t *table) len() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// get returns row i, counted from 0; *errDamaged if the table has no such row, or it does not match its checksum.
func (t *table) get(i int64) (row, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i < 0 || i >= t.count {
		return row{}, &errDamaged{fmt.Sprintf("%s has no row %d, only %d rows", t.name, i, t.count)}
	}
	var b [rowSize]byte
	if i >= t.flushed {
		copy(b[:], t.pending[(i-t.flushed)*rowSize:])
	} else if _, err := t.file.ReadAt(b[:], i*rowSize); err != nil {
		return row{}, &errDamaged{fmt.Sprintf("%s: row %d: %v", t.name, i, err)}
	}
	var r row
	for k := range r {
		r[k] = int64(binary.LittleEndian.Uint64(b[8*k:]))
	}
	if binary.LittleEndian.Uint32(b[24:]) != r.sum(b[:24], i) {
		return row{}, &errDamaged{fmt.Sprintf("%s: row %d does not match its checksum", t.name, i)}
	}
	return r, nil
}

// find returns the index of the first row whose column is at least value, or the number of rows if there is none.
func (t *table) find(column int, value int64) (int64, error) {
	low, high := int64(0), t.len()
	for low < high {
		middle := low + (high-low)/2
		r, err := t.get(middle)
		if err != nil {
			return 0, err
		}
		if r[column] < value {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// close closes the file, if there is one; the table has no rows then. Without a file its rows stay.
func (t *table) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != nil {
		_ = t.file.Close()
		t.file, t.count = nil, 0
	}
}

// openTable opens a table of count rows for reading; *errDamaged if its file is missing or too short.
func openTable(dir *os.Root, name string, count int64) (*table, error) {
	t := &table{dir: dir, name: name, count: count, flushed: count}
	if count == 0 {
		return t, nil
	}
	f, err := statefile.OpenIn(dir, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, &errDamaged{name + " is missing"}
	}
	if info, err := f.Stat(); err != nil || info.Size() < count*rowSize {
		_ = f.Close()
		return nil, &errDamaged{name + " is shorter than it was"}
	}
	t.file = f
	return t, nil
}
