package checkpoint

import (
	"container/list"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
)

const (
	checkpointEnd = ".ck"
	cutEnd        = ".cut"
	temporaryMark = ".tmp-"
)

// A listing is the content of one scope's directory when it was last read.
type listing struct {
	modified time.Time // of the directory
	read     time.Time
	names    map[Digest]bool // under the store's lock: what is written here is added
	ours     bool            // modified is the time that a write of our own has left: nothing else came since the reading, ticks aside
}

const (
	// racy is the age that a directory's time must have at the reading to be trusted: file systems round it to a tick of the kernel (10 ms
	// at most), and a file that came within the same tick would be missed.
	racy = 50 * time.Millisecond
	// racyCoarse is the same where times are whole seconds: FAT's are even ones.
	racyCoarse = 2 * time.Second
	// oursFor is the time for which a listing with our own writes added counts as complete: thousands of names need not be read again for
	// each. A file that somebody else wrote within the same tick is met later, and no second one is made of it: see write.
	oursFor = time.Minute
	// maxListings bounds the scopes whose listing is remembered.
	maxListings = 256
	// maxFile bounds what is read into memory.
	maxFile = 256 << 20
	// touchAfter is the age of a file's time at which a use renews it.
	touchAfter = time.Hour
)

// scopeDir returns the directory of a scope's files.
func (s *Store) scopeDir(scope Scope) string { return filepath.Join(s.o.Dir, scope.String()) }

// pathOf returns the path of the file for the checkpoint k.
func (s *Store) pathOf(k key) string {
	return filepath.Join(s.scopeDir(k.scope), hex.EncodeToString(k.chain[:])+checkpointEnd)
}

// trusted reports whether the listing is complete as long as the directory's time has not changed. It is not if it was read so soon after a
// change that another change may have left the same time.
func (l *listing) trusted() bool {
	if l.ours {
		return time.Since(l.read).Abs() < oursFor
	}
	if l.modified.Nanosecond() == 0 {
		return l.read.Sub(l.modified) > racyCoarse
	}
	return l.read.Sub(l.modified) > racy
}

// diskListing returns a listing of the checkpoints that a scope has on the disk; nil if there is no such directory. While nothing changes
// there it costs one stat.
func (s *Store) diskListing(scope Scope) *listing {
	if s.o.Dir == "" {
		return nil
	}
	info, err := os.Stat(s.scopeDir(scope))
	if err != nil || !info.IsDir() { // opening a pipe would wait for who writes to it
		return nil
	}
	s.mu.Lock()
	l := s.listing[scope]
	whole := l != nil && l.modified.Equal(info.ModTime()) && l.trusted()
	s.mu.Unlock()
	if whole {
		return l
	}
	l = &listing{modified: info.ModTime(), read: time.Now(), names: map[Digest]bool{}}
	root, err := statefile.OpenRoot(s.scopeDir(scope))
	if err != nil {
		return nil
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil
	}
	names, err := dir.Readdirnames(-1) // in no order: there may be thousands, and each prompt adds one
	_ = dir.Close()
	if err != nil {
		return nil
	}
	for _, name := range names {
		if name, ok := strings.CutSuffix(name, checkpointEnd); ok && len(name) == 2*len(Digest{}) {
			var d Digest
			if _, err := hex.Decode(d[:], []byte(name)); err == nil {
				l.names[d] = true
			}
		}
	}
	s.mu.Lock()
	if len(s.listing) >= maxListings {
		clear(s.listing)
	}
	s.listing[scope] = l
	s.mu.Unlock()
	return l
}

// findInChain looks up chain[from], chain[from+step] and so on, before until, in memory and in listed, which may be nil. It returns the
// index of the first that is found and its entry in memory (nil if it is on the disk only); until and nil if none is.
func findInChain[D ~[16]byte](s *Store, scope Scope, listed *listing, chain []D, from, until, step int) (int, *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory.scopes[scope] == 0 && (listed == nil || len(listed.names) == 0) {
		return until, nil
	}
	for i := from; i != until; i += step {
		k := key{scope, Digest(chain[i])}
		if h := s.memory.get(k); h != nil || listed != nil && listed.names[k.chain] {
			return i, h
		}
	}
	return until, nil
}

// loadCheckpoint returns the checkpoint of k: that of h, its entry in memory, which may be nil, or the one on the disk if it is newer,
// which then replaces the entry. It renews the time of the file. It returns nil if there is none, or only a damaged one, which it renames.
func (s *Store) loadCheckpoint(k key, h *held) *Checkpoint {
	if s.o.Dir == "" || h != nil && !h.onDisk {
		if h == nil {
			return nil
		}
		return h.c
	}
	path := s.pathOf(k)
	info, err := os.Stat(path)
	if err != nil {
		if h != nil && errors.Is(err, fs.ErrNotExist) {
			s.mu.Lock()
			s.memory.drop(k) // gc took it away
			s.mu.Unlock()
		}
		return nil
	}
	if h != nil && s.isUnchanged(h, info) {
		s.renewTime(path, h)
		return h.c
	}
	if info.Size() > maxFile {
		s.setAside(path, info.Size())
		return nil
	}
	file, err := statefile.Read(path, maxFile)
	if err != nil {
		return nil
	}
	c, err := decode(file)
	if err != nil || c.Chain != k.chain {
		s.setAside(path, int64(len(file)))
		return nil
	}
	h = &held{key: k, c: c, modified: info.ModTime(), length: info.Size(), onDisk: true}
	s.renewTime(path, h)
	s.mu.Lock()
	s.memory.put(h)
	s.mu.Unlock()
	return c
}

// isUnchanged reports whether info describes the file that h was read from. The time is read under the lock, because another request of the
// conversation may be renewing it.
func (s *Store) isUnchanged(h *held, info fs.FileInfo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.modified.Equal(info.ModTime()) && h.length == info.Size()
}

// renewTime renews the time of a file that is used, at most once in touchAfter, so that MaxAge does not remove it.
func (s *Store) renewTime(path string, h *held) {
	now := time.Now()
	s.mu.Lock()
	old := now.Sub(h.modified) > touchAfter
	s.mu.Unlock()
	if !old || os.Chtimes(path, now, now) != nil {
		return
	}
	if info, err := os.Stat(path); err == nil {
		s.mu.Lock()
		h.modified = info.ModTime()
		s.mu.Unlock()
	}
}

// setAside renames a damaged file, or removes it if that fails, and journals that.
func (s *Store) setAside(path string, size int64) {
	if _, err := store.SetAsidePath(path); err != nil {
		_ = os.Remove(path)
	}
	s.countAndJournal("damaged", 1, size)
}

// writeFiles writes a checkpoint and its cut to the disk, durably if there is a cut (nil for none). If another process has stored a checkpoint
// for the same messages first, h.c becomes that one.
func (s *Store) writeFiles(h *held, cut *Cut) error {
	dir := s.scopeDir(h.key.scope)
	path := s.pathOf(h.key)
	file := h.c.encode()
	var shown []byte
	files, kept := 1, atomicfile.Volatile
	if cut != nil {
		shown = cut.encode(h.key, h.c, s.o.MaxBytes/8)
		files, kept = 2, atomicfile.Durable
	}
	err := os.MkdirAll(dir, 0o700)
	before, _ := os.Stat(dir)
	first := true
	if err == nil {
		// An older generation is replaced; of the same one the first stays.
		if old := s.loadCheckpoint(h.key, nil); old == nil {
			first, err = atomicfile.Replacement{Name: path, Perm: 0o600, Kept: kept}.Create(file)
		} else if h.c.supersedes(old) {
			err = atomicfile.Write(path, file, 0o600, kept)
		} else {
			first = false
		}
	}
	if err == nil && !first {
		if old := s.loadCheckpoint(h.key, nil); old != nil {
			h.c = old
		}
	}
	if err == nil && first && cut != nil {
		err = atomicfile.Write(filepath.Join(dir, cutName(h.key, h.c)), shown, 0o600, atomicfile.Durable)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	after, _ := os.Stat(dir)
	s.mu.Lock()
	began := err != nil && !s.failing
	s.failing = err != nil
	if err != nil {
		s.stats.Failed++
	} else {
		h.onDisk, h.modified, h.length = true, info.ModTime(), info.Size()
		if first {
			s.disk.bytes += int64(len(file) + len(shown))
			s.disk.files += files
		}
		if l := s.listing[h.key.scope]; l != nil {
			l.names[h.key.chain] = true
			if before != nil && after != nil && l.modified.Equal(before.ModTime()) {
				l.modified, l.ours = after.ModTime(), true
			}
		}
	}
	s.mu.Unlock()
	if began {
		s.countAndJournal("full", 0, int64(len(file)+len(shown)))
	}
	return err
}

// key names a checkpoint.
type key struct {
	scope Scope
	chain Digest
}

// memory holds the checkpoints used last, up to a number of bytes. The caller has the lock.
type memory struct {
	max, bytes int64
	entries    map[key]*list.Element
	scopes     map[Scope]int // entries of each
	order      list.List     // of *held, the one used last in front
}

// held is a checkpoint in memory.
type held struct {
	key  key
	c    *Checkpoint
	size int64
	// modified and length are the file's when it was read or written; a file that differs
	// from them was replaced by another process.
	modified time.Time
	length   int64
	onDisk   bool
}

// get returns the entry of a key, which then counts as the most recently used; nil if there is none.
func (m *memory) get(k key) *held {
	e := m.entries[k]
	if e == nil {
		return nil
	}
	m.order.MoveToFront(e)
	return e.Value.(*held)
}

// put adds h, and returns how many others it removed for it, and their bytes.
func (m *memory) put(h *held) (evicted int, freed int64) {
	if m.entries == nil {
		m.entries, m.scopes = map[key]*list.Element{}, map[Scope]int{}
	}
	m.drop(h.key)
	h.size = h.c.size()
	m.entries[h.key] = m.order.PushFront(h)
	m.scopes[h.key.scope]++
	m.bytes += h.size
	// The newest stays, however large it is: without it the conversation would be compacted
	// again each turn.
	for m.bytes > m.max && m.order.Len() > 1 {
		last := m.order.Back().Value.(*held)
		m.drop(last.key)
		evicted++
		freed += last.size
	}
	return evicted, freed
}

// drop removes an entry from memory, if it is there. The file stays.
func (m *memory) drop(k key) {
	if e := m.entries[k]; e != nil {
		m.bytes -= e.Value.(*held).size
		m.order.Remove(e)
		delete(m.entries, k)
		if m.scopes[k.scope]--; m.scopes[k.scope] == 0 {
			delete(m.scopes, k.scope)
		}
	}
}
