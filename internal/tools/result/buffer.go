package result

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// spooledBuffer keeps the first HoldBytes in memory and the rest in an unlinked temporary file. Its bytes can be read while more are added.
type spooledBuffer struct {
	dir   string
	mem   []byte
	file  *os.File
	size  int64
	named bool // the file still has its name: the system could not remove that of an open file
}

func (h *spooledBuffer) write(p []byte) error {
	if n := min(len(p), HoldBytes-len(h.mem)); n > 0 && h.file == nil {
		h.mem = append(h.mem, p[:n]...)
		h.size += int64(n)
		p = p[n:]
	}
	if len(p) == 0 {
		return nil
	}
	if h.file == nil {
		f, err := os.CreateTemp(h.dir, "held-*") // 0600
		if err != nil {
			return fmt.Errorf("no temporary file for a large result: %w", err)
		}
		h.file = f
		h.named = os.Remove(f.Name()) != nil
	}
	n, err := h.file.WriteAt(p, h.size-int64(len(h.mem)))
	h.size += int64(n)
	if err != nil {
		return fmt.Errorf("a large result does not fit into a temporary file: %w", err)
	}
	return nil
}

// reader returns a reader of the bytes between two offsets.
func (h *spooledBuffer) reader(from, to int64) io.Reader {
	m := int64(len(h.mem))
	if to <= m {
		return bytes.NewReader(h.mem[from:to])
	}
	var first io.Reader
	if from < m {
		first, from = bytes.NewReader(h.mem[from:]), m
	}
	rest := io.NewSectionReader(h.file, from-m, to-from)
	if first == nil {
		return rest
	}
	return io.MultiReader(first, rest)
}

func (h *spooledBuffer) close() {
	if h.file == nil {
		return
	}
	_ = h.file.Close()
	if h.named {
		_ = os.Remove(h.file.Name())
	}
	h.file = nil
}
