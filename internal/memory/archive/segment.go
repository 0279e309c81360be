package archive

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/limit"
)

// Segment is a file of lines.
type Segment struct {
	Name     string
	Size     int64
	Modified time.Time
}

const (
	segmentExt = ".seg"
	tempExt    = ".tmp-"
)

// newBase returns the base of a new segment's name, which is BASE.GENERATION.seg: the time when it was begun, in milliseconds, and a random
// number, both in hexadecimal, so that names sort by time. When a segment is rewritten its generation grows by one; of two files with one
// base only the one with the higher generation counts.
func newBase() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return fmt.Sprintf("%012x-%s", time.Now().UnixMilli(), hex.EncodeToString(random[:]))
}

// segmentName returns the name of a segment's file, BASE.GENERATION.seg.
func segmentName(base string, generation int) string {
	return base + "." + strconv.Itoa(generation) + segmentExt
}

// splitName returns the base and the generation in the name of a segment; ok is false for any other name.
func splitName(name string) (base string, generation int, ok bool) {
	rest, ok := strings.CutSuffix(name, segmentExt)
	if !ok {
		return "", 0, false
	}
	base, number, ok := strings.Cut(rest, ".")
	if !ok || len(base) != 12+1+8 || base[12] != '-' || strings.Trim(base, "0123456789abcdef-") != "" {
		return "", 0, false
	}
	generation, err := strconv.Atoi(number)
	return base, generation, err == nil && generation >= 0 && strconv.Itoa(generation) == number
}

// currentSegments returns the segments of a folder, each in its newest generation, the oldest segment first.
func (a *Archive) currentSegments(dir string) ([]Segment, error) {
	current, _, err := a.listSegments(dir)
	return current, err
}

// listSegments lists a folder: the current segments, the oldest first, and the names of the files that dead processes have left, which are unfinished
// or replaced segments. A folder that does not exist is empty.
func (a *Archive) listSegments(dir string) (current []Segment, stale []string, err error) {
	info, err := a.root.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err == nil && !info.IsDir() { // to open a pipe would wait for its other end
		err = &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	var folder *os.Root // looking at a file below it is one call, where from the archive's root it would be three
	var d *os.File
	if err == nil {
		folder, err = a.root.OpenRoot(dir)
	}
	if err == nil {
		defer folder.Close()
		d, err = folder.Open(".")
	}
	if err != nil {
		return nil, nil, a.wrapError("list", err)
	}
	defer d.Close()
	newest := map[string]int{}
	for {
		names, err := d.Readdirnames(256)
		for _, name := range names {
			base, generation, ok := splitName(name)
			if !ok {
				if strings.Contains(name, segmentExt+tempExt) {
					stale = append(stale, name)
				}
				continue
			}
			if other, twice := newest[base]; twice {
				older := min(other, generation)
				stale = append(stale, segmentName(base, older))
				generation = max(other, generation)
			}
			newest[base] = generation
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, a.wrapError("list", err)
		}
	}
	for base, generation := range newest {
		name := segmentName(base, generation)
		info, err := folder.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, a.wrapError("list", err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if info.Size() > a.maxReadable() {
			a.reportTooLarge(path.Join(dir, name), info.Size())
		}
		current = append(current, Segment{Name: name, Size: info.Size(), Modified: info.ModTime()})
	}
	sorting.By(current, func(a, b Segment) int { return cmp.Compare(a.Name, b.Name) })
	return current, stale, nil
}

// reportTooLarge calls Options.TooLarge for a segment that is too large to be read, once for each segment.
func (a *Archive) reportTooLarge(name string, size int64) {
	a.mu.Lock()
	told := a.large[name]
	a.large[name] = true
	a.mu.Unlock()
	if !told && a.o.TooLarge != nil {
		a.o.TooLarge(path.Join(a.o.Dir, name), limit.Bytes(size), limit.Bytes(a.maxReadable()))
	}
}

// Segments returns the current segment files of a namespace, the oldest first.
func (a *Archive) Segments(namespace string) ([]Segment, error) {
	f, err := a.folderOf(namespace)
	if err != nil {
		return nil, err
	}
	return a.currentSegments(f.dir)
}

// openSegment opens a file of a folder, with the flags of [os.OpenFile]. It follows no link out of the archive.
func (a *Archive) openSegment(dir, name string, flag int) (*os.File, error) {
	return statefile.OpenIn(a.root, path.Join(dir, name), flag, 0o600)
}

// readHead reads the first line of a segment, which names the namespace. A damaged or missing one is an error.
func (a *Archive) readHead(dir, name string) (head, error) {
	file, err := a.openSegment(dir, name, os.O_RDONLY)
	if err != nil {
		return head{}, err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 4<<10)
	var line []byte
	if _, whole, err := store.ReadLine(in, &line, 4<<10); err != nil || !whole {
		return head{}, cmp.Or(err, store.ErrFrame)
	}
	text, err := store.Text(line)
	if err != nil {
		return head{}, err
	}
	p, err := parseText(text)
	if err != nil {
		return head{}, err
	}
	h, ok := parseHead(p.Body)
	if !ok {
		return head{}, errText
	}
	return h, nil
}
