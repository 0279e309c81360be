package spool

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// pollEvery is the pause before a result that another process writes is looked at again.
const pollEvery = 100 * time.Millisecond

// Result is a result that is open for reading. It is not evicted before Close. Its methods may be called from many goroutines.
type Result struct {
	s    *Spool
	id   id
	head head
	dir  *os.Root
	lock *os.File
	text *os.File

	mu   sync.Mutex
	w    *Writer        // the writer if it is in this process, else nil
	v    *view          // the document once the result is complete, else nil
	made map[int]*table // tables for other page sizes, by size
	bad  bool           // the entry is damaged: Close removes it
}

// view is a document that has ended, with its open tables.
type view struct {
	m      *meta
	rules  rules
	pages  *table
	large  *table
	blocks *table
}

// Read opens the result of a handle for its owner, who closes it. It counts as a use, which puts off the eviction. If the result cannot be
// read the error is always *NotFound, whether the handle is unknown or somebody else's, or the result expired, was evicted or is damaged; a
// damaged one is removed.
func (s *Spool) Read(principal, handle string) (*Result, error) {
	handle = strings.TrimSpace(handle)
	if s.unusable != nil || len(handle) != handleLength || !strings.HasPrefix(handle, handleProlog) {
		return nil, &NotFound{}
	}
	full, owner := digest("handle", handle), digest("principal", principal)
	r := &Result{s: s, id: idOf(full)}
	if err := r.openFiles(full[:], owner[:]); err != nil {
		r.closeFiles()
		return nil, &NotFound{}
	}
	s.mu.Lock()
	r.w = s.live[r.id]
	s.mu.Unlock()
	if r.w != nil && !r.w.addReader() {
		r.w = nil
	}
	if r.w == nil {
		if err := r.loadDocument(); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.closeFiles()
			s.removeDamaged(r.id)
			return nil, &NotFound{}
		}
	}
	s.recordUse(r.id)
	return r, nil
}

// openFiles opens the files of a result and takes its lock, so that it is not evicted. A wrong handle or owner, or a result that is too old,
// looks like one that does not exist. On an error the caller closes the files.
func (r *Result) openFiles(handle, owner []byte) error {
	name := r.id.String()
	dir, err := r.s.root.OpenRoot(name)
	if err != nil {
		return err
	}
	r.dir = dir
	if r.lock, err = statefile.OpenIn(dir, lockName, os.O_RDWR, 0); err != nil {
		return err
	}
	if ok, err := filelock.Try(r.lock, filelock.Shared); err != nil || !ok {
		return errors.Join(err, os.ErrNotExist)
	}
	// It may have been evicted just before the lock was taken.
	h, err := readHead(r.s.root, name)
	if err != nil {
		return err
	}
	r.head = *h
	same := func(text string, want []byte) bool {
		b, err := hex.DecodeString(text)
		return err == nil && subtle.ConstantTimeCompare(b, want) == 1
	}
	if known, his := same(h.Handle, handle), same(h.Principal, owner); !known || !his || r.s.expired(h.Created) {
		return os.ErrNotExist
	}
	r.text, err = statefile.OpenIn(dir, textFile, os.O_RDONLY, 0)
	return err
}

// addReader counts one more reader of the writer's files, who calls releaseFiles later. It returns false and counts none if the result has ended.
func (w *Writer) addReader() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.meta != nil || w.gone {
		return false
	}
	w.refs++
	return true
}

// loadDocument reads the meta file, opens the tables of the document and stores it in r.v; damaged tables are made again from the text. The error
// is os.ErrNotExist if there is no meta file yet.
func (r *Result) loadDocument() error {
	m, err := readMeta(r.s.root, r.id.String())
	if err != nil {
		return err
	}
	if info, err := r.text.Stat(); err != nil || info.Size() < m.Stored {
		return &errDamaged{textFile + " is shorter than it was"}
	}
	v := &view{m: m, rules: rulesFor(m.Shape, m.PerPage, int64(r.head.PageBytes), m.Wrapped)}
	open := func(name string, count int64) *table {
		t, e := openTable(r.dir, name, count)
		err = errors.Join(err, e)
		return t
	}
	v.pages, v.large = open(m.PageName, m.Pages), open(m.BigName, m.Large)
	if m.Shape == Blocks {
		v.blocks = open(blockFile, m.Blocks)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if damaged := (*errDamaged)(nil); errors.As(err, &damaged) {
		err = r.rebuildTables(v)
	}
	if err != nil {
		return err
	}
	if r.v == nil {
		r.v = v
	} else {
		v.close()
	}
	return nil
}

func (v *view) close() {
	for _, t := range []*table{v.pages, v.large, v.blocks} {
		if t != nil {
			t.close()
		}
	}
}

// Close ends the reading, so that the result may be evicted.
func (r *Result) Close() error {
	r.mu.Lock()
	w := r.w
	r.w = nil
	r.mu.Unlock()
	if w != nil {
		w.mu.Lock()
		w.releaseFiles()
		w.mu.Unlock()
	}
	r.closeFiles()
	if r.bad {
		r.s.removeDamaged(r.id)
	}
	return nil
}

// markDamaged makes Close remove the result, and returns *NotFound.
func (r *Result) markDamaged() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bad = true
	return &NotFound{}
}

// closeFiles closes everything that is open, and so releases the lock.
func (r *Result) closeFiles() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.v != nil {
		r.v.close()
	}
	for _, t := range r.made {
		t.close()
	}
	for _, f := range []*os.File{r.text, r.lock} {
		if f != nil {
			_ = f.Close()
		}
	}
	if r.dir != nil {
		_ = r.dir.Close()
	}
}

// recordUse records a use of the entry, which puts off its eviction.
func (s *Spool) recordUse(i id) {
	_ = s.withLedger(func(l *ledger) error {
		if a := l.find(i); a != nil {
			a.used, l.changed = nowMillis(), true
		}
		return nil
	})
}

// removeDamaged removes an entry that cannot be read, unless it is in use.
func (s *Spool) removeDamaged(i id) {
	_ = s.withLedger(func(l *ledger) error {
		if a := l.find(i); a != nil {
			var t tally
			if one := *a; s.evict(l, one) {
				t.add(one)
			}
			t.record(s, "crash")
		}
		return nil
	})
}

// Source returns the origin of the result, without Principal, of which only the digest is known, and ServerPage, which [Totals] has.
func (r *Result) Source() Source {
	h := &r.head
	return Source{Server: h.Server, Tool: h.Tool, Call: h.Call, ReadOnly: h.ReadOnly, PageBytes: h.PageBytes, PageItems: h.PageItems}
}

// complete returns the document if the result has ended. Otherwise it returns nil and the writer, or nil, nil, nil if the writer is in
// another process. It returns *NotFound if the result is gone.
func (r *Result) complete() (*view, *Writer, error) {
	r.mu.Lock()
	v, w := r.v, r.w
	r.mu.Unlock()
	if v != nil {
		return v, nil, nil
	}
	if w != nil {
		w.mu.Lock()
		done, gone := w.meta != nil, w.gone
		w.mu.Unlock()
		if gone {
			return nil, nil, &NotFound{}
		}
		if !done {
			return nil, w, nil
		}
	}
	err := r.loadDocument()
	if errors.Is(err, os.ErrNotExist) && w == nil {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, r.markDamaged()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.v, nil, nil
}

// Totals describes the result, or the part that has come so far: its form, its sizes and how many items and pages it has. It does not wait.
func (r *Result) Totals() Totals {
	t := Totals{
		PageItems: r.head.PageItems, PageBytes: r.head.PageBytes, Shape: Lines,
		Created: time.UnixMilli(r.head.Created), Expires: r.s.expires(&r.head),
		ServerPage: r.head.ServerPage,
	}
	v, w, _ := r.complete()
	switch {
	case v != nil:
		m := v.m
		t.Shape, t.Bytes, t.Stored, t.Offset, t.Items, t.Pages = m.Shape, m.DocEnd-m.DocBegin, m.Stored, m.DocBegin, m.Items, m.Pages
		t.PageItems, t.Complete, t.Cut, t.Failed, t.SHA256 = m.PerPage, true, m.Cut, m.Failed, m.SHA256
		t.Path, t.Part, t.Parts = m.Keys, m.Part, m.Parts
		t.Envelope = m.Depth > 0 && v.envelopeSize() <= envelopeBytes(int64(r.head.PageBytes))
	case w != nil:
		w.mu.Lock()
		defer w.mu.Unlock()
		t.Bytes, t.Stored, t.Parts = w.size, w.size, w.parts
		if p := w.part; p != nil && p.find != nil {
			t.Part, t.Bytes, t.Offset = p.number, p.size(), p.begin
			if g := p.find.growing(); g != nil {
				t.Shape, t.Items, t.Pages, t.PageItems = g.shape, g.count, g.pages.len(), g.items
			}
		}
	default:
		if info, err := r.text.Stat(); err == nil {
			t.Bytes, t.Stored = info.Size(), info.Size()
		}
	}
	return t
}

// envelopeSize returns the bytes of the text around the items; if the text broke off, it counts one } for each open object.
func (v *view) envelopeSize() int64 {
	m := v.m
	if m.Close == 0 {
		return m.Begin - m.DocBegin + int64(m.Depth)
	}
	return m.Begin - m.DocBegin + m.DocEnd - m.Close
}

// Document is the place of a result's document in its file, for reading it without pages.
type Document struct {
	// File is open for reading; the caller closes it. Path is its name.
	File *os.File
	Path string
	// Offset and Size are where the document is in File, in bytes.
	Offset, Size int64
	// ItemsOffset and ItemsSize are where the items are in File, with their brackets, if the shape is Array or Object and the
	// document did not break off; else 0.
	ItemsOffset, ItemsSize int64
}

// Document waits for the end of the result and returns its document, whose File the caller closes. It returns ctx's error if ctx ends
// first, and an error if the result is gone or its file cannot be opened.
func (r *Result) Document(ctx context.Context) (Document, error) {
	v, err := r.waitForEnd(ctx)
	if err != nil {
		return Document{}, err
	}
	f, err := statefile.OpenIn(r.dir, textFile, os.O_RDONLY, 0)
	if err != nil {
		return Document{}, fmt.Errorf("reading the result: %w; call the tool again", err)
	}
	d := Document{File: f, Path: f.Name(), Offset: v.m.DocBegin, Size: v.m.DocEnd - v.m.DocBegin}
	if v.rules.isJSON() && v.m.Close > 0 {
		d.ItemsOffset, d.ItemsSize = v.m.Begin, v.m.Close-v.m.Begin
	}
	return d, nil
}

// Reader returns a reader of the document's text.
func (d Document) Reader() *io.SectionReader {
	return io.NewSectionReader(d.File, d.Offset, d.Size)
}
