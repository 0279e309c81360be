package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

const (
	// recordFile is the name of the record in the state directory; only its owner can read it.
	recordFile = "setup.json"
	// schema is the form of the record. A program that finds a later one leaves everything alone.
	schema = 1
	// maxRecord bounds the record, in bytes: a few pieces of text of some lines.
	maxRecord = 1 << 20
)

// record lists the texts that were put into files, and the files whose servers and agents were wrapped.
type record struct {
	path       string
	Schema     int         `json:"schema"`
	Insertions []insertion `json:"insertions,omitempty"`
	Wrapped    []string    `json:"wrapped,omitempty"`
	Editors    []string    `json:"editors,omitempty"`
}

// readRecord reads the record of what setup has changed; a missing file is an empty record. A damaged one, or one of another version, is an error.
func readRecord(path string) (record, error) {
	r := record{path: path, Schema: schema}
	text, err := statefile.Read(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("what was set up before cannot be read, so nothing was changed: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s is damaged (%w), so nothing was changed; move it away, and take out by hand what is between the marks \"plimsoll setup\" in your shell's file", path, err)
	}
	if r.Schema != schema {
		return r, fmt.Errorf("%s was written by another version of plimsoll (form %d, this one knows %d), so nothing was changed: use that version", path, r.Schema, schema)
	}
	return r, nil
}

func (r record) clone() record {
	r.Insertions, r.Wrapped = slices.Clone(r.Insertions), slices.Clone(r.Wrapped)
	r.Editors = slices.Clone(r.Editors)
	return r
}

// write stores the record, or removes its file when it is empty.
func (r record) write() error {
	if len(r.Insertions)+len(r.Wrapped)+len(r.Editors) == 0 {
		if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(r.path, append(text, '\n'), 0o600, atomicfile.Durable)
}

// find returns the insertion of this kind into a file; false if there is none.
func (r record) find(what, path string) (insertion, bool) {
	i := slices.IndexFunc(r.Insertions, func(i insertion) bool { return i.What == what && i.Path == path })
	if i < 0 {
		return insertion{}, false
	}
	return r.Insertions[i], true
}

// put records an insertion, in the place of one of the same kind into the same file.
func (r *record) put(i insertion) {
	r.drop(i.What, i.Path)
	r.Insertions = append(r.Insertions, i)
}

func (r *record) drop(what, path string) {
	r.Insertions = slices.DeleteFunc(r.Insertions, func(i insertion) bool { return i.What == what && i.Path == path })
}

func (r *record) wrap(path string) {
	if !slices.Contains(r.Wrapped, path) {
		r.Wrapped = append(r.Wrapped, path)
	}
}

func (r *record) wrapAgents(path string) {
	if !slices.Contains(r.Editors, path) {
		r.Editors = append(r.Editors, path)
	}
}

// Undo takes out everything that is recorded, in each group the last first; with DryRun it changes nothing. Entries that cannot be taken
// out stay recorded and are in the error.
func Undo(ctx context.Context, o Options) (Result, error) {
	s, unlock, err := open(ctx, o)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	var failed []error
	for _, path := range slices.Backward(slices.Clone(s.record.Editors)) {
		if err := s.unwrap(whatEditors, path); err != nil {
			failed = append(failed, err)
			continue
		}
		s.record.Editors = slices.DeleteFunc(s.record.Editors, func(p string) bool { return p == path })
	}
	for _, path := range slices.Backward(slices.Clone(s.record.Wrapped)) {
		if err := s.unwrap(whatServers, path); err != nil {
			failed = append(failed, err)
			continue
		}
		s.record.Wrapped = slices.DeleteFunc(s.record.Wrapped, func(p string) bool { return p == path })
	}
	for _, i := range slices.Backward(slices.Clone(s.record.Insertions)) {
		if err := s.undoInsertion(i); err != nil {
			failed = append(failed, err)
			continue
		}
		s.record.drop(i.What, i.Path)
	}
	if !o.DryRun {
		failed = append(failed, s.record.write())
	}
	return s.result, errors.Join(failed...)
}

// unwrap takes the gateway out of a client's file, or plimsoll run out of an editor's. It is not an error if nothing is there any more.
func (s *site) unwrap(what, path string) error {
	change := Change{What: what, File: path, Target: s.target(path)}
	before, planned, err := wrap.PreviewUndo(path, what == whatEditors)
	if errors.Is(err, fs.ErrNotExist) {
		s.note(change, Left, "it is not there any more")
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	change.Diff, change.Exact = wrap.Diff(path, before, planned.After), planned.Exact
	if !planned.Changed(before) {
		s.note(change, Left, "nothing in it is behind Plimsoll any more")
		return nil
	}
	why := ""
	if !planned.Exact {
		why = "it has changed since: each server was put back by itself"
	}
	s.note(change, Undone, why)
	if s.o.DryRun {
		return nil
	}
	_, err = wrap.Undo(path, what == whatEditors)
	return err
}

// undoInsertion takes a recorded text out of its file. It is not an error if it is not there any more.
func (s *site) undoInsertion(i insertion) error {
	change := Change{What: i.What, File: i.Path}
	f, err := readTarget(i.Path, s.home, true) // where it was put
	if err != nil {
		return fmt.Errorf("%s: %w", i.Path, err)
	}
	if f.missing {
		s.note(change, Left, "it is not there any more")
		return nil
	}
	if digest(f.content) == i.Before && !i.Made {
		s.note(change, Left, "it is what it was") // the program was killed before it changed it
		return nil
	}
	base, exact, found := i.remove(f.content)
	if !found {
		if base = f.content; i.What == whatHook {
			base = withoutMarked(f.content)
		}
		if string(base) == string(f.content) {
			s.note(change, Left, "what plimsoll setup had put into it is not there any more, or was changed: look for plimsoll in it")
			return nil
		}
	}
	change.Diff, change.Exact = wrap.Diff(i.Path, f.content, base), exact
	why := ""
	if !exact {
		why = "it has changed since: only what was put in was taken out"
	}
	s.note(change, Undone, why)
	switch {
	case s.o.DryRun:
		return nil
	case i.Made && len(base) == 0:
		return removeFile(f.target, i.Folders)
	}
	return f.replace(base)
}
