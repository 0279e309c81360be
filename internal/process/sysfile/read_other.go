//go:build !linux

package sysfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Read returns at most maxBytes bytes of a file.
func Read(name string, maxBytes int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(maxBytes)))
}

// IsMissing reports whether a file is not there.
func IsMissing(name string) bool {
	_, err := os.Lstat(name)
	return errors.Is(err, fs.ErrNotExist)
}

// IsLeaf reports whether a directory has no directories in it; here that is never known.
func IsLeaf(string) bool { return false }

// Subdirectories returns the names of the directories in dir, sorted.
func Subdirectories(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
