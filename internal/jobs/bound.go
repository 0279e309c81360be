package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// MaxOutput bounds a file of [OpenOutput] in the queue of this host, in bytes, by [Bound].
const MaxOutput = 16 * limit.MiB

// Bound keeps a file that others append to within Max bytes. Where it has more, its first and its last quarter stay. Who writes is never
// kept waiting and notices nothing; what it writes in the microseconds between the last reading and the cut goes too.
type Bound struct {
	Path string
	Max  limit.Bytes
	// Cut counts the bytes that were cut out.
	Cut limit.Bytes
}

// Look cuts the file if it is too large.
func (b *Bound) Look() error {
	if info, err := os.Lstat(b.Path); err == nil && info.Size() <= int64(b.Max) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := statefile.Open(b.Path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	quarter := int64(b.Max) / 4
	last, err := io.ReadAll(io.NewSectionReader(f, size-quarter, 2*quarter)) // with what comes meanwhile
	if err != nil {
		return err
	}
	if line := bytes.IndexByte(last, '\n'); line < len(last)/2 {
		last = last[line+1:]
	}
	if size, err = f.Seek(0, io.SeekEnd); err == nil {
		err = f.Truncate(quarter)
	}
	if err != nil {
		return err
	}
	b.Cut += limit.Bytes(size - quarter - int64(len(last)))
	_, err = f.Write(append(fmt.Appendf(nil, "\nplimsoll: %s of the output were left out here\n", b.Cut.Human()), last...))
	return err
}
