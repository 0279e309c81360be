package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Forget calls overwrite with every file that is kept of each job, and returns the names of those of which one held the words: overwrite reports
// that of a file, and takes them out of it. It holds the lock of the records meanwhile. What starts a job that has not ended is only an error: another
// command would run.
func (s *Store) Forget(ctx context.Context, overwrite func(path string, dry bool) (held bool, err error), dry bool) (ids []string, err error) {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = s.locked(ctx, func() error {
		all, err := s.IDs()
		if err != nil {
			return err
		}
		var failed error
		for _, id := range all {
			held, err := s.forgetIn(id, overwrite, dry)
			if held {
				ids = append(ids, id)
			}
			failed = errors.Join(failed, err)
		}
		return failed
	})
	return ids, err
}

// forgetIn calls overwrite with the files of one job, and reports whether one of them held the words.
func (s *Store) forgetIn(id string, overwrite func(path string, dry bool) (bool, error), dry bool) (held bool, err error) {
	for _, name := range []string{RecordName, ReportName, OutName, ErrName, StartName} {
		has, one := overwrite(filepath.Join(s.Folder(id), name), dry || name == StartName)
		if errors.Is(one, fs.ErrNotExist) {
			continue
		}
		if has && name == StartName && !dry {
			one = fmt.Errorf("job %s has not ended and has the words in its command or its variables: end it with plimsoll cancel %[1]s, and forget again", id)
		}
		held, err = held || has, errors.Join(err, one)
	}
	return held, err
}
