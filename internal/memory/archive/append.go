package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
)

// Append adds lines to a namespace, in their order, and returns when they are written. durable waits until they are on the disk;
// other lines survive the end of the process, and a power cut once [Archive.Close] or a durable Append has followed.
//
// Processes do not wait for each other: a segment that another one is writing to is passed over. On an error none of
// the lines is there, or, when they fill more than one segment, the first of them.
func (a *Archive) Append(ctx context.Context, namespace string, durable bool, lines ...Line) error {
	for _, l := range lines {
		if len(l.Body) < 2 || l.Body[0] != '{' || len(l.Body)+len(l.Shared) > MaxLine-256 {
			return fmt.Errorf("an entry of %d bytes is no JSON object of at most %d", len(l.Body)+len(l.Shared), MaxLine-256)
		}
	}
	f, err := a.folderOf(namespace)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := a.makeFolder(f); err != nil {
		return err
	}
	for len(lines) > 0 {
		if err := contextCause(ctx); err != nil {
			return err
		}
		w, err := a.openWriter(f)
		if err != nil {
			return err
		}
		n, err := w.appendLines(lines)
		_ = filelock.Release(w.file)
		if err != nil {
			return a.wrapError("write", err)
		}
		lines = lines[n:]
	}
	if durable {
		return a.syncVolatile(f)
	}
	return nil
}

// syncVolatile syncs the segments that this process has written to since their last sync. A segment that another process has rewritten is
// skipped: that one has synced it. The caller holds f.mu.
func (a *Archive) syncVolatile(f *folder) error {
	for name := range f.volatile {
		file, err := a.openSegment(f.dir, name, os.O_RDWR)
		if errors.Is(err, fs.ErrNotExist) { // rewritten by somebody, who has synced it
			delete(f.volatile, name)
			continue
		}
		if err == nil {
			err = errors.Join(file.Sync(), file.Close())
		}
		if err != nil {
			return a.wrapError("write", err)
		}
		delete(f.volatile, name)
	}
	return nil
}

// writer is a locked segment that has room.
type writer struct {
	a    *Archive
	f    *folder
	file *os.File
	name string
	end  int64
}

// openWriter locks a segment with room for more: the one that this process wrote to last, else another free one, else a new one. The caller
// holds f.mu and releases the writer's file.
func (a *Archive) openWriter(f *folder) (*writer, error) {
	segments, err := a.currentSegments(f.dir)
	if err != nil {
		return nil, err
	}
	most := int64(a.o.SegmentBytes)
	var names []string
	for i := len(segments) - 1; i >= 0 && len(names) < 16; i-- {
		switch s := segments[i]; {
		case s.Size >= most:
		case s.Name == f.current:
			names = append([]string{s.Name}, names...)
		default:
			names = append(names, s.Name)
		}
	}
	for _, name := range names {
		w, err := a.lockSegment(f, name)
		if err != nil {
			return nil, err
		}
		if w == nil {
			continue
		}
		if w.end < most {
			return w, nil
		}
		_ = filelock.Release(w.file)
	}
	return a.newSegment(f)
}

// lockSegment locks a segment for writing. It returns nil without an error when another process holds the lock, or the file is gone,
// replaced, damaged at its head or of a newer version.
func (a *Archive) lockSegment(f *folder, name string) (*writer, error) {
	file, err := a.openSegment(f.dir, name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, a.wrapError("write", err)
	}
	ok, err := filelock.Try(file, filelock.Readable)
	if err == nil && ok {
		ok = a.isCurrent(f.dir, name, file)
	}
	if err == nil && ok {
		w := &writer{a: a, f: f, file: file, name: name}
		if w.end, err = a.cutTorn(file); err == nil {
			if name != f.current {
				if h, err := a.readHead(f.dir, name); err != nil || h.Version > version {
					ok = false // a damaged head, or what this version must not write to
				}
			}
			if ok {
				w.markWritten()
				return w, nil
			}
		}
	}
	_ = filelock.Release(file)
	if err != nil {
		return nil, a.wrapError("write", err)
	}
	return nil, nil
}

// isCurrent reports whether the locked file still has its name and no newer generation has taken its place.
func (a *Archive) isCurrent(dir, name string, file *os.File) bool {
	there, err := a.root.Lstat(path.Join(dir, name))
	if !filelock.Named(file, there, err) {
		return false
	}
	base, generation, _ := splitName(name)
	_, err = a.root.Lstat(path.Join(dir, segmentName(base, generation+1)))
	return errors.Is(err, fs.ErrNotExist)
}

// cutTorn truncates a segment after its last line feed, because the rest is the unfinished line of a process that died. It returns the
// size, new or unchanged, and counts what it has cut.
func (a *Archive) cutTorn(file *os.File) (int64, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	end := size
	buf := make([]byte, 4<<10)
	for end > 0 {
		n := min(end, int64(len(buf)))
		if _, err := file.ReadAt(buf[:n], end-n); err != nil {
			return 0, err
		}
		at := n - 1
		for at >= 0 && buf[at] != '\n' {
			at--
		}
		if at >= 0 {
			end = end - n + at + 1
			break
		}
		end -= n
	}
	if end == size {
		return end, nil
	}
	a.torn.Add(1)
	return end, file.Truncate(end)
}

// markWritten makes the segment the one that the next write tries first, and marks it as not synced.
func (w *writer) markWritten() {
	if w.f.current != w.name {
		w.f.current = w.name
		clear(w.f.defined)
	}
	w.f.volatile[w.name] = true
}

// newSegment makes a segment and locks it. It tries up to 64 names: another process that looks for a place to write may lock the new file
// first, for as long as it takes to see that nothing is in it yet.
func (a *Archive) newSegment(f *folder) (*writer, error) {
	first, err := headLine(f.namespace)
	if err != nil {
		return nil, err
	}
	for range 64 {
		w, err := a.createSegment(f, segmentName(newBase(), 0), first)
		if w != nil || err != nil {
			return w, err
		}
	}
	return nil, a.wrapError("write", errors.New("each new segment was locked by somebody else"))
}

// createSegment makes a segment under one name and locks it. If another process locked it first, it is removed and nil, without an error.
func (a *Archive) createSegment(f *folder, name string, first []byte) (*writer, error) {
	file, err := a.openSegment(f.dir, name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, a.wrapError("write", err)
	}
	locked, err := filelock.Try(file, filelock.Readable)
	if err == nil && locked {
		_, err = file.WriteAt(first, 0)
	}
	if err != nil || !locked {
		_ = a.root.Remove(path.Join(f.dir, name))
		_ = filelock.Release(file)
		if err != nil {
			err = a.wrapError("write", err)
		}
		return nil, err
	}
	if d, err := a.root.OpenRoot(f.dir); err == nil {
		atomicfile.SyncDir(d)
		_ = d.Close()
	}
	w := &writer{a: a, f: f, file: file, name: name, end: int64(len(first))}
	w.markWritten()
	return w, nil
}

// batchBytes bounds the buffer of [writer.appendLines]: as soon as it is that full it is written out.
const batchBytes = 256 << 10

// appendLines writes as many of the lines as the segment has room for, at least one, and returns how many. On an error the file is as it was.
func (w *writer) appendLines(lines []Line) (int, error) {
	start, n := w.end, 0
	most := int64(w.a.o.SegmentBytes)
	var buf []byte
	defined := map[ref]int{}
	for n < len(lines) && (n == 0 || w.end+int64(len(buf)) < most) {
		l := lines[n]
		define := false
		if l.Shared != nil {
			r := refOf(l.Shared)
			// Written out twice, a wrong byte in one of the two costs no other line what they share.
			if define = w.f.defined[r]+defined[r] < 2; define {
				defined[r]++
			}
		}
		buf = appendLine(buf, l, define)
		n++
		if len(buf) >= batchBytes {
			if err := w.write(&buf); err != nil {
				return 0, w.undo(start, err)
			}
		}
	}
	if err := w.write(&buf); err != nil {
		return 0, w.undo(start, err)
	}
	for r, times := range defined {
		w.f.defined[r] += times
	}
	return n, nil
}

// write appends what buf holds to the segment, and empties buf whether that failed or not.
func (w *writer) write(buf *[]byte) error {
	n, err := w.file.WriteAt(*buf, w.end)
	w.end += int64(n)
	*buf = (*buf)[:0]
	return err
}

// undo truncates the segment to start, where it ended before, and returns err. If that fails, the next writer cuts the line off.
func (w *writer) undo(start int64, err error) error {
	return errors.Join(err, w.file.Truncate(start))
}
