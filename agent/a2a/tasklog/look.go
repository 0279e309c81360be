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

// Summary describes a task to who looks at a store from outside.
type Summary struct {
	ID      string    `json:"id"`
	Context string    `json:"context,omitempty"`
	State   string    `json:"state"`
	Ended   bool      `json:"ended"`
	Time    time.Time `json:"time,omitzero"`
	Changed time.Time `json:"changed"`
	Bytes   int64     `json:"bytes"` // of the file
}

// Look reads the newest tasks of a store, also while another process has it open: at most most of them, the one that changed last
// first. Bodies are not read, so a damaged one does not show; what is no task is left out. A store that is not there is empty.
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
			files = newest(files, most)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	var list []Summary
	for _, info := range newest(files, most) {
		if s, err := summaryOf(root, info.Name()); err == nil {
			s.Bytes = info.Size()
			list = append(list, s)
		}
	}
	sorting.By(list, func(a, b Summary) int { return cmp.Or(b.Changed.Compare(a.Changed), strings.Compare(a.ID, b.ID)) })
	return list, nil
}

func newest(files []fs.FileInfo, most int) []fs.FileInfo {
	sorting.By(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	return files[:min(len(files), most)]
}

// summaryOf reads the second line of a file.
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
