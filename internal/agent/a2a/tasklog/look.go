package tasklog

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Summary describes a task for those who look at a store from outside.
type Summary struct {
	ID      string    `json:"id"`
	Context string    `json:"context,omitempty"`
	State   string    `json:"state"`
	Ended   bool      `json:"ended"`
	Time    time.Time `json:"time,omitzero"`
	Changed time.Time `json:"changed"`
	Bytes   int64     `json:"bytes"` // of the file
}

// Look returns the newest tasks of a store, at most most of them, the one that changed last first. It works while another process has the
// store open. Bodies are not read, so a damaged one is not noticed; invalid files are left out. A folder that does not exist is empty.
func Look(dir string, most int) ([]Summary, error) {
	root, err := statefile.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folder, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	var files []fs.FileInfo
	for {
		entries, err := folder.ReadDir(batch)
		for _, e := range entries {
			key, ok := strings.CutSuffix(e.Name(), taskSuffix)
			if info, err := e.Info(); ok && isKey(key) && err == nil && info.Mode().IsRegular() {
				files = append(files, info)
			}
		}
		if len(files) > 4*most+batch {
			files = newestFiles(files, most)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	var list []Summary
	for _, info := range newestFiles(files, most) {
		if s, err := summaryOf(root, info.Name()); err == nil {
			s.Bytes = info.Size()
			list = append(list, s)
		}
	}
	sorting.By(list, func(a, b Summary) int { return cmp.Or(b.Changed.Compare(a.Changed), strings.Compare(a.ID, b.ID)) })
	return list, nil
}

func newestFiles(files []fs.FileInfo, most int) []fs.FileInfo {
	sorting.By(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	return files[:min(len(files), most)]
}

// summaryOf returns the header of a task's file, which is its second line.
func summaryOf(root *os.Root, name string) (Summary, error) {
	f, err := statefile.OpenIn(root, name, os.O_RDONLY, 0)
	if err != nil {
		return Summary{}, err
	}
	defer f.Close()
	in := bufio.NewReader(io.LimitReader(f, fileBytes))
	if _, err := in.Discard(firstLength); err != nil {
		return Summary{}, err
	}
	line, err := in.ReadBytes('\n')
	if err != nil {
		return Summary{}, err
	}
	var h taskHeader
	if err := json.Unmarshal(line, &h); err != nil {
		return Summary{}, err
	}
	if h.ID == "" || keyOf(h.ID) != strings.TrimSuffix(name, taskSuffix) {
		return Summary{}, errDamaged
	}
	return Summary{ID: h.ID, Context: h.Context, State: h.State, Ended: h.Ended, Time: h.Time, Changed: time.Unix(0, h.Changed)}, nil
}
