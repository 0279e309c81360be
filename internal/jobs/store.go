package jobs

import (
	"cmp"
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

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Record describes a job that was handed over, as it is stored.
type Record struct {
	Ref
	// Schema is the version of the record.
	Schema int    `json:"schema"`
	Engine string `json:"engine"`
	Tool   string `json:"tool"`
	// Variant and Project are as in the report of a run.
	Variant string `json:"variant,omitempty"`
	Project string `json:"project"`
	// Command is masked, as in the report, and clipped.
	Command     []string    `json:"command"`
	Submitted   time.Time   `json:"submitted"`
	Memory      limit.Bytes `json:"memory_bytes"`
	MemoryLimit limit.Bytes `json:"limit_bytes"`
	Status      Status      `json:"status"`
	// Unanswered says why the engine could not be asked the last time, "" when it answered.
	Unanswered string `json:"unanswered,omitempty"`
	// Cancelled is true for a job that somebody here had ended.
	Cancelled bool `json:"cancelled,omitempty"`
}

// Names in the folder of a job.
const (
	// RecordName is the file of the record.
	RecordName = "job.json"
	// ReportName is the file for the run report, OutName and ErrName those for what the job writes, where the engine has them written there.
	ReportName = "report.json"
	OutName    = "out"
	ErrName    = "err"
	// StartName is the file by which the job starts. It may hold secrets and goes when the job has ended.
	StartName = "start"
)

// Local is the engine of the host's own queue, as a record names it.
const Local = "local"

const (
	schema = 1
	// MaxKept bounds the jobs that are kept. At the bound the oldest that have ended make room.
	MaxKept = 2000
	// keptAge and keptBytes bound those that have ended, by [Store.Prune]. One without a record is left alone for the time that it may be in the making.
	keptAge       = 30 * 24 * time.Hour
	keptBytes     = 1 * limit.GiB
	unfinishedAge = time.Hour
	// maxRecord and maxReport bound what is read, in bytes, maxCommand the words of the command that are kept, and maxText one of them.
	maxRecord  = 256 << 10
	maxReport  = 1 << 20
	maxCommand = 64
	maxText    = 300
	lockWait   = 5 * time.Second
)

// ErrTaken is wrapped by the error of a name that is in use.
var ErrTaken = errors.New("was submitted already")

// Store keeps what is known of the jobs of this user, a folder each. It is safe for concurrent use, by several processes too.
type Store struct{ dir string }

// NewStore returns the store in a state directory, which need not exist yet.
func NewStore(stateDir string) *Store { return &Store{filepath.Join(stateDir, "jobs")} }

// Folder returns the folder of a job.
func (s *Store) Folder(id string) string { return filepath.Join(s.dir, id) }

// Create makes the folder of a job and writes r as its first record. If the store is full, old jobs that have ended are removed first. The
// error wraps [ErrTaken] if there is a job of that name.
func (s *Store) Create(r Record) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := s.makeRoom(); err != nil {
		return err
	}
	err := os.Mkdir(s.Folder(r.ID), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("a job %s %w: plimsoll runs %[1]s shows it; choose another --name", r.ID, ErrTaken)
	}
	if err == nil {
		if err = s.writeRecord(r); err != nil {
			_ = s.Remove(r.ID)
		}
	}
	return err
}

// writeRecord writes the record of a job, with its texts cut to their bounds.
func (s *Store) writeRecord(r Record) error {
	r.Schema = schema
	r.Command = slices.Clone(r.Command[:min(len(r.Command), maxCommand)])
	texts := []*string{&r.At, &r.Tool, &r.Variant, &r.Project, &r.Unanswered, &r.Status.Reason, &r.Status.Detail, &r.Status.Node, &r.Status.Signal}
	for i := range r.Command {
		texts = append(texts, &r.Command[i])
	}
	for _, text := range texts { // that others choose
		*text = limit.Short(*text, maxText)
	}
	return s.writeFile(r.ID, RecordName, r)
}

// writeFile replaces a file in the folder of a job by v as JSON, durably.
func (s *Store) writeFile(id, name string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	root, err := statefile.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return atomicfile.Replacement{Root: root, Name: id + "/" + name, Perm: 0o600, Kept: atomicfile.Durable}.Write(append(body, '\n'))
}

// readFile reads a JSON file of a job into v. A file of more than maxBytes is an error.
func (s *Store) readFile(id, name string, maxBytes int64, v any) error {
	text, err := statefile.Read(filepath.Join(s.dir, id, name), maxBytes)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// Get reads the record of a job. A name without a job is an error.
func (s *Store) Get(id string) (r Record, err error) {
	if err := CheckID(id); err != nil {
		return r, err
	}
	err = s.readFile(id, RecordName, maxRecord, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("there is no job %q; plimsoll runs lists them", id)
	}
	if err != nil {
		return r, fmt.Errorf("what is kept of job %s cannot be read: %w", id, err)
	}
	r.ID, r.Folder = id, s.Folder(id)
	return r, nil
}

// Report returns the report that a job has left, nil for none yet, or none that can be read.
func (s *Store) Report(id string) *journal.Report {
	var r journal.Report
	if s.readFile(id, ReportName, maxReport, &r) != nil {
		return nil
	}
	return &r
}

// IDs returns the names of all jobs, sorted; none if there is no store yet.
func (s *Store) IDs() ([]string, error) {
	root, err := statefile.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(2 * MaxKept)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return CheckID(name) != nil })
	slices.Sort(names)
	return names, nil
}

// List returns all records that can be read, the oldest first.
func (s *Store) List() ([]Record, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	var list []Record
	for _, id := range ids {
		if r, err := s.Get(id); err == nil {
			list = append(list, r)
		}
	}
	sorting.StableBy(list, func(a, b Record) int { return a.Submitted.Compare(b.Submitted) })
	return list, nil
}

// Update reads the record of a job, calls change and writes it back, under a lock. A report in it is also written to a file of its own. The
// record of a job that has ended is not changed any more, and change is not called.
func (s *Store) Update(id string, change func(*Record)) error {
	return s.locked(context.Background(), func() error {
		r, err := s.Get(id)
		if err != nil || r.Status.Phase.Over() {
			return err
		}
		change(&r)
		if report := r.Status.Report; report != nil && s.Report(id) == nil {
			if err := s.writeFile(id, ReportName, report); err != nil {
				return err
			}
		}
		if r.Status.Phase.Over() {
			_ = os.Remove(filepath.Join(s.Folder(id), StartName)) // may not be there
		}
		return s.writeRecord(r)
	})
}

// locked calls do while no other process changes a record. It waits lockWait at most.
func (s *Store) locked(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, errors.New("another plimsoll holds the list of jobs"))
	defer cancel()
	return filelock.While(ctx, filepath.Join(s.dir, ".lock"), do)
}

// Forget calls overwrite with every file that is kept of each job, and returns the names of those of which one held the words: overwrite reports
// that of a file, and takes them out of it. It holds the lock of the records meanwhile. What starts a job that has not ended is only an error: another
// command would run.
func (s *Store) Forget(ctx context.Context, overwrite func(path string, dry bool) (held bool, err error), dry bool) (ids []string, err error) {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = s.locked(ctx, func() error {
		all, err := s.IDs()
		if err != nil {
			return err
		}
		var failed error
		for _, id := range all {
			held, err := s.forgetIn(id, overwrite, dry)
			if held {
				ids = append(ids, id)
			}
			failed = errors.Join(failed, err)
		}
		return failed
	})
	return ids, err
}

// forgetIn calls overwrite with the files of one job, and reports whether one of them held the words.
func (s *Store) forgetIn(id string, overwrite func(path string, dry bool) (bool, error), dry bool) (held bool, err error) {
	for _, name := range []string{RecordName, ReportName, OutName, ErrName, StartName} {
		has, one := overwrite(filepath.Join(s.Folder(id), name), dry || name == StartName)
		if errors.Is(one, fs.ErrNotExist) {
			continue
		}
		if has && name == StartName && !dry {
			one = fmt.Errorf("job %s has not ended and has the words in its command or its variables: end it with plimsoll cancel %[1]s, and forget again", id)
		}
		held, err = held || has, errors.Join(err, one)
	}
	return held, err
}

// Remove removes the folder of a job: its record, report and output. A job that is not there is no error.
func (s *Store) Remove(id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	root, err := statefile.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(id)
}

// makeRoom removes the oldest tenth of the jobs if there are MaxKept. Only jobs that have ended are removed; if there are none it is an
// error.
func (s *Store) makeRoom() error {
	ids, err := s.IDs()
	if err != nil || len(ids) < MaxKept {
		return err
	}
	removed, err := s.prune(MaxKept-MaxKept/10, time.Now(), false)
	if err == nil && len(removed) == 0 {
		err = fmt.Errorf("%d jobs wait or run, and no more are kept: wait until some have ended", len(ids))
	}
	return err
}

// Removed is a job of which nothing is kept any more, or would be.
type Removed struct {
	ID    string
	Bytes limit.Bytes
	Why   string
}

// Prune removes what is beyond the bounds of the store, the oldest first and nothing of a job that has not ended, and returns that. With dry
// it removes nothing.
func (s *Store) Prune(now time.Time, dry bool) ([]Removed, error) { return s.prune(MaxKept, now, dry) }

// prune removes the jobs that are over and beyond one of the bounds: at most maxJobs of them, of age, and of bytes; the oldest go first. Folders
// without a record go too, once they are old. With dry, nothing is removed and the result is what would be.
func (s *Store) prune(maxJobs int, now time.Time, dry bool) (removed []Removed, err error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	var over []Record // with what cannot be read
	size, all := map[string]limit.Bytes{}, limit.Bytes(0)
	for _, id := range ids {
		for _, name := range []string{OutName, ErrName, ReportName} {
			if info, err := os.Lstat(filepath.Join(s.Folder(id), name)); err == nil {
				size[id] += limit.Bytes(info.Size())
			}
		}
		all += size[id]
		r, err := s.Get(id)
		if err != nil {
			_, noRecord := os.Lstat(filepath.Join(s.Folder(id), RecordName))
			info, err := os.Lstat(s.Folder(id))
			if !errors.Is(noRecord, fs.ErrNotExist) || err != nil || now.Sub(info.ModTime()) < unfinishedAge {
				continue // it is being made, or may run
			}
			r = Record{Ref: Ref{ID: id}}
		} else if !r.Status.Phase.Over() {
			continue
		}
		over = append(over, r)
	}
	sorting.By(over, func(a, b Record) int {
		return cmp.Or(a.Status.Ended.Compare(b.Status.Ended), a.Submitted.Compare(b.Submitted))
	})
	count := len(ids)
	for _, r := range over {
		gone := Removed{ID: r.ID, Bytes: size[r.ID]}
		switch {
		case r.Status.Phase == "":
			gone.Why = "without a record"
		case now.Sub(r.Status.Ended) > keptAge:
			gone.Why = "over the bound of age"
		case count > maxJobs:
			gone.Why = "over the bound of count"
		case all > keptBytes:
			gone.Why = "over the bound of bytes"
		default:
			continue
		}
		if !dry {
			if err := s.Remove(r.ID); err != nil {
				return removed, err
			}
		}
		count, all, removed = count-1, all-gone.Bytes, append(removed, gone)
	}
	return removed, nil
}
