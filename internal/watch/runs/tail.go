package runs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
)

const (
	// maxRead bounds what is read of one file: twice a writer's own bound. A larger file is cut once its writer is gone.
	maxRead = 2 * MaxFile
	// maxPart bounds a line that has no end yet.
	maxPart = 2 * reservedEnd
	// starting is the time for which a file without a header is taken for one that is just being made.
	starting = 10 * time.Second
)

// tail reads the file of one run while it grows.
type tail struct {
	file *os.File
	run  *Run
	lines
	read int64
}

// openTail opens the file of a run. The error wraps [statefile.ErrNotRegular] for anything but a regular file, and is errForeign for
// another user's.
func openTail(root *os.Root, day, id string) (*tail, error) {
	f, err := statefile.OpenIn(root, day+"/"+id+fileEnd, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !statefile.IsOwn(info) {
		_ = f.Close()
		if err == nil {
			err = errForeign
		}
		return nil, err
	}
	t := &tail{file: f, run: newRun()}
	t.run.ID, t.run.Day = id, day
	return t, nil
}

var errForeign = errors.New("the file is another user's")

// close closes the file.
func (t *tail) close() { _ = t.file.Close() }

// readBuffers are shared buffers: who reads a hundred runs each second must not need one for each.
var readBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// poll reads the lines that have come since the last call, at most maxRead bytes in all, and adds them to t.run; more reports whether there
// were any.
func (t *tail) poll() (more bool, err error) {
	buf := readBuffers.Get().(*[64 << 10]byte)
	defer readBuffers.Put(buf)
	for t.read < maxRead {
		n, err := t.file.ReadAt(buf[:], t.read)
		t.read += int64(n)
		t.split(buf[:n], t.addLine)
		more = more || n > 0
		if errors.Is(err, io.EOF) || n == 0 && err == nil {
			break
		}
		if err != nil {
			return more, err
		}
	}
	if more {
		t.run.Bytes = t.read
		t.run.recompute()
	}
	return more, nil
}

// addLine adds a line to t.run, or counts it as damaged if err is not nil.
func (t *tail) addLine(l line, err error) {
	if err != nil {
		t.run.Damaged++
		return
	}
	t.run.addLine(l)
}

// lines splits a file that is read in pieces into lines.
type lines struct {
	part []byte // the beginning of a line
	skip bool   // that line is too long
}

// split calls take for each line that is complete with text, with an error for one that cannot be read.
func (s *lines) split(text []byte, take func(line, error)) {
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			if s.skip = s.skip || len(s.part)+len(text) > maxPart; s.skip {
				s.part = nil
			} else {
				s.part = append(s.part, text...)
			}
			return
		}
		whole := text[:i]
		text = text[i+1:]
		if len(s.part) > 0 {
			s.part = append(s.part, whole...)
			whole = s.part
		}
		switch {
		case s.skip || len(whole) > maxPart:
			take(line{}, errNoLine)
		case len(bytes.TrimSpace(whole)) > 0:
			take(parse(whole))
		}
		s.part, s.skip = s.part[:0], false
	}
}

// isUnlocked reports whether no writer holds the file any more.
func (t *tail) isUnlocked() bool {
	ok, err := filelock.Try(t.file, filelock.Shared|filelock.Readable)
	if err != nil || !ok {
		return false
	}
	filelock.Unlock(t.file)
	return true
}

// isLocked reports whether a writer holds a file. It returns false for a file that cannot be opened.
func isLocked(root *os.Root, name string) bool {
	f, err := statefile.OpenIn(root, name, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	ok, err := filelock.Try(f, filelock.Shared|filelock.Readable)
	if ok {
		filelock.Unlock(f)
	}
	return err == nil && !ok
}

// Adopt writes the ends of runs whose writer was killed, and missing lines of the index. It is called by those who show the store:
// `plimsoll runs`, `top`, `gc`, the dashboard.
func Adopt(stateDir string, now time.Time) error {
	root, err := statefile.OpenRoot(storeDir(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return adoptAll(root, now)
}

// adoptAll ends all runs that the index does not have and whose writer is gone. It goes on after an error.
func adoptAll(root *os.Root, now time.Time) error {
	list, _, _, err := openIndex(root)
	if err != nil {
		return err
	}
	listed := make(map[string]bool, len(list))
	for i := range list {
		listed[list[i].ID] = true
	}
	days, err := dayFolders(root)
	if err != nil {
		return err
	}
	var failed error
	for _, day := range days {
		names, err := namesIn(root, day)
		failed = errors.Join(failed, err)
		for _, name := range names {
			if id, ok := runID(name); ok && !listed[id] {
				failed = errors.Join(failed, adopt(root, day, id, now))
			}
		}
	}
	return failed
}

// adopt ends one run, if its writer is gone, and adds its line to the index. A file that has no header after a while is removed.
func adopt(root *os.Root, day, id string, now time.Time) error {
	t, err := openTail(root, day, id)
	if err != nil {
		return nil //nolint:nilerr // a link, a pipe, another's: none of the store's runs
	}
	defer t.close()
	if !t.isUnlocked() { // most are somebody's: nothing is read of them
		return nil
	}
	if _, err := t.poll(); err != nil {
		return err
	}
	if t.run.reporter == nil {
		info, err := t.file.Stat()
		if err != nil || now.Sub(info.ModTime()) < starting {
			return nil //nolint:nilerr // it has just gone
		}
		return root.Remove(day + "/" + id + fileEnd) // killed before its first line: nothing is known of it
	}
	if t.read >= maxRead {
		return cutOversized(root, day, id, now)
	}
	if t.run.ended { // killed between its end and the index
		return addOnce(root, t.run.Entry)
	}
	f, err := statefile.OpenIn(root, day+"/"+id+fileEnd, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if ok, err := filelock.Try(f, filelock.Exclusive|filelock.Readable); err != nil || !ok {
		return err // somebody else does it
	}
	defer filelock.Unlock(f)
	if more, err := t.poll(); err != nil || more && t.run.ended {
		return err // somebody else has done it
	}
	at := t.run.Seen
	if info, err := t.file.Stat(); err == nil && info.ModTime().After(at) {
		at = info.ModTime().UTC()
	}
	report := t.run.reporter.Report()
	text := encoder{}.encodeLine("end", End{Time: at, Died: true, Report: report})
	if len(t.part) > 0 || t.skip {
		text = append([]byte{'\n'}, text...)
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	if _, err := t.poll(); err != nil {
		return err
	}
	return addOnce(root, t.run.Entry)
}

// cutOversized cuts a file of more than maxRead bytes to MaxFile, and ends the run, because an end beyond maxRead would not be read. It does nothing
// while a writer holds the file.
func cutOversized(root *os.Root, day, id string, now time.Time) error {
	f, err := statefile.OpenIn(root, day+"/"+id+fileEnd, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	ok, err := filelock.Try(f, filelock.Exclusive|filelock.Readable)
	if err != nil || !ok {
		return errors.Join(err, f.Close()) // somebody else does it
	}
	err = f.Truncate(MaxFile)
	filelock.Unlock(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return adopt(root, day, id, now)
}

// addOnce adds a line to the index unless there is one already.
func addOnce(root *os.Root, e Entry) error {
	lock, err := lockIndex(root)
	if err != nil {
		return err
	}
	defer func() { _ = filelock.Release(lock) }()
	list, _, _, err := openIndex(root)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].ID == e.ID {
			return nil
		}
	}
	_, err = appendLocked(root, e)
	return err
}

// Line is one line of a run's file, other than a sample. One of its fields is not nil.
type Line struct {
	Header *Header
	Record *journal.Record
	End    *End
}

// Follower reads the lines of one run's file in order, each once, also while the run still writes. It keeps no file open.
type Follower struct {
	store *Store
	name  string
	lines
	read int64
}

// Follow returns a Follower that begins at the first line of a run.
func (s *Store) Follow(e *Entry) *Follower {
	return &Follower{store: s, name: e.Day + "/" + e.ID + fileEnd}
}

// Next calls take for the lines in the next maxBytes of the file; rest is true when there are more. Damaged lines and samples are left out; of shares
// the [Line] is empty. The error wraps [fs.ErrNotExist] once the file has been removed.
func (f *Follower) Next(maxBytes int64, take func(Line)) (rest bool, err error) {
	if f.store.root == nil {
		return false, fs.ErrNotExist
	}
	file, err := statefile.OpenIn(f.store.root, f.name, os.O_RDONLY, 0)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if !statefile.IsOwn(info) {
		return false, errForeign
	}
	buf := make([]byte, 64<<10)
	for until := f.read + maxBytes; f.read < min(until, maxRead); {
		n, err := file.ReadAt(buf, f.read)
		f.read += int64(n)
		f.split(buf[:n], func(l line, err error) {
			if err == nil && l.sample == nil {
				take(Line{Header: l.header, Record: l.record, End: l.end})
			}
		})
		if errors.Is(err, io.EOF) || n == 0 && err == nil {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return f.read < min(info.Size(), maxRead), nil
}

// Parent returns the ID of the run around a run, "" when there is none or the run is unknown.
func (s *Store) Parent(id string) string {
	if e := s.index[id]; e != nil {
		return e.Parent
	}
	if t := s.live[id]; t != nil {
		return t.run.Header.Parent
	}
	return ""
}
