package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// lookEvery is the time between two looks at files that grow.
	lookEvery = 100 * time.Millisecond
	// firstPause and lastPause lie between two questions whether a job is over.
	firstPause, lastPause = 250 * time.Millisecond, 10 * time.Second
	// askTime bounds one of them, and maxFailures how many in a row may stay without an answer: some five minutes.
	askTime, maxFailures = 10 * time.Second, 30
)

// OpenOutput opens the files for the output of a job for appending, and creates them for this user alone if they are not there. The caller
// closes both.
func OpenOutput(folder string) (out, errs *os.File, err error) {
	const flag = os.O_RDWR | os.O_CREATE | os.O_APPEND
	if out, err = statefile.Open(filepath.Join(folder, OutName), flag, 0o600); err != nil {
		return nil, nil, err
	}
	if errs, err = statefile.Open(filepath.Join(folder, ErrName), flag, 0o600); err != nil {
		_ = out.Close()
	}
	return out, errs, err
}

// Tail copies what a job writes to the files [OutName] and [ErrName] in its folder, until the engine says that the job has ended or does
// not know it: for engines that have it written there. It asks the engine seldom at first, and often once the report is there. An engine
// that fails more than maxFailures times in a row is an error.
func Tail(ctx context.Context, e Engine, ref Ref, out, errs io.Writer) error {
	var read [2]int64
	asked, pause, failures := time.Now(), firstPause, 0
	for over := false; !over; {
		if _, err := os.Lstat(filepath.Join(ref.Folder, ReportName)); err == nil {
			pause = firstPause
		}
		if time.Since(asked) >= pause {
			asking, cancel := context.WithTimeout(ctx, askTime)
			answers, err := e.Status(asking, []Ref{ref})
			cancel()
			if failures++; err == nil {
				failures = 0
			} else if failures > maxFailures {
				return err
			}
			at, known := answers[ref.ID]
			over = err == nil && (!known || at.Phase.Over())
			asked, pause = time.Now(), min(2*pause, lastPause)
		}
		for i, to := range []io.Writer{out, errs} {
			n, err := copyTail(filepath.Join(ref.Folder, []string{OutName, ErrName}[i]), read[i], to)
			if read[i] += n; err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
	return nil
}

// copyTail copies a file from an offset to its end and returns the number of bytes; 0 if there is no file yet. It opens the file each time: on some
// file systems one that another machine writes is not seen to grow otherwise.
func copyTail(path string, at int64, to io.Writer) (int64, error) {
	f, err := statefile.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.Copy(to, io.NewSectionReader(f, at, 1<<62))
}

// MaxOutput bounds a file of [OpenOutput] in the queue of this host, in bytes, by [Bound].
const MaxOutput = 16 * limit.MiB

// Bound keeps a file that others append to within Max bytes. Where it has more, its first and its last quarter stay. Who writes is never
// kept waiting and notices nothing; what it writes in the microseconds between the last reading and the cut goes too.
type Bound struct {
	File *os.File // of [OpenOutput], or its heir
	Path string
	Max  limit.Bytes
	// Cut counts the bytes that were cut out.
	Cut limit.Bytes
}

// Trim does nothing unless the file is larger than b.Max. Then it keeps the first and the last quarter of that size and writes a line between them,
// which says how much was left out.
func (b *Bound) Trim() error {
	info, err := b.File.Stat()
	if err != nil || info.Size() <= int64(b.Max) {
		return err
	}
	quarter := int64(b.Max) / 4
	last, err := io.ReadAll(io.NewSectionReader(b.File, info.Size()-quarter, 2*quarter)) // with what comes meanwhile
	if err != nil {
		return err
	}
	if line := bytes.IndexByte(last, '\n'); line < len(last)/2 {
		last = last[line+1:]
	}
	if info, err = b.File.Stat(); err != nil {
		return err
	}
	if b.File.Truncate(quarter) != nil { // on Windows who may append may not cut
		if err := os.Truncate(b.Path, quarter); err != nil {
			return err
		}
	}
	b.Cut += limit.Bytes(info.Size() - quarter - int64(len(last)))
	_, err = b.File.Write(append(fmt.Appendf(nil, "\nplimsoll: %s of the output were left out here\n", b.Cut.Human()), last...))
	return err
}
