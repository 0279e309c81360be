//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// dirOwner returns the id of the user that owns what a path leads to; -1 with an error.
func dirOwner(path string) (int, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return -1, err
	}
	return ownerOf(fi)
}

// ownerOf returns the user ID of the owner; -1 and an error if it is not known.
func ownerOf(fi fs.FileInfo) (int, error) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, fmt.Errorf("owner of %s is not known", fi.Name())
	}
	return int(st.Uid), nil
}
