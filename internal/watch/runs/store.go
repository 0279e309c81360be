// Package runs keeps what happened in every run of this user, and reads it: the store behind `plimsoll runs`, `top`, the dashboard and the
// metrics of all runs. There is no daemon and no database: each process writes one file of its own, and whoever looks reads along.
//
//	w := runs.Begin(runs.Options{Dir: stateDir}, runs.Header{ID: id, Kind: runs.KindRun, Report: start}) // a journal.Observer
//	err := w.End(reporter.Report())
//
//	store, err := runs.Open(stateDir)
//	err = store.Poll() // again and again, for who looks on
//	run, err := store.Run(id)
//
// A file is locked as long as its writer lives: one without an end that nobody has locked is that of a writer which was killed, and [Adopt]
// writes the end in its place. It has at most 4 MiB; what finds no room is counted. [Prune] keeps 30 days, 10,000 runs and 256 MiB. Credentials
// are masked before anything is written. A [Writer] never makes its caller wait and may be used from any goroutine, a [Store] from one.
package runs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// maxLive bounds the files of live runs that are read; others are not listed.
const maxLive = 1024

// storeDir returns the directory of the store in a state directory.
func storeDir(stateDir string) string { return filepath.Join(stateDir, Dir) }

// Store has the runs of this user. [Store.Poll] brings it up to date. It is used by one goroutine.
type Store struct {
	dir  string
	root *os.Root // nil while there is no store yet

	index     map[string]*Entry
	gone      Totals // of runs that were removed
	indexFile fs.FileInfo
	indexRead int64
	part      []byte
	damaged   int

	days map[string]time.Time // when a folder was looked at last
	live map[string]*tail
	// strange are names that are no runs: links, pipes, files of others.
	strange map[string]string
	placed  placed
	// Version counts the changes.
	version uint64
}

// Open opens the store of a state directory, which need not exist yet. The Store is valid also with an error; Poll tries again.
func Open(stateDir string) (*Store, error) {
	s := &Store{dir: storeDir(stateDir), placed: placed{store: jobs.NewStore(stateDir), seen: map[string]*seenJob{}}}
	s.reset()
	return s, s.openRoot()
}

// reset closes the files and drops all that was read.
func (s *Store) reset() {
	for _, t := range s.live {
		t.close()
	}
	s.index, s.gone, s.indexFile, s.indexRead, s.part, s.damaged = map[string]*Entry{}, Totals{}, nil, 0, nil, 0
	s.days, s.live, s.strange = map[string]time.Time{}, map[string]*tail{}, map[string]string{}
	s.version++
}

// isReplaced reports whether the store's folder is not the one that was opened any more, because somebody has removed it.
func (s *Store) isReplaced() bool {
	was, err := s.root.Stat(".")
	if err != nil {
		return true
	}
	is, err := os.Stat(s.dir)
	return err != nil || !os.SameFile(was, is)
}

// openRoot opens the store's folder. If it does not exist, s.root stays nil and there is no error.
func (s *Store) openRoot() error {
	root, err := statefile.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the runs are kept in %s, which cannot be read: %w", s.dir, err)
	}
	s.root = root
	return nil
}

// Close closes the files.
func (s *Store) Close() error {
	s.reset()
	if s.root == nil {
		return nil
	}
	err := s.root.Close()
	s.root = nil
	return err
}

// Version returns a number that changes whenever Poll has found something new.
func (s *Store) Version() uint64 { return s.version }

// Damaged returns the number of lines of the index that could not be read.
func (s *Store) Damaged() int { return s.damaged }

// Poll reads what was written since the last call: records of jobs, the index, and the files of live and new runs. If the store's folder
// was replaced, everything is read anew. A store that does not exist is no error.
func (s *Store) Poll() error {
	if s.placed.poll() {
		s.version++
	}
	if s.root != nil && s.isReplaced() {
		_ = s.Close()
	}
	if s.root == nil {
		if err := s.openRoot(); err != nil || s.root == nil {
			return err
		}
	}
	if err := s.readIndex(); err != nil {
		return fmt.Errorf("in %s: %w", s.dir, err)
	}
	if err := s.findNew(); err != nil {
		return fmt.Errorf("in %s: %w", s.dir, err)
	}
	s.readLive()
	return nil
}

// readIndex reads the new lines of the index; all lines if the index was replaced.
func (s *Store) readIndex() error {
	f, err := statefile.OpenIn(s.root, indexName, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if s.indexFile == nil || !os.SameFile(s.indexFile, info) || info.Size() < s.indexRead {
		s.index, s.gone, s.indexRead, s.part, s.damaged = map[string]*Entry{}, Totals{}, 0, nil, 0
		s.version++
	}
	s.indexFile = info
	if info.Size() == s.indexRead || s.indexRead >= maxIndex {
		return nil
	}
	buf := make([]byte, 64<<10)
	for s.indexRead < maxIndex {
		n, err := f.ReadAt(buf, s.indexRead)
		s.indexRead += int64(n)
		s.addIndexLines(buf[:n])
		if errors.Is(err, io.EOF) || n == 0 && err == nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addIndexLines reads lines of the index from text. An incomplete last line is kept for the next call.
func (s *Store) addIndexLines(text []byte) {
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			if len(s.part) <= maxIndexLine {
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
		var l indexLine
		switch {
		case len(bytes.TrimSpace(whole)) == 0, s.gone.addRemovedLine(whole):
		case len(whole) > maxIndexLine || json.Unmarshal(whole, &l) != nil:
			s.damaged++
		default:
			e := l.Entry
			s.index[e.ID] = &e
			s.version++
		}
		s.part = s.part[:0]
	}
}

// findNew opens and reads the files of runs that are not in the index, at most maxLive. Files that are not of this user's runs are noted in
// s.strange.
func (s *Store) findNew() error {
	days, err := dayFolders(s.root)
	if err != nil {
		return err
	}
	var fresh []*tail
	for _, day := range days {
		info, err := s.root.Lstat(day)
		if err != nil {
			continue
		}
		if !info.IsDir() {
			s.strange[day] = "is no folder of runs"
			continue
		}
		// A name that comes in the same tick of the clock as the last look would not show: such a folder is looked at again.
		if last, looked := s.days[day]; looked && info.ModTime().Before(last.Add(-2*time.Second)) {
			continue
		}
		now := time.Now()
		names, err := namesIn(s.root, day)
		if err != nil {
			return err
		}
		s.days[day] = now
		for _, name := range names {
			id, ok := runID(name)
			if !ok || s.index[id] != nil || s.live[id] != nil || s.strange[day+"/"+name] != "" || len(s.live) >= maxLive {
				continue
			}
			t, err := openTail(s.root, day, id)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				if len(s.strange) < maxLive {
					s.strange[day+"/"+name] = err.Error()
				}
				continue
			}
			s.live[id] = t
			fresh = append(fresh, t)
		}
	}
	s.readFresh(fresh)
	maps.DeleteFunc(s.days, func(day string, _ time.Time) bool { return !slices.Contains(days, day) })
	return nil
}

// readFresh reads files for the first time, on all processors, so that a viewer of a hundred runs starts soon. Errors are ignored: readLive
// will meet them again.
func (s *Store) readFresh(fresh []*tail) {
	if len(fresh) == 0 {
		return
	}
	s.version++
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(len(fresh), runtime.GOMAXPROCS(0)) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(fresh)); i = next.Add(1) - 1 {
				_, _ = fresh[i].poll()
			}
		})
	}
	readers.Wait()
}

// readLive reads the new lines of live runs, closes those that the index has, and marks those whose writer was killed as died.
func (s *Store) readLive() {
	for id, t := range s.live {
		if s.index[id] != nil {
			t.close()
			delete(s.live, id)
			continue
		}
		more, err := t.poll()
		if more {
			s.version++
		}
		if err != nil || t.run.ended && s.isRemoved(t.run) {
			t.close()
			delete(s.live, id)
			continue
		}
		if !more && !t.run.ended && t.isUnlocked() {
			if t.run.reporter == nil { // without a first line there is nothing to show
				if info, err := t.file.Stat(); err != nil || time.Since(info.ModTime()) > starting {
					t.close()
					delete(s.live, id)
				}
				continue
			}
			if again, _ := t.poll(); !again && !t.run.ended {
				t.run.died, t.run.ended = true, true
				at := t.run.Seen
				t.run.Ended = &at
				t.run.recompute()
				s.version++
			}
		}
	}
}

// isRemoved reports whether the file of a run was removed.
func (s *Store) isRemoved(r *Run) bool {
	_, err := s.root.Lstat(r.Day + "/" + r.ID + fileEnd)
	return errors.Is(err, fs.ErrNotExist)
}

// Strange returns, sorted, a sentence for each thing in the store that is not a run of this user.
func (s *Store) Strange() []string {
	var list []string
	for name, why := range s.strange {
		list = append(list, fmt.Sprintf("%s is left alone: %s", filepath.Join(s.dir, name), why))
	}
	slices.Sort(list)
	return list
}

// Entries returns all runs that are kept or live, and the jobs of an engine that have no run here or wait again, the newest first.
func (s *Store) Entries() []Entry {
	list := make([]Entry, 0, len(s.index)+len(s.live))
	for _, e := range s.index {
		list = append(list, *e)
	}
	for id, t := range s.live {
		if s.index[id] == nil && t.run.reporter != nil {
			t.run.updateDuration()
			list = append(list, t.run.Entry)
		}
	}
	for i := range list {
		s.addJob(&list[i])
	}
	for _, r := range s.unplacedJobs() {
		list = append(list, r.Entry)
	}
	sorting.By(list, func(a, b Entry) int {
		if c := b.Started.Compare(a.Started); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Ended returns the runs that have ended since a time, the last one to end first. It costs less than [Store.Entries].
func (s *Store) Ended(since time.Time) []Entry {
	var list []Entry
	for _, e := range s.index {
		if e.Ended != nil && !e.Ended.Before(since) {
			list = append(list, *e)
		}
	}
	for id, t := range s.live {
		if e := &t.run.Entry; s.index[id] == nil && t.run.reporter != nil && e.Ended != nil && !e.Ended.Before(since) {
			list = append(list, *e)
		}
	}
	for _, r := range s.unplacedJobs() {
		if r.Ended != nil && !r.Ended.Before(since) {
			list = append(list, r.Entry)
		}
	}
	sorting.By(list, func(a, b Entry) int {
		return cmp.Or(b.Ended.Compare(*a.Ended), strings.Compare(a.ID, b.ID))
	})
	return list
}

// updateDuration sets the duration of a live run to the time since its start.
func (r *Run) updateDuration() {
	if r.Live() {
		r.DurationMS = max(0, time.Since(r.Started).Milliseconds())
	}
}

// Live returns the live runs, with what is known of them, the oldest first. They change with the next Poll.
func (s *Store) Live() []*Run {
	var list []*Run
	for _, t := range s.live {
		if t.run.reporter != nil && t.run.Live() {
			t.run.updateDuration()
			list = append(list, t.run)
		}
	}
	for _, r := range s.unplacedJobs() {
		if r.Live() {
			list = append(list, r)
		}
	}
	sorting.By(list, func(a, b *Run) int {
		if c := a.Started.Compare(b.Started); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}
