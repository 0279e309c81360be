package spool

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// writeBuffer bounds the text that a Writer holds, in bytes.
const writeBuffer = 64 << 10

// Room on the disk is reserved in steps of these sizes, so that not every write needs the ledger that processes share.
const (
	minStep = 256 << 10
	maxStep = 64 << 20
)

// Writer writes one result as it comes. Its methods may be called from any goroutine, one at a time; the result may be read meanwhile.
type Writer struct {
	s      *Spool
	handle string
	id     id
	head   head
	dir    *os.Root
	lock   *os.File
	text   *os.File

	mu           sync.Mutex
	buf          []byte
	scratch      []byte
	size         int64 // of the text file
	used         int64 // bytes on the disk, tables included
	reserved     int64
	parts        int
	part         *part // the one under way
	best         *part // the largest text so far
	other        *part // structured content, or media
	blocks       *table
	texts        int   // text parts
	textSize     int64 // in all of them
	last         byte  // of the text file
	idlePagings  []*paging
	made         int // pagings made, for their names
	hash         hash.Hash
	err          error
	ending       bool    // Cut was called: what is still written has the spare room
	frozenPaging *paging // the page table that readers already use: it fixes the document
	frozenPart   *part
	wake         chan struct{}
	waiting      int
	meta         *meta // when complete
	gone         bool  // discarded
	refs         int
}

// part is the part of a result that one call of Begin began.
type part struct {
	kind       Part
	number     int
	begin, end int64
	find       *finder
	sum        [sha256.Size]byte
	dropped    bool
}

func (p *part) size() int64 { return p.end - p.begin }

// Create begins a result. It makes room by evicting the expired entries, then the least recently used. The error is *Full if that is not
// enough.
func (s *Spool) Create(src Source) (*Writer, error) {
	if s.unusable != nil {
		return nil, s.unusable
	}
	src.setDefaults()
	w := &Writer{s: s, handle: newHandle(), wake: make(chan struct{}), refs: 1, hash: sha256.New()}
	full, owner := digest("handle", w.handle), digest("principal", src.Principal)
	w.id = idOf(full)
	w.head = head{
		Version: version, Handle: fmt.Sprintf("%x", full), Principal: fmt.Sprintf("%x", owner), Server: src.Server, Tool: src.Tool,
		Call: src.Call, ReadOnly: src.ReadOnly, PageBytes: src.PageBytes, PageItems: src.PageItems, Created: nowMillis(),
		ServerPage: src.ServerPage,
	}
	w.used = spareSize + int64(len(src.Call))*4/3 + 2<<10
	w.reserved = w.used + minStep
	err := s.withLedger(w.addEntry)
	for err != nil && diskspace.CanMakeRoom(err) && s.freeDisk() {
		err = s.withLedger(w.addEntry)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// addEntry makes room, creates the entry's directory, and adds the entry to the ledger and to the results that this process writes. After
// an error nothing of it remains.
func (w *Writer) addEntry(l *ledger) error {
	s := w.s
	s.sweepExpired(l)
	if err := s.makeRoom(l, w.reserved, w.reserved, 1); err != nil {
		return err
	}
	if err := w.createFiles(); err != nil {
		w.closeFiles()
		_ = s.root.RemoveAll(w.id.String())
		return s.full(err)
	}
	l.accounts = append(l.accounts, account{id: w.id, created: w.head.Created, used: w.head.Created, bytes: w.reserved, writing: true})
	l.changed = true
	s.live[w.id] = w
	return nil
}

// sweepExpired sweeps if an entry of the ledger has expired.
func (s *Spool) sweepExpired(l *ledger) {
	for _, a := range l.accounts {
		if s.expired(a.created) {
			s.sweep(l)
			return
		}
	}
}

// createFiles makes the entry's directory, its lock, which the Writer holds until it is closed, and its files. After an error the caller closes
// and removes what was made.
func (w *Writer) createFiles() (err error) {
	name := w.id.String()
	if err := w.s.root.Mkdir(name, 0o700); err != nil {
		return err
	}
	if w.dir, err = w.s.root.OpenRoot(name); err != nil {
		return err
	}
	if w.lock, err = statefile.OpenIn(w.dir, lockName, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if ok, err := filelock.Try(w.lock, filelock.Shared); err != nil || !ok {
		return errors.Join(err, errors.New("the lock of a new result is taken"))
	}
	if err := writeJSON(w.dir, headFile, &w.head); err != nil {
		return err
	}
	if err := w.dir.WriteFile(spareFile, make([]byte, spareSize), 0o600); err != nil {
		return err
	}
	w.text, err = w.dir.OpenFile(textFile, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	return err
}

// closeFiles closes the text, the lock, which frees the entry, and the directory; those that are not open are skipped.
func (w *Writer) closeFiles() {
	for _, f := range []io.Closer{w.text, w.lock, w.dir} {
		switch f := f.(type) {
		case *os.File:
			if f != nil {
				_ = f.Close()
			}
		case *os.Root:
			if f != nil {
				_ = f.Close()
			}
		}
	}
}

// Handle returns the key by which the result can be read: "r_" and 26 letters and digits.
func (w *Writer) Handle() string { return w.handle }

// Begin ends the part under way and begins another; mime is ignored. Without a call of Begin, Write writes text. A structured part behind
// more text than a page is dropped, because it usually repeats the text.
func (w *Writer) Begin(kind Part, mime string) error {
	_ = mime // what the text looks like decides, and not what it is called
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	return w.begin(kind)
}

// begin is Begin without the lock and the check for an earlier error.
func (w *Writer) begin(kind Part) error {
	if err := w.endPart(false); err != nil {
		return err
	}
	p := &part{kind: kind, number: w.parts}
	w.parts++
	// Structured content usually repeats the text, except where a short text only refers to it.
	p.dropped = kind == Structured && w.textSize > int64(w.head.PageBytes)
	if !p.dropped && w.size > 0 && w.last != '\n' {
		if err := w.store([]byte{'\n'}); err != nil {
			return err
		}
	}
	if kind == Text {
		w.texts++
	}
	p.begin, p.end = w.size, w.size
	w.hash.Reset()
	if !p.dropped {
		p.find = newFinder(w, p)
	}
	w.part = p
	return nil
}

// Write writes text, without JSON's escapes, to the part under way. An error is *Full or the system's; what was written before it stays,
// for Cut.
func (w *Writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, err
	}
	if w.part == nil {
		if err := w.begin(Text); err != nil {
			return 0, err
		}
	}
	if w.part.dropped {
		return len(b), nil
	}
	if w.buf == nil {
		w.buf = make([]byte, 0, writeBuffer)
	}
	n := 0
	for len(b) > 0 {
		k := min(len(b), writeBuffer-len(w.buf))
		w.buf = append(w.buf, b[:k]...)
		b, n = b[k:], n+k
		if len(w.buf) == writeBuffer || w.waiting > 0 && len(b) == 0 {
			if err := w.storeBuffer(false); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// usable returns the error of the writer, or os.ErrClosed if the result is finished or gone.
func (w *Writer) usable() error {
	switch {
	case w.err != nil:
		return w.err
	case w.meta != nil || w.gone:
		return os.ErrClosed
	}
	return nil
}

// storeBuffer stores the buffered text. Unless last is set, the bytes of an incomplete character at its end stay in the buffer.
func (w *Writer) storeBuffer(last bool) error {
	if len(w.buf) == 0 || w.part == nil {
		return nil
	}
	b := w.buf
	keep := 0
	if !last {
		keep = incompleteRune(b)
	}
	err := w.storeText(b[:len(b)-keep])
	w.buf = w.buf[:copy(w.buf, b[len(b)-keep:])]
	if err != nil && w.err == nil {
		w.err = err
	}
	w.notify()
	return w.err
}

// storeText stores text of the part and passes it to the part's finder. Each byte that is not UTF-8 becomes U+FFFD here, so that everything
// later is valid and offsets stay the same.
func (w *Writer) storeText(b []byte) error {
	for len(b) > 0 {
		good := b
		if !utf8.Valid(b) {
			if w.scratch == nil {
				w.scratch = make([]byte, 0, writeBuffer)
			}
			good, b = appendValid(w.scratch[:0], b)
		} else {
			b = nil
		}
		if err := w.store(good); err != nil {
			return err
		}
		w.hash.Write(good)
		w.part.end = w.size
		if w.part.kind == Text {
			w.textSize += int64(len(good))
		}
		if err := w.part.find.feed(good); err != nil {
			return err
		}
	}
	return nil
}

// store appends b, which is not empty, to the text file. On a full disk it evicts entries of the spool and tries again.
func (w *Writer) store(b []byte) error {
	if err := w.reserve(int64(len(b))); err != nil {
		return err
	}
	_, err := w.text.WriteAt(b, w.size)
	for err != nil && diskspace.CanMakeRoom(err) && w.s.freeDisk() {
		_, err = w.text.WriteAt(b, w.size)
	}
	if err != nil {
		return w.s.full(err)
	}
	w.size += int64(len(b))
	w.used += int64(len(b))
	w.last = b[len(b)-1]
	return nil
}

// grow reserves n bytes for the tables, and counts them as used.
func (w *Writer) grow(n int64) error {
	err := w.reserve(n)
	if err == nil {
		w.used += n
	}
	return err
}

// reserve ensures that n more bytes than are used are reserved in the ledger, which may evict other results; *Full if there is no room.
// Once the writer is being cut, it does nothing: then the space of the spare file is used.
func (w *Writer) reserve(n int64) error {
	if w.ending { // the spare room is for this
		return nil
	}
	need := w.used + n
	if need > int64(w.s.o.MaxResult) {
		return &Full{Dir: w.s.o.Dir, Why: "result", Limit: int64(w.s.o.MaxResult)}
	}
	if need <= w.reserved {
		return nil
	}
	want := need + min(max(w.used/4, minStep), maxStep)
	return w.s.withLedger(func(l *ledger) error {
		a := l.find(w.id)
		if a == nil {
			return &Full{Dir: w.s.o.Dir, Why: "quota", Limit: int64(w.s.o.MaxBytes)}
		}
		if err := w.s.makeRoom(l, want-w.reserved, want-w.used, 0); err != nil {
			want = need
			if err := w.s.makeRoom(l, want-w.reserved, want-w.used, 0); err != nil {
				return err
			}
		}
		a = l.find(w.id)
		w.reserved, a.bytes, l.changed = want, want, true
		return nil
	})
}

// Progress returns how much has come: the bytes of all parts, and the items of the part under way; after the end, those of the document.
func (w *Writer) Progress() (bytes, items int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.meta != nil {
		return w.meta.Stored, w.meta.Items
	}
	if w.part != nil && w.part.find != nil {
		items = w.part.find.items()
	}
	return w.size + int64(len(w.buf)), items
}

// notify wakes the readers that wait for more.
func (w *Writer) notify() {
	if w.waiting > 0 {
		close(w.wake)
		w.wake = make(chan struct{})
	}
}

// expires returns the time from which on nobody can read the result.
func (s *Spool) expires(h *head) time.Time { return time.UnixMilli(h.Created).Add(s.o.MaxAge) }
