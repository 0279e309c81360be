package inventory

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/limit"
)

// scratchDisk creates scratch files and bounds their total size.
type scratchDisk struct {
	dir     string
	max     int64
	used    atomic.Int64
	peak    atomic.Int64
	refused atomic.Int64 // writes that the bound refused
}

// scratch is an unlinked file that is appended to and read at any place. It disappears when it is closed, also if the process
// is killed.
type scratch struct {
	d    *scratchDisk
	f    *os.File
	name string // the name of a file that could not be unlinked while open (Windows); else ""
	w    *bufio.Writer
	size int64 // including the bytes in w
	once sync.Once
}

// bufferBytes is the size of the buffers for a file: for larger ones the cost of a system call is negligible.
const bufferBytes = 16 << 10

// open makes a scratch file. Its name is removed at once where the system allows that, so that the file goes with the process. The caller closes
// it.
func (d *scratchDisk) open() (*scratch, error) {
	f, err := os.CreateTemp(d.dir, "plimsoll-inventory-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("a scratch file for sorting could not be made in %s: %w; name a directory that can be written", d.folderOrTemp(), err)
	}
	s := &scratch{d: d, f: f}
	if os.Remove(f.Name()) != nil {
		s.name = f.Name()
	}
	s.w = bufio.NewWriterSize(f, bufferBytes)
	return s, nil
}

func (d *scratchDisk) folderOrTemp() string {
	if d.dir == "" {
		return os.TempDir()
	}
	return d.dir
}

// Write appends p. It is an error if all scratch files together would exceed the bound.
func (s *scratch) Write(p []byte) (int, error) {
	used := s.d.used.Add(int64(len(p)))
	s.size += int64(len(p))
	if used > s.d.max {
		s.d.refused.Add(1)
		return 0, fmt.Errorf("the scratch files in %s would have %s, more than the %s that they may have together; ask for less at one time, narrow the listing, or allow more",
			s.d.folderOrTemp(), limit.Bytes(used).Human(), limit.Bytes(s.d.max).Human())
	}
	for peak := s.d.peak.Load(); used > peak && !s.d.peak.CompareAndSwap(peak, used); peak = s.d.peak.Load() {
	}
	n, err := s.w.Write(p)
	if err != nil {
		err = fmt.Errorf("writing a scratch file of %s in %s: %w; make room there, or name another directory",
			limit.Bytes(s.size).Human(), s.d.folderOrTemp(), err)
	}
	return n, err
}

// flush makes everything that was written readable.
func (s *scratch) flush() error {
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("writing a scratch file of %s in %s: %w; make room there, or name another directory",
			limit.Bytes(s.size).Human(), s.d.folderOrTemp(), err)
	}
	return nil
}

// section returns a reader of n bytes at off.
func (s *scratch) section(off, n int64) io.Reader { return io.NewSectionReader(s.f, off, n) }

// close removes the file and releases its disk space. s may be nil.
func (s *scratch) close() {
	if s == nil {
		return
	}
	s.once.Do(func() {
		_ = s.f.Close()
		if s.name != "" {
			_ = os.Remove(s.name)
		}
		s.d.used.Add(-s.size)
	})
}
