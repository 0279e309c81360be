package archive

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
)

// RewriteReport counts what a rewrite changed, or would change.
type RewriteReport struct {
	Segments      int   // that were written anew or removed
	Kept, Dropped int   // lines in them
	Damaged       int   // invalid lines in them, which are dropped
	Bytes         int64 // that became free
}

// Edit returns the new body of a line, or nil to drop it, and whether it differs from the old one. It is called twice for each line
// and must return the same.
type Edit func(l Line) (body []byte, changed bool)

// Rewrite passes all lines of a namespace through edit and writes those segments anew in which edit changed something or, with clean, that
// have damaged or unfinished lines. Nothing of the old segments is left on the disk. It waits for other writers until ctx ends.
//
// A process that dies on the way leaves each segment as it was or as it should be; [Archive.Sweep] removes the rest.
func (a *Archive) Rewrite(ctx context.Context, namespace string, clean bool, edit Edit) (RewriteReport, error) {
	var out RewriteReport
	err := a.eachSegment(ctx, namespace, func(f *folder, name string) error {
		return a.rewriteSegment(ctx, f, name, clean, edit, &out)
	})
	return out, err
}

// eachSegment calls do for each segment of a namespace, until ctx ends or do fails.
func (a *Archive) eachSegment(ctx context.Context, namespace string, do func(f *folder, name string) error) error {
	f, err := a.folderOf(namespace)
	if err != nil {
		return err
	}
	segments, err := a.currentSegments(f.dir)
	if err != nil {
		return err
	}
	for _, s := range segments {
		if err := contextCause(ctx); err != nil {
			return err
		}
		if err := do(f, s.Name); err != nil {
			return err
		}
	}
	return nil
}

// rewriteSegment rewrites one segment if edit changes a line of it or, with clean, if it has damage, and adds the outcome to out. It waits
// for the segment's lock. A segment that was removed or replaced meanwhile is left alone.
func (a *Archive) rewriteSegment(ctx context.Context, f *folder, name string, clean bool, edit Edit, out *RewriteReport) error {
	file, err := a.openSegment(f.dir, name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return a.wrapError("rewrite", err)
	}
	if err := filelock.Lock(ctx, file, filelock.Readable); err != nil {
		return err
	}
	defer func() { _ = filelock.Release(file) }()
	if !a.isCurrent(f.dir, name, file) {
		return nil
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return a.wrapError("rewrite", err)
	}
	c, err := countEdits(a.newLineReader(file), size, clean, edit)
	if err != nil {
		return a.wrapError("rewrite", err)
	}
	if !c.changed {
		return nil
	}
	base, generation, _ := splitName(name)
	var left int64
	if c.kept > 0 {
		if left, err = a.writeGeneration(f, a.newLineReader(file), segmentName(base, generation+1), edit); err != nil {
			return a.wrapError("rewrite", err)
		}
	}
	// The new generation counts from here on. The old one is emptied before it loses its name, which Windows may refuse while somebody
	// reads it: no byte is left either way.
	if err := file.Truncate(0); err != nil {
		return a.wrapError("rewrite", err)
	}
	if err := file.Sync(); err != nil {
		return a.wrapError("rewrite", err)
	}
	_ = a.root.Remove(path.Join(f.dir, name))
	out.add(c, size-left)
	return nil
}

// editCounts holds the numbers of lines that a rewrite of one segment keeps and drops; changed says that it has to be rewritten.
type editCounts struct {
	kept, dropped, damaged int
	changed                bool
}

// add counts one segment that was rewritten.
func (r *RewriteReport) add(c editCounts, freed int64) {
	r.Segments++
	r.Kept += c.kept
	r.Dropped += c.dropped
	r.Damaged += c.damaged
	r.Bytes += freed
}

// countEdits calls edit for each line of a segment and counts the outcome, without writing anything. size is the size of the segment: with clean, an
// unfinished line at its end counts as a change.
func countEdits(r *lineReader, size int64, clean bool, edit Edit) (c editCounts, err error) {
	for {
		_, l, err := r.nextLine()
		switch {
		case errors.Is(err, io.EOF):
			c.changed = c.changed || clean && r.at < size
			return c, nil
		case r.err != nil:
			return c, r.err
		case err != nil:
			c.damaged++
			c.changed = c.changed || clean
		case l.Body != nil:
			body, other := edit(l.Line)
			c.changed = c.changed || other
			if body == nil {
				c.dropped++
			} else {
				c.kept++
			}
		}
	}
}

// WouldRewrite returns what [Archive.Rewrite] would do now. It changes nothing and waits for nobody.
func (a *Archive) WouldRewrite(ctx context.Context, namespace string, clean bool, edit Edit) (RewriteReport, error) {
	var out RewriteReport
	err := a.eachSegment(ctx, namespace, func(f *folder, name string) error {
		if err := a.wouldRewriteSegment(f, name, clean, edit, &out); err != nil {
			return a.wrapError("read", err)
		}
		return nil
	})
	return out, err
}

// wouldRewriteSegment adds to out what rewriteSegment would do. It writes nothing and takes no lock.
func (a *Archive) wouldRewriteSegment(f *folder, name string, clean bool, edit Edit, out *RewriteReport) error {
	file, err := a.openSegment(f.dir, name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	c, err := countEdits(a.newLineReader(file), size, clean, edit)
	if err != nil || !c.changed {
		return err
	}
	var left int64
	if c.kept > 0 {
		if left, err = writeEdited(io.Discard, f.namespace, a.newLineReader(file), edit); err != nil {
			return err
		}
	}
	out.add(c, size-left)
	return nil
}

// newLineReader returns a reader of a segment from its beginning, whatever the file's own position.
func (a *Archive) newLineReader(file *os.File) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(io.NewSectionReader(file, 0, a.maxReadable()), 64<<10), shared: map[ref][]byte{}}
}

// writeGeneration writes the lines of r that edit keeps into a new segment with the given name, and returns its size.
func (a *Archive) writeGeneration(f *folder, r *lineReader, name string, edit Edit) (size int64, err error) {
	dir, err := a.root.OpenRoot(f.dir)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	err = atomicfile.Replacement{Root: dir, Name: name, Perm: 0o600, Kept: atomicfile.Durable}.Stream(func(file io.Writer) (err error) {
		size, err = writeEdited(file, f.namespace, r, edit)
		return err
	})
	return size, err
}

// writeEdited writes a head and the lines of r as edit returns them, and returns the number of bytes. It leaves out damaged lines and those that edit
// drops.
func writeEdited(to io.Writer, namespace string, r *lineReader, edit Edit) (size int64, err error) {
	first, err := headLine(namespace)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(to, 64<<10)
	n, err := w.Write(first)
	size = int64(n)
	defined := map[ref]int{}
	var buf []byte
	for err == nil {
		_, l, bad := r.nextLine()
		if errors.Is(bad, io.EOF) {
			break
		}
		if r.err != nil {
			return size, r.err
		}
		if bad != nil || l.Body == nil {
			continue
		}
		body, _ := edit(l.Line)
		if body == nil {
			continue
		}
		define := false
		if l.Shared != nil {
			define = defined[l.ref] < 2
			defined[l.ref]++
		}
		l.Line.Body = body
		buf = appendLine(buf[:0], l.Line, define)
		n, err = w.Write(buf)
		size += int64(n)
	}
	if err != nil {
		return size, err
	}
	return size, w.Flush()
}

// Sweep removes what dead processes have left in a namespace: unfinished new segments, and old ones that a newer generation has replaced.
func (a *Archive) Sweep(namespace string) error {
	f, err := a.folderOf(namespace)
	if err != nil {
		return err
	}
	_, left, err := a.listSegments(f.dir)
	if err != nil {
		return err
	}
	for _, name := range left {
		file, err := a.openSegment(f.dir, name, os.O_RDWR)
		if err != nil {
			continue
		}
		// The lock of an old generation is held by whoever rewrites it; an unfinished new one belongs to the lock of its old one.
		owner := file
		if _, _, ok := splitName(name); !ok {
			if owner = a.openSource(f.dir, name); owner == nil {
				owner = file
			}
		}
		if ok, err := filelock.Try(owner, filelock.Readable); err == nil && ok {
			if err := file.Truncate(0); err == nil {
				_ = a.root.Remove(path.Join(f.dir, name))
			}
		}
		if owner != file {
			_ = filelock.Release(owner)
		}
		_ = filelock.Release(file)
	}
	return nil
}

// openSource opens the segment that a rewrite was reading when it wrote the file with this temporary name; nil when there is none.
func (a *Archive) openSource(dir, temporary string) *os.File {
	name := temporary[:len(temporary)-len(path.Ext(temporary))] // BASE.N.seg of BASE.N.seg.tmp-RANDOM
	base, generation, ok := splitName(name)
	if !ok || generation == 0 {
		return nil
	}
	file, err := a.openSegment(dir, segmentName(base, generation-1), os.O_RDWR)
	if err != nil {
		return nil
	}
	return file
}
