package inventory

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/limit"
)

// table is a list of sorted rows that can be read from any place: in memory if they are few, else in two scratch files, one with the rows
// and one with the offset of each. It does not change any more, and may be read by many goroutines.
type table struct {
	n int
	// in memory
	rows []json.RawMessage
	size int64
	// on disk
	data, index *scratch
}

// maxPageBytes bounds the rows of one page. 100 summaries have 40 KB, 100 whole objects usually 900 KB.
const maxPageBytes = 64 << 20

// newTable returns a table of the sorter's records, and closes the sorter. With onDisk the table is always in scratch files, as one that is kept
// should not take memory.
func newTable(s *sorter, onDisk bool) (t *table, err error) {
	defer s.close()
	t = &table{}
	if len(s.runs) == 0 && !onDisk {
		err = s.forEach(func(_, row []byte) error {
			t.rows = append(t.rows, append(json.RawMessage(nil), row...))
			t.size += int64(len(row))
			return nil
		})
		t.n = len(t.rows)
		return t, err
	}
	made := t
	defer func() {
		if err != nil {
			made.close()
		}
	}()
	if t.data, err = s.d.open(); err != nil {
		return nil, err
	}
	if t.index, err = s.d.open(); err != nil {
		return nil, err
	}
	var offset [8]byte
	mark := func() error {
		binary.BigEndian.PutUint64(offset[:], uint64(t.data.size))
		_, err := t.index.Write(offset[:])
		return err
	}
	if err := mark(); err != nil {
		return nil, err
	}
	err = s.forEach(func(_, row []byte) error {
		t.n++
		if _, err := t.data.Write(row); err != nil {
			return err
		}
		return mark()
	})
	if err := errors.Join(err, t.data.flush(), t.index.flush()); err != nil {
		return nil, err
	}
	// The table is only read from now on, so the buffers for writing are released.
	t.data.w, t.index.w = nil, nil
	t.size = t.data.size + t.index.size
	return t, nil
}

// rowsBetween returns the rows from (counted from 0) up to to, exclusive; fewer at the end. More than maxPageBytes in scratch files are an error.
func (t *table) rowsBetween(from, to int) ([]json.RawMessage, error) {
	from, to = min(max(from, 0), t.n), min(max(to, 0), t.n)
	if from >= to {
		return []json.RawMessage{}, nil
	}
	if t.data == nil {
		return append([]json.RawMessage(nil), t.rows[from:to]...), nil
	}
	marks := make([]byte, 8*(to-from+1))
	if _, err := t.index.f.ReadAt(marks, int64(8*from)); err != nil {
		return nil, fmt.Errorf("a scratch file in %s cannot be read: %w", t.index.d.folderOrTemp(), err)
	}
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(marks[8*i:])) }
	size := at(to-from) - at(0)
	if size < 0 || size > maxPageBytes {
		return nil, fmt.Errorf("these %d items have %s, more than the %s of a page; ask for a smaller page_size",
			to-from, limit.Bytes(size).Human(), limit.Bytes(maxPageBytes).Human())
	}
	data := make([]byte, size)
	if _, err := t.data.f.ReadAt(data, at(0)); err != nil {
		return nil, fmt.Errorf("a scratch file in %s cannot be read: %w", t.data.d.folderOrTemp(), err)
	}
	rows := make([]json.RawMessage, to-from)
	for i := range rows {
		a, b := at(i)-at(0), at(i+1)-at(0)
		if a < 0 || a > b || b > size {
			return nil, fmt.Errorf("a scratch file in %s is damaged; ask again", t.index.d.folderOrTemp())
		}
		rows[i] = data[a:b:b]
	}
	return rows, nil
}

func (t *table) close() {
	if t != nil {
		t.data.close()
		t.index.close()
	}
}

// weight returns the size of a table in bytes, on the disk or in memory; 0 for nil.
func (t *table) weight() int64 {
	if t == nil {
		return 0
	}
	return t.size
}
