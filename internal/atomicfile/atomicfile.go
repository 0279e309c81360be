package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Write replaces the file at path, or makes it, with the mode perm before umask. When it
// returns nil the content is on the disk; on an error the old file is as it was.
func Write(path string, body []byte, perm fs.FileMode) error {
	temporary := path + ".tmp-" + rand.Text()
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = Rename(func() error { return os.Rename(temporary, path) })
	}
	if err != nil {
		_ = os.Remove(temporary)
		return err
	}
	// The new name survives a power cut only with its directory. Some systems can't sync
	// one, and every reader sees the new file anyhow.
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

const (
	tries = 10
	pause = 2 * time.Millisecond
)

// Rename calls rename, on Windows up to ten times within about 20 ms until it returns nil,
// and returns its last error.
func Rename(rename func() error) error {
	err := rename()
	for range tries - 1 {
		if err == nil || runtime.GOOS != "windows" {
			break
		}
		time.Sleep(pause)
		err = rename()
	}
	return err
}
