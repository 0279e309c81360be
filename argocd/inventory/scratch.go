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
	refused atomic.Int64 // writes that the bound turned down
}

// scratch is an unlinked file that is written at its end and read anywhere. It disappears with its last descriptor, also when
// the process is killed.
type scratch struct {
	d    *scratchDisk
	f    *os.File
	name string // of a file that could not be unlinked while open (Windows)
	w    *bufio.Writer
	size int64 // with what is in w
	once sync.Once
}

// bufferBytes is the size of the buffers for a file: about the size from which a
// system call no longer shows beside what it copies.
const bufferBytes = 16 << 10

func (d *scratchDisk) open() (*scratch, error) {
	f, err := os.CreateTemp(d.dir, "plimsoll-inventory-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("a scratch file for sorting could not be made in %s: %w; name a directory that can be written", d.folder(), err)
	}
	s := &scratch{d: d, f: f}
	if os.Remove(f.Name()) != nil {
		s.name = f.Name()
	}
	s.w = bufio.NewWriterSize(f, bufferBytes)
	return s, nil
}

func (d *scratchDisk) folder() string {
	if d.dir == "" {
		return os.TempDir()
	}
	return d.dir
}

// Write appends.
func (s *scratch) Write(p []byte) (int, error) {
	used := s.d.used.Add(int64(len(p)))
	s.size += int64(len(p))
	if used > s.d.max {
		s.d.refused.Add(1)
		return 0, fmt.Errorf("the scratch files in %s would have %s, more than the %s that they may have together; ask for less at one time, narrow the listing, or allow more",
			s.d.folder(), limit.Bytes(used).Human(), limit.Bytes(s.d.max).Human())
	}
	for peak := s.d.peak.Load(); used > peak && !s.d.peak.CompareAndSwap(peak, used); peak = s.d.peak.Load() {
	}
	n, err := s.w.Write(p)
	if err != nil {
		err = fmt.Errorf("writing a scratch file of %s in %s: %w; make room there, or name another directory",
			limit.Bytes(s.size).Human(), s.d.folder(), err)
	}
	return n, err
}

// flush makes what was written readable.
func (s *scratch) flush() error {
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("writing a scratch file of %s in %s: %w; make room there, or name another directory",
			limit.Bytes(s.size).Human(), s.d.folder(), err)
	}
	return nil
}

// section reads n bytes from off on.
func (s *scratch) section(off, n int64) io.Reader { return io.NewSectionReader(s.f, off, n) }

// close gives the disk space back.
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
