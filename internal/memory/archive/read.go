package archive

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/store"
)

// Position is the place of a line on disk.
type Position struct {
	Segment string
	Offset  int64
	Size    int // with its frame and line feed
}

// Cursor is a reading position in a namespace: the end of the last whole line in each segment. The zero value is the beginning.
type Cursor struct {
	at map[string]int64
}

// ReadReport says what [Archive.Read] found besides the lines that it handed out.
type ReadReport struct {
	// Gone names segments that the cursor knew and that no longer exist: forget all that was read from them. The lines that were
	// kept come again from other segments.
	Gone []string
	// Damaged counts invalid lines, Unshared entries whose shared text is lost, Bytes the bytes that were read.
	Damaged, Unshared int
	Bytes             int64
}

// Read calls each for every line behind the cursor, segment by segment, and moves the cursor. The arguments of each are valid until it
// returns. An error of each ends the pass; the cursor then stands before the line that it was about. Lines that others append or rewrite
// meanwhile come with the next Read.
func (a *Archive) Read(namespace string, c *Cursor, each func(Position, Line) error) (ReadReport, error) {
	var seen ReadReport
	f, err := a.folderOf(namespace)
	if err != nil {
		return seen, err
	}
	if c.at == nil {
		c.at = map[string]int64{}
	}
	for range 8 { // each round somebody else has rewritten a segment in between
		segments, err := a.currentSegments(f.dir)
		if err != nil {
			return seen, err
		}
		there := make(map[string]bool, len(segments))
		for _, s := range segments {
			there[s.Name] = true
		}
		for name := range c.at {
			if !there[name] {
				seen.Gone = append(seen.Gone, name)
				delete(c.at, name)
			}
		}
		changed := false
		for _, s := range segments {
			if s.Size <= c.at[s.Name] {
				continue
			}
			again, err := a.readSegment(f, s.Name, c, &seen, each)
			if err != nil {
				return seen, err
			}
			changed = changed || again
		}
		if !changed {
			break
		}
	}
	return seen, nil
}

// readSegment reads a segment from the cursor on. changed reports that the segment was replaced or removed meanwhile.
func (a *Archive) readSegment(f *folder, name string, c *Cursor, seen *ReadReport, each func(Position, Line) error) (changed bool, err error) {
	file, err := a.openSegment(f.dir, name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, a.wrapError("read", err)
	}
	defer file.Close()
	start := c.at[name]
	r := lineReader{in: bufio.NewReaderSize(io.NewSectionReader(file, start, max(a.maxReadable()-start, 0)), 64<<10), at: start, shared: map[ref][]byte{}}
	for {
		place, l, err := r.nextLine()
		place.Segment = name
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, ErrNewer) {
			return false, a.wrapError("read", &fs.PathError{Op: "read", Path: path.Join(f.dir, name), Err: err})
		}
		if err != nil && r.err != nil {
			return false, a.wrapError("read", err)
		}
		if err != nil {
			seen.Damaged++
			c.at[name] = r.at
			continue
		}
		if l.hasRef && l.Shared == nil {
			if l.Shared = a.findShared(file, start, l.ref); l.Shared == nil {
				seen.Unshared++
			} else {
				r.shared[l.ref] = l.Shared
			}
		}
		if l.Body != nil {
			if err := each(place, l.Line); err != nil {
				return false, err
			}
		}
		c.at[name] = r.at
	}
	seen.Bytes += r.at - start
	there, err := a.root.Lstat(path.Join(f.dir, name))
	return !filelock.Named(file, there, err), nil
}

// findShared looks through the first end bytes of a segment for the shared text with a digest, which is written out in one or two lines only. It
// returns nil if it is not there.
func (a *Archive) findShared(file *os.File, end int64, wanted ref) []byte {
	r := lineReader{in: bufio.NewReaderSize(io.NewSectionReader(file, 0, end), 64<<10), shared: map[ref][]byte{}}
	for {
		_, _, err := r.nextLine()
		if found := r.shared[wanted]; found != nil {
			return found
		}
		if errors.Is(err, io.EOF) || r.err != nil {
			return nil
		}
	}
}

// lineReader reads the lines of a segment.
type lineReader struct {
	in     *bufio.Reader
	at     int64 // the end of the last whole line
	line   []byte
	rest   []byte // of line, when it holds another one
	shared map[ref][]byte
	err    error // of reading the file; nothing can be read after it
}

// nextLine returns the next line, valid until the next call; Body is nil for a head. It returns io.EOF after the last whole line. If r.err is
// set, reading has failed; any other error is about this line alone, and the next call goes on after it.
func (r *lineReader) nextLine() (Position, parsed, error) {
	line := r.rest
	size := int64(len(line)) + 1
	if r.rest = nil; line == nil {
		var whole bool
		var err error
		if size, whole, err = store.ReadLine(r.in, &r.line, MaxLine); err != nil {
			r.err = err
			return Position{}, parsed{}, err
		}
		if !whole {
			return Position{}, parsed{}, io.EOF
		}
		line = r.line
	}
	place := Position{Offset: r.at, Size: int(min(size, 2*MaxLine))}
	if size > int64(len(line))+1 {
		r.at += size
		return place, parsed{}, store.ErrLong
	}
	if n, ok := store.Length(line); ok && n < len(line)-1 {
		// The line feed behind this one is damaged, if its checksum is right: what follows is the next line.
		if _, err := store.Text(line[:n]); err == nil {
			line, r.rest = line[:n], line[n+1:]
			place.Size = n + 1
		}
	}
	r.at += int64(place.Size)
	text, err := store.Text(line)
	if err != nil {
		return place, parsed{}, err
	}
	p, err := parseText(text)
	if err != nil {
		return place, parsed{}, err
	}
	if place.Offset == 0 {
		if h, ok := parseHead(p.Body); ok {
			if h.Version > version {
				r.err = ErrNewer
				return place, parsed{}, ErrNewer
			}
			return place, parsed{}, nil
		}
	}
	if p.hasRef {
		if p.Shared != nil && r.shared[p.ref] == nil {
			r.shared[p.ref] = append([]byte(nil), p.Shared...)
		}
		p.Shared = r.shared[p.ref]
	}
	return place, p, nil
}

// maxOpen is the number of segments that a [Fetcher] keeps open. A full namespace has about 16.
const maxOpen = 32

// A Fetcher reads single lines of a namespace again, such as those that a search has found. It keeps the segments that it has opened until
// Close. One goroutine at a time may use it.
type Fetcher struct {
	a    *Archive
	dir  string
	open map[string]*os.File // by segment
}

// Fetcher returns a [Fetcher] for a namespace. It opens nothing yet.
func (a *Archive) Fetcher(namespace string) (*Fetcher, error) {
	f, err := a.folderOf(namespace)
	if err != nil {
		return nil, err
	}
	return &Fetcher{a: a, dir: f.dir, open: map[string]*os.File{}}, nil
}

// Close closes the open segments. The Fetcher may be used again.
func (f *Fetcher) Close() {
	for name, file := range f.open {
		_ = file.Close()
		delete(f.open, name)
	}
}

// Fetch reads one line again. ok is false when the line is no longer there, or damaged. Shared is nil unless this very line has it.
func (f *Fetcher) Fetch(at Position) (l Line, ok bool, err error) {
	if at.Size < store.Frame+1 || at.Size > MaxLine {
		return Line{}, false, nil
	}
	file := f.open[at.Segment]
	if file == nil {
		if file, err = f.a.openSegment(f.dir, at.Segment, os.O_RDONLY); errors.Is(err, fs.ErrNotExist) {
			return Line{}, false, nil
		}
		if err != nil {
			return Line{}, false, f.a.wrapError("read", err)
		}
		if len(f.open) >= maxOpen {
			f.Close()
		}
		f.open[at.Segment] = file
	}
	line := make([]byte, at.Size)
	if _, err := file.ReadAt(line, at.Offset); err != nil {
		if errors.Is(err, io.EOF) {
			return Line{}, false, nil
		}
		return Line{}, false, f.a.wrapError("read", err)
	}
	text, err := store.Text(line[:len(line)-1])
	if err != nil {
		return Line{}, false, nil
	}
	p, err := parseText(text)
	return p.Line, err == nil, nil
}

// Lines counts the lines of a namespace, heads and damaged ones included.
func (a *Archive) Lines(namespace string) (int64, error) {
	f, err := a.folderOf(namespace)
	if err != nil {
		return 0, err
	}
	segments, err := a.currentSegments(f.dir)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	buf := make([]byte, 64<<10)
	for _, s := range segments {
		n, err := a.countLineFeeds(f.dir, s.Name, buf)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, a.wrapError("read", err)
		}
		total += n
	}
	return total, nil
}

// countLineFeeds counts the line feeds of a segment, in its first maxReadable bytes. It reads into buf, which only saves allocating one.
func (a *Archive) countLineFeeds(dir, name string, buf []byte) (total int64, err error) {
	file, err := a.openSegment(dir, name, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	in := io.LimitReader(file, a.maxReadable())
	for {
		n, err := in.Read(buf)
		total += int64(bytes.Count(buf[:n], []byte("\n")))
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
