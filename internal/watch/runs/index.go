package runs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

const (
	// Dir is the store's folder in the state directory:
	//
	//	runs/2026-11-24/ID.jsonl   one run, by the day (UTC) on which it began: a header, records of the journal, samples, the end
	//	runs/index.jsonl           a line for each run that ended, was refused, or was lost
	//	runs/index.lock            is held while the index is changed
	Dir       = "runs"
	indexName = "index.jsonl"
	indexLock = "index.lock"
	// maxIndexLine bounds a line of the index: its texts are bounded, and so are names.
	maxIndexLine = 16 << 10
	// maxIndex bounds what is read of the index in bytes: of [DefaultKeep] runs it has a tenth of this.
	maxIndex = 128 << 20
)

// sums are the number of runs and the bytes of their files, up to and including a line of the index. Each line has them, so that the last
// one says whether there is too much, and nobody has to add up.
type sums struct {
	Runs  int   `json:"sum_runs"`
	Bytes int64 `json:"sum_bytes"`
}

// add returns the sums with one more run.
func (s sums) add(e *Entry) sums { return sums{s.Runs + 1, s.Bytes + e.Bytes} }

// indexLine is a line of the index.
type indexLine struct {
	Entry
	sums
}

// MarshalJSON writes the fields of the entry and of the sums as one object.
func (l indexLine) MarshalJSON() ([]byte, error) {
	entry, err := json.Marshal(l.Entry)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(entry[:len(entry)-1], `,"sum_runs":%d,"sum_bytes":%d}`, l.Runs, l.sums.Bytes), nil
}

// removedLine is a line at the beginning of the index with the sums of one tool's runs that were removed.
type removedLine struct {
	Tool    string `json:"removed_tool"`
	Removed Sums   `json:"removed"`
}

var removedStart = []byte(`{"removed_tool":`)

// addRemovedLine adds the sums in a line about removed runs; ok is false for any other line.
func (t Totals) addRemovedLine(text []byte) (ok bool) {
	var l removedLine
	if !bytes.HasPrefix(text, removedStart) || json.Unmarshal(text, &l) != nil {
		return false
	}
	t.toolSums(l.Tool).add(&l.Removed)
	return true
}

// UnmarshalJSON reads a line. One without a valid ID and day is errNoLine.
func (l *indexLine) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &l.Entry); err != nil {
		return err
	}
	if !validID(l.ID) || !validDay(l.Day) {
		return errNoLine
	}
	return json.Unmarshal(text, &l.sums)
}

// validID reports whether id may be the name of a file: 1 to 64 small letters, digits and "-".
func validID(id string) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// validDay reports whether a text is a day, as the folders are named.
func validDay(day string) bool {
	_, err := time.Parse(dayForm, day)
	return err == nil
}

// indexWait bounds the wait for the index. A process that holds it needs milliseconds, unless it was stopped just then; but hundreds that
// end at once on a busy machine wait for each other. A run without its line gets it from the next viewer.
const indexWait = 5 * time.Second

// lockIndex locks the index, waiting for indexWait at most. The caller releases the file that it returns.
func lockIndex(root *os.Root) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), indexWait, errors.New("somebody keeps the index locked"))
	defer cancel()
	return filelock.Open(ctx, filepath.Join(root.Name(), indexLock))
}

// appendIndex adds a line for a run to the index, and returns the sums with it.
func appendIndex(root *os.Root, e Entry) (sums, error) {
	lock, err := lockIndex(root)
	if err != nil {
		return sums{}, err
	}
	defer func() { _ = filelock.Release(lock) }()
	return appendLocked(root, e)
}

// appendLocked adds a line for a run to the index, and returns the sums with it. A torn last line gets an end first. The caller holds the
// lock.
func appendLocked(root *os.Root, e Entry) (sums, error) {
	f, err := statefile.OpenIn(root, indexName, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return sums{}, err
	}
	defer f.Close()
	before, whole, err := lastSums(f)
	if err != nil {
		return sums{}, err
	}
	after := before.add(&e)
	text, err := json.Marshal(indexLine{e, after})
	if err != nil {
		return sums{}, err
	}
	text = append(text, '\n')
	if !whole {
		text = append([]byte{'\n'}, text...)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return sums{}, err
	}
	if _, err := f.Write(text); err != nil {
		_ = f.Truncate(size)
		return sums{}, err
	}
	return after, nil
}

// lastSums returns the sums in the last line of the index; when that is damaged it adds all lines up. complete is true when the file is empty or ends
// with a line feed.
func lastSums(f *os.File) (s sums, complete bool, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return sums{}, true, err
	}
	tail := make([]byte, min(size, 2*maxIndexLine))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return sums{}, false, err
	}
	complete = tail[len(tail)-1] == '\n'
	if complete {
		text := tail[:len(tail)-1]
		if i := bytes.LastIndexByte(text, '\n'); i >= 0 || size == int64(len(tail)) {
			if s, ok := parseSums(text[i+1:]); ok {
				return s, true, nil
			}
		}
	}
	// The last line is damaged: all are added up.
	list, _, _, err := readIndex(io.NewSectionReader(f, 0, size))
	for i := range list {
		s = s.add(&list[i])
	}
	return s, complete, err
}

// parseSums reads the sums at the end of a line; ok is false when they are not there. Decoding the whole line would take longer than all else.
func parseSums(line []byte) (s sums, ok bool) {
	i := bytes.LastIndex(line, []byte(`,"sum_runs":`))
	if i < 0 || line[0] != '{' {
		return s, false
	}
	text := append([]byte{'{'}, line[i+1:]...)
	return s, json.Unmarshal(text, &s) == nil && s.Runs > 0 && s.Bytes >= 0
}

// readIndex reads all lines of an index. Damaged ones are counted and left out; of two lines with one ID the later counts. gone are the
// sums of runs that were removed.
func readIndex(r io.Reader) (list []Entry, gone Totals, damaged int, err error) {
	gone = Totals{}
	at := map[string]int{}
	err = eachLine(io.LimitReader(r, maxIndex), maxIndexLine, func(text []byte) {
		var l indexLine
		switch {
		case gone.addRemovedLine(text):
		case text == nil || json.Unmarshal(text, &l) != nil:
			damaged++
		default:
			if i, twice := at[l.ID]; twice {
				list[i] = l.Entry
				return
			}
			at[l.ID] = len(list)
			list = append(list, l.Entry)
		}
	})
	return list, gone, damaged, err
}

// eachLine calls f with every complete line, without its end; with nil for one of more than maxBytes. Empty lines, and a last one without an end, are
// left out. The slice is valid during the call only.
func eachLine(r io.Reader, maxBytes int, f func([]byte)) error {
	b := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	long := false
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > maxBytes {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			if long {
				f(nil)
			} else if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 {
				f(text)
			}
			line, long = line[:0], false
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// openIndex reads the whole index of a store, see readIndex; nothing when there is none.
func openIndex(root *os.Root) (list []Entry, gone Totals, damaged int, err error) {
	f, err := statefile.OpenIn(root, indexName, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Totals{}, 0, nil
	}
	if err != nil {
		return nil, nil, 0, err
	}
	defer f.Close()
	return readIndex(f)
}

// runID returns the ID of the run whose file has this name; false for any other file.
func runID(name string) (string, bool) {
	if len(name) <= len(fileEnd) || name[len(name)-len(fileEnd):] != fileEnd {
		return "", false
	}
	id := name[:len(name)-len(fileEnd)]
	return id, validID(id)
}

// dayFolders returns the folders of days, oldest first.
func dayFolders(root *os.Root) ([]string, error) {
	names, err := namesIn(root, ".")
	names = slices.DeleteFunc(names, func(n string) bool { return !validDay(n) })
	slices.Sort(names)
	return names, err
}

// maxNames bounds the names that are read of one folder.
const maxNames = 1 << 20

// namesIn returns the names of the files in a directory, at most maxNames; nil, nil if it does not exist or is no directory.
func namesIn(root *os.Root, dir string) ([]string, error) {
	info, err := root.Lstat(dir) // a pipe would keep who opens it
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxNames)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}
