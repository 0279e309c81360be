package jobs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// lookEvery is the time between two looks at files that grow.
const lookEvery = 100 * time.Millisecond

// Tail copies what a job writes to the files [OutName] and [ErrName] in its folder, until over says that it has ended. Over is asked before
// each look, ten times a second. A file that is not there has nothing yet.
func Tail(ctx context.Context, folder string, out, errs io.Writer, over func(context.Context) (bool, error)) error {
	files := []*tailed{{name: OutName, to: out}, {name: ErrName, to: errs}}
	defer func() {
		for _, f := range files {
			f.close()
		}
	}()
	for {
		last, err := over(ctx)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := f.copy(folder); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}

// tailed is a file that grows. It is read through one handle: a file of another machine's is not seen to grow before it is opened again on
// some file systems, so the handle is opened anew when there was nothing.
type tailed struct {
	name string
	to   io.Writer
	file *os.File
	read int64
}

func (f *tailed) copy(folder string) error {
	if f.file == nil {
		file, err := statefile.Open(filepath.Join(folder, f.name), os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		f.file = file
	}
	n, err := io.Copy(f.to, io.NewSectionReader(f.file, f.read, 1<<62))
	f.read += n
	if n == 0 {
		f.close()
	}
	return err
}

func (f *tailed) close() {
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
