package rate

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

const (
	secretFile = "secret"
	liveFolder = "live"
	// lockTime bounds the wait for a file's lock, which is held for less than a millisecond: a holder that is stopped stops nobody else.
	lockTime = 2 * time.Second
	// restTime is the time for which a process goes by its own tables after the files failed.
	restTime = 10 * time.Second
	// maxFiles and maxAge bound what is left behind in the folder.
	maxFiles = 256
	maxAge   = 24 * time.Hour
)

// A store keeps tables in files that all processes of a user on this host share. Where they cannot be had it says so once, and
// this process goes by tables of its own.
type store struct {
	dir     string // "" keeps nothing
	warn    func(error)
	process uint64 // names this one among those that share
	now     func() time.Time
	locking time.Duration // for which a lock is waited for
	// everywhere makes digests those of all hosts, of which none can be told from a real key without knowing it.
	everywhere bool

	mu     sync.Mutex
	secret []byte
	live   *os.File // locked as long as this process lives, once it has stood in a queue
	broken time.Time
	told   bool
}

// newStore returns a store in dir; warn may be nil.
func newStore(dir string, warn func(error)) *store {
	s := &store{dir: dir, warn: warn, process: randomID(), now: time.Now, locking: lockTime}
	if warn == nil {
		s.warn = func(error) {}
	}
	return s
}

// randomID returns a random id other than 0.
func randomID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	n := uint64(0)
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return max(n, 1)
}

// usable reports whether the files may be tried: there is a directory, and they have not failed just now.
func (s *store) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir != "" && !s.now().Before(s.broken)
}

// recordFailure makes the files unusable for restTime. Only the first failure is passed to warn.
func (s *store) recordFailure(err error) {
	s.mu.Lock()
	s.broken = s.now().Add(restTime)
	first := !s.told
	s.told = true
	s.mu.Unlock()
	if first {
		s.warn(fmt.Errorf("%s: %w: until it can be used, this run does not see how much of the provider's rate the other runs of this host take", s.dir, err))
	}
}

// digest returns a name for text that must not be written into a file, such as a credential: an HMAC under this host's key, or, if hosts
// share the store, under a fixed one.
func (s *store) digest(what string) string {
	key := []byte("plimsoll")
	if !s.everywhere {
		key = s.key()
	}
	m := hmac.New(sha256.New, key)
	_, _ = io.WriteString(m, what)
	return hex.EncodeToString(m.Sum(nil)[:12])
}

// hostID returns the id of this host among others.
func (s *store) hostID() string {
	sum := sha256.Sum256(s.key())
	return hex.EncodeToString(sum[:8])
}

// key returns this host's secret key, from the file that all processes share if that can be used, else a random one for this process.
func (s *store) key() []byte {
	usable := s.usable()
	s.mu.Lock()
	known := s.secret
	s.mu.Unlock()
	if known != nil {
		return known
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	if usable {
		if shared, err := s.sharedKey(key); err != nil {
			s.recordFailure(err)
		} else {
			key = shared
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret == nil {
		s.secret = key
	}
	return s.secret
}

// sharedKey returns the key in the file; if there is none, it writes fallback there and returns it.
func (s *store) sharedKey(fallback []byte) ([]byte, error) {
	s.tidy()
	f, err := s.lock(secretFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = filelock.Release(f) }()
	key, err := io.ReadAll(io.LimitReader(f, int64(len(fallback))))
	if err == nil && len(key) == len(fallback) {
		return key, nil
	}
	_, err = f.WriteAt(fallback, 0)
	return fallback, err
}

// lock opens a file, which it creates if need be, and locks it. Others may read it meanwhile. It waits at most s.locking.
func (s *store) lock(name string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.locking)
	defer cancel()
	path := filepath.Join(s.dir, name)
	for {
		f, err := statefile.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
		if errors.Is(err, fs.ErrNotExist) { // the first one here, or the folder was removed meanwhile
			if err = os.MkdirAll(filepath.Join(s.dir, liveFolder), 0o700); err == nil {
				f, err = statefile.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
			}
		}
		if err == nil {
			err = filelock.Lock(ctx, f, filelock.Readable)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("another process does not give up the lock on %s", name)
		}
		if err != nil {
			return nil, err
		}
		there, err := os.Lstat(path)
		if filelock.Named(f, there, err) {
			return f, nil
		}
		_ = f.Close()
	}
}

// tidy removes old tables if there are many, and the files of processes that have ended.
func (s *store) tidy() {
	for folder, age := range map[string]time.Duration{"": maxAge, liveFolder: time.Hour} {
		list, err := os.ReadDir(filepath.Join(s.dir, folder))
		if err != nil || len(list) <= maxFiles/4 {
			continue
		}
		for _, e := range list {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || e.Name() == secretFile || s.now().Sub(info.ModTime()) < age {
				continue
			}
			if f, err := statefile.Open(filepath.Join(s.dir, folder, e.Name()), os.O_RDWR, 0); err == nil {
				if ok, err := filelock.Try(f, filelock.Readable); ok && err == nil {
					_ = os.Remove(f.Name())
				}
				_ = f.Close()
			}
		}
	}
}

// change calls f with a table under its lock and writes it back. After an error f was not called, or its changes are lost.
func (s *store) change(name string, t *table, f func(*table)) error {
	file, err := s.lock(name)
	if err != nil {
		return err
	}
	defer func() { _ = filelock.Release(file) }()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	text, err := readInto(*buf, file)
	if err != nil {
		return err
	}
	_ = t.decode(text) // what is damaged begins anew: all of it is learned again within a minute
	f(t)
	*buf = t.encode(text)
	_, err = file.WriteAt(*buf, 0)
	return err
}

// readTable reads a table without its lock; ok is false if there is none or it is being written just now.
func (s *store) readTable(name string, t *table) (ok bool, err error) {
	f, err := statefile.Open(filepath.Join(s.dir, name), os.O_RDONLY, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	defer f.Close()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	text, err := readInto(*buf, f)
	*buf = text
	return err == nil && len(text) > 0 && t.decode(text) == nil, err
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// readInto reads a file into buf, which grows as needed, at most about maxTable bytes.
func readInto(buf []byte, f *os.File) ([]byte, error) {
	buf = buf[:cap(buf)]
	n := 0
	for {
		m, err := f.ReadAt(buf[n:], int64(n))
		n += m
		if errors.Is(err, io.EOF) || n >= maxTable {
			return buf[:n], nil
		}
		if err != nil {
			return buf[:0], err
		}
		buf = append(buf, 0)
		buf = buf[:cap(buf)]
	}
}

// markAlive creates and locks a file by which other processes see that this one lives. It must be called before this process has a ticket.
func (s *store) markAlive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live != nil || s.dir == "" {
		return nil
	}
	f, err := s.lock(s.markName(s.process))
	s.live = f
	return err
}

// markName returns the name of the file that isAlive looks at.
func (s *store) markName(process uint64) string {
	return filepath.Join(liveFolder, fmt.Sprintf("%016x", process))
}

// isAlive reports whether a process lives: the kernel releases the lock on its file however it ends. The file of a dead process is removed.
func (s *store) isAlive(process uint64) bool {
	if process == s.process {
		return true
	}
	f, err := statefile.Open(filepath.Join(s.dir, s.markName(process)), os.O_RDWR, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	ended, err := filelock.Try(f, filelock.Readable)
	if ended && err == nil {
		_ = os.Remove(f.Name())
	}
	return !ended || err != nil
}

// close removes the file that marks this process as alive.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live != nil {
		_ = os.Remove(s.live.Name())
		_ = s.live.Close()
		s.live = nil
	}
}
