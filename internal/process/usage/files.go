package usage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/store"
)

const temporaryInfix = ".tmp-"

// entriesOf returns at most maxEntries names of the directory, and whether there are more.
func entriesOf(root *os.Root) (entries []os.DirEntry, more bool, err error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	entries, err = d.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if len(entries) > maxEntries {
		return entries[:maxEntries], true, nil
	}
	return entries, false, nil
}

// setAside renames a damaged file, and warns.
func (h *History) setAside(root *os.Root, name string, damaged *damage) error {
	path := filepath.Join(h.directory, name)
	aside, err := store.SetAside(root, name)
	if err != nil {
		return h.offError(path, err)
	}
	h.warn(Warning{
		Kind: CorruptSetAside, Path: filepath.Join(h.directory, aside), Count: 1,
		Text: fmt.Sprintf("the history file %s is damaged: %v; it is set aside as %s and a new history begins", path, damaged, aside),
	})
	return nil
}

// sweep removes temporary files that a killed writer of the project left, when they are older than staleAfter. It goes by age because on a
// disk shared by two hosts a lock may not reach the other one's writer.
func sweep(root *os.Root, key string) {
	entries, _, err := entriesOf(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		random, ok := strings.CutPrefix(e.Name(), key+temporaryInfix)
		if !ok || strings.Contains(random, ".") { // a dot: the file of another project whose key begins like this
			continue
		}
		if status, err := e.Info(); err == nil && time.Since(status.ModTime()) > staleAfter {
			_ = root.Remove(e.Name())
		}
	}
}

// offError returns an operating system's error as an OffError, with the reason that it stands for.
func (h *History) offError(path string, err error) error {
	if already, ok := errors.AsType[*OffError](err); ok {
		return already
	}
	reason := OffFailed
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		reason = OffReadOnly
	case diskspace.IsFull(err):
		reason = OffFull
	}
	return &OffError{Reason: reason, Path: path, Err: err}
}
