package tasklog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
)

// Forget removes the files in a folder, of tasks or of damaged ones, for whose content holds returns true, and returns their names. It
// works also while another process has the folder open. Such a process writes a running task again with all it has said, which is reported
// as an error. With dry it changes nothing.
func Forget(dir string, holds func(text []byte) bool, dry bool) (names []string, err error) {
	root, err := statefile.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	running := 0
	for _, e := range entries {
		name := e.Name()
		ours := strings.HasSuffix(name, taskSuffix) || store.IsDamaged(name) || strings.Contains(name, temporary)
		if !ours || !e.Type().IsRegular() {
			continue
		}
		raw, readErr := statefile.Read(filepath.Join(dir, name), maxForgetRead)
		if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
			err = errors.Join(err, readErr)
		}
		if readErr != nil || !holds(raw) {
			continue
		}
		if t, decodeErr := decode(raw); decodeErr == nil && !t.Ended {
			running++
		}
		if !dry {
			if removeErr := root.Remove(name); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
				err = errors.Join(err, removeErr)
				continue
			}
		}
		names = append(names, name)
	}
	if running > 0 && !dry && isOpen(dir) {
		err = errors.Join(err, fmt.Errorf("%d tasks are running in %s, and are written again: forget again when they have ended", running, dir))
	}
	return names, err
}

// maxForgetRead bounds what is read of one file, in bytes: more than a task may have.
const maxForgetRead = int64(DefaultMaxStore)

// isOpen reports whether a process has the folder open, that is holds its lock.
func isOpen(dir string) bool {
	f, err := statefile.Open(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	ok, err := filelock.Try(f, filelock.Exclusive)
	return err == nil && !ok
}
