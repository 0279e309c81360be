package usage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/diskspace"
)

const (
	corruptInfix   = ".corrupt-"
	corruptTime    = "20060102T150405.000000000Z"
	temporaryInfix = ".tmp-"
)

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

// setAside renames a damaged file, removes all but the newest KeptCorrupt of its project, and warns.
func (h *History) setAside(root *os.Root, name string, damaged *damage) error {
	path := filepath.Join(h.directory, name)
	aside := name + corruptInfix + time.Now().UTC().Format(corruptTime)
	if err := root.Rename(name, aside); err != nil {
		return h.offError(path, err)
	}
	h.warn(Warning{
		Kind: CorruptSetAside, Path: filepath.Join(h.directory, aside), Count: 1,
		Text: fmt.Sprintf("the history file %s is damaged: %v; it is set aside as %s and a new history begins", path, damaged, aside),
	})
	entries, _, err := entriesOf(root)
	if err != nil {
		return nil // the new history matters more than the number of old files
	}
	var old []string
	for _, e := range entries {
		// Only a time may follow: a key is allowed to have these letters in it too.
		if stamp, ok := strings.CutPrefix(e.Name(), name+corruptInfix); ok {
			if _, err := time.Parse(corruptTime, stamp); err == nil {
				old = append(old, e.Name())
			}
		}
	}
	// Names sort by time, and the one just set aside stays also when the clock went back.
	slices.Sort(old)
	old = slices.DeleteFunc(old, func(n string) bool { return n == aside })
	removed := 0
	for len(old)-removed > KeptCorrupt-1 {
		if err := root.Remove(old[removed]); err != nil {
			break
		}
		removed++
	}
	if removed > 0 {
		h.warn(Warning{
			Kind: CorruptRemoved, Path: path, Count: removed,
			Text: fmt.Sprintf("%d older damaged copies of %s were removed; the newest %d are kept", removed, path, KeptCorrupt),
		})
	}
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
