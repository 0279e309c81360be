package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
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

func (r record) find(what, path string) (insertion, bool) {
	i := slices.IndexFunc(r.Insertions, func(i insertion) bool { return i.What == what && i.Path == path })
	if i < 0 {
		return insertion{}, false
	}
	return r.Insertions[i], true
}

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
