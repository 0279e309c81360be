package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

const (
	schema = 1
	// MaxKept bounds the jobs that are kept. At the bound the oldest that have ended make room.
	MaxKept = 2000
	// maxRecord and maxReport bound what is read, in bytes, maxCommand the words of the command that are kept, and maxText one of them.
	maxRecord  = 64 << 10
	maxReport  = 1 << 20
	maxCommand = 64
	maxText    = 300
	lockWait   = 5 * time.Second
)

// ErrTaken is wrapped by the error of a name that is in use.
var ErrTaken = errors.New("was submitted already")

// Store keeps what is known of the jobs of this user, a folder each. It is safe for concurrent use, by several processes too.
type Store struct{ dir string }

// StoreIn returns the store in a state directory, which need not exist yet.
func StoreIn(stateDir string) *Store { return &Store{filepath.Join(stateDir, "jobs")} }

// Folder returns the folder of a job.
func (s *Store) Folder(id string) string { return filepath.Join(s.dir, id) }

// Create makes the folder of a job and keeps r as its first record. The error wraps [ErrTaken] when there is one of that name.
func (s *Store) Create(r Record) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := s.makeRoom(); err != nil {
		return err
	}
	root, err := statefile.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	err = root.Mkdir(r.ID, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("a job %s %w: plimsoll runs %[1]s shows it; choose another --name", r.ID, ErrTaken)
	}
	if err != nil {
		return err
	}
	if err = write(root, &r); err != nil {
		_ = root.RemoveAll(r.ID)
	}
	return err
}

func write(root *os.Root, r *Record) error {
	r.Schema = schema
	r.Command = slices.Clone(r.Command[:min(len(r.Command), maxCommand)])
	for _, text := range r.texts() {
		*text = limit.Short(*text, maxText)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return atomicfile.Replacement{Root: root, Name: r.ID + "/" + RecordName, Perm: 0o600, Kept: atomicfile.Durable}.Write(append(body, '\n'))
}

// texts are those of a record that others choose.
func (r *Record) texts() []*string {
	list := []*string{&r.At, &r.Tool, &r.Variant, &r.Project, &r.Unanswered, &r.Status.Reason, &r.Status.Detail, &r.Status.Node, &r.Status.Signal}
	for i := range r.Command {
		list = append(list, &r.Command[i])
	}
	return list
}

// UnknownError is that of a name that no job has.
type UnknownError struct{ ID string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no job %q; plimsoll runs lists them", e.ID)
}

// Get returns what is kept of a job.
func (s *Store) Get(id string) (Record, error) {
	if err := CheckID(id); err != nil {
		return Record{}, err
	}
	text, err := statefile.Read(filepath.Join(s.dir, id, RecordName), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, &UnknownError{id}
	}
	if err != nil {
		return Record{}, err
	}
	r, err := parse(text)
	if err != nil {
		return Record{}, fmt.Errorf("what is kept of job %s cannot be read: %w", id, err)
	}
	r.ID, r.Folder = id, s.Folder(id)
	return r, nil
}

func parse(text []byte) (r Record, err error) {
	err = json.Unmarshal(text, &r)
	return r, err
}

// Report returns the report that a job has left, nil for none yet, or none that can be read.
func (s *Store) Report(id string) *journal.Report {
	text, err := statefile.Read(filepath.Join(s.dir, id, ReportName), maxReport)
	if err != nil {
		return nil
	}
	var r journal.Report
	if json.Unmarshal(text, &r) != nil {
		return nil
	}
	return &r
}

// IDs returns the names of all jobs.
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
	names = slices.DeleteFunc(names, func(name string) bool { return CheckID(name) != nil })
	if len(names) > 0 {
		err = nil // else the end of an empty directory
	}
	slices.Sort(names)
	return names, ignoreEOF(err)
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

// Update changes what is kept of a job, under a lock. What has ended stays as it is.
func (s *Store) Update(id string, change func(*Record)) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	r, err := s.Get(id)
	if err != nil || r.Status.Phase.Over() {
		return err
	}
	before, _ := json.Marshal(r)
	change(&r)
	root, err := statefile.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if report := r.Status.Report; report != nil && s.Report(id) == nil {
		if body, err := json.Marshal(report); err == nil {
			err = atomicfile.Replacement{Root: root, Name: id + "/" + ReportName, Perm: 0o600, Kept: atomicfile.Durable}.Write(body)
			if err != nil {
				return err
			}
		}
	}
	if r.Status.Phase.Over() {
		_ = root.Remove(id + "/" + StartName) // may not be there
	}
	if after, _ := json.Marshal(r); string(before) == string(after) {
		return nil
	}
	return write(root, &r)
}

func (s *Store) lock() (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockWait, errors.New("another plimsoll holds the list of jobs"))
	defer cancel()
	f, err := filelock.Open(ctx, filepath.Join(s.dir, "lock"))
	if err != nil {
		return nil, err
	}
	return func() { _ = filelock.Release(f) }, nil
}

// Remove removes all that is kept of a job.
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

// makeRoom removes the oldest tenth of the jobs that have ended, when there are as many as are kept.
func (s *Store) makeRoom() error {
	ids, err := s.IDs()
	if err != nil || len(ids) < MaxKept {
		return err
	}
	list, err := s.List()
	if err != nil {
		return err
	}
	ended := slices.DeleteFunc(list, func(r Record) bool { return !r.Status.Phase.Over() })
	if len(ended) == 0 {
		return fmt.Errorf("%d jobs wait or run, and no more are kept: wait until some have ended", len(ids))
	}
	sorting.By(ended, func(a, b Record) int {
		return cmp.Or(a.Status.Ended.Compare(b.Status.Ended), a.Submitted.Compare(b.Submitted))
	})
	for _, r := range ended[:min(len(ended), MaxKept/10)] {
		if err := s.Remove(r.ID); err != nil {
			return err
		}
	}
	return nil
}
