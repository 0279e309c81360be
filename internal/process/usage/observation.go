package usage

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// MaxObservation bounds an observation, in bytes.
const MaxObservation = 2 << 10

// Observation is a run as hosts tell each other of it. It has no path and no command line in it.
type Observation struct {
	// Project is the [Project.Shared] of the run's project.
	Project string
	Tool    string
	// Run tells what it took.
	Run Run
}

// sentRun is an Observation in a file, or on its way.
type sentRun struct {
	Project string `json:"project"`
	Tool    string `json:"tool"`
	Variant string `json:"variant,omitempty"`
	Run     record `json:"run"`
}

// WithID returns the observation with an ID. If it has none, the ID is made from a digest of its content, so that it is the same each time.
func (o Observation) WithID() Observation {
	if o.Run.ID == "" {
		line, _ := o.encode()
		sum := sha256.Sum256(line)
		o.Run.ID = "x/" + hex.EncodeToString(sum[:10])
	}
	return o
}

// Encode returns the observation as one line of JSON without its end, with an ID.
func (o Observation) Encode() ([]byte, error) {
	line, err := o.WithID().encode()
	if err == nil {
		_, err = ParseObservation(line)
	}
	return line, err
}

// encode returns the observation as one line of JSON, with the ID that it has.
func (o Observation) encode() ([]byte, error) {
	o.Run.Method, o.Run.Layer = sanitizeWord(o.Run.Method), sanitizeWord(o.Run.Layer)
	return json.Marshal(sentRun{o.Project, o.Tool, o.Run.Variant, toRecord(o.Run)})
}

// ParseObservation reads what Encode of any host has written, and believes nothing of it: what is impossible is an error.
func ParseObservation(line []byte) (Observation, error) {
	if len(line) > MaxObservation {
		return Observation{}, fmt.Errorf("%w: it has %d bytes; at most %d", ErrInvalid, len(line), MaxObservation)
	}
	var sent sentRun
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&sent); err != nil {
		return Observation{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if dec.More() {
		return Observation{}, fmt.Errorf("%w: there is more than one object", ErrInvalid)
	}
	if sent.Run.Duration < 0 || sent.Run.Duration > maxSeconds*1000 {
		return Observation{}, fmt.Errorf("%w: the duration is %d ms", ErrInvalid, sent.Run.Duration)
	}
	o := Observation{sent.Project, sent.Tool, sent.Run.toRun()}
	o.Run.Variant = sent.Variant
	if o.Run.ID == "" {
		return Observation{}, fmt.Errorf("%w: it has no ID", ErrInvalid)
	}
	if y := o.Run.Time.Year(); y < 1970 || y > 9999 {
		return Observation{}, fmt.Errorf("%w: its time is %v", ErrInvalid, o.Run.Time)
	}
	if strings.Contains(o.Tool, variantMark) {
		return Observation{}, fmt.Errorf("%w: the tool %.40q has a variant in its name", ErrInvalid, o.Tool)
	}
	return o, errors.Join(checkKey(o.Project), checkTool(o.Tool), o.Run.check())
}

// OpenImported returns the history of other hosts that was imported below a state directory. Its projects' keys are [Project.Shared].
func OpenImported(stateDir string, o Options) *History {
	h := Open(stateDir, o)
	h.directory = filepath.Join(stateDir, "imported")
	return h
}

// Merge adds runs of one project to an imported history, each once, and returns how many of them stay: of each variant of a tool those that
// ended last are kept. Runs that end in the future count as of now. The error is as that of [History.Append].
func (h *History) Merge(project string, list []Observation) (added int, err error) {
	if err := checkKey(project); err != nil || len(list) == 0 {
		return 0, err
	}
	if err := os.MkdirAll(h.directory, 0o700); err != nil {
		return 0, h.offError(h.directory, err)
	}
	root, err := statefile.OpenRoot(h.directory)
	if err != nil {
		return 0, h.offError(h.directory, err)
	}
	defer root.Close()
	unlock, err := h.lock(project)
	if err != nil {
		return 0, err
	}
	defer unlock()
	name := project + extension
	d, err := h.readOrCreate(root, name, project)
	if err != nil {
		return 0, err
	}
	d.Shared = project
	if added = d.merge(list, h.options.Keep, time.Now()); added == 0 {
		return 0, nil
	}
	removeStale(root, project)
	if err := h.writeDocument(root, name, d); err != nil {
		return 0, err
	}
	atomicfile.SyncDir(root)
	return added, nil
}

// merge adds runs whose IDs are not there yet, sorts each tool's runs by their time, and drops those beyond keep. It counts kills and runs
// anew, and returns the number of added runs that stay.
func (d *document) merge(list []Observation, keep int, now time.Time) (added int) {
	type use struct{ tool, variant string }
	uses, order := map[use][]record{}, []use{}
	for _, o := range list {
		r := toRecord(o.Run)
		if r.Time.After(now) {
			r.Time = now.UTC().Truncate(time.Millisecond)
		}
		u := use{o.Tool, o.Run.Variant}
		if uses[u] == nil {
			order = append(order, u)
		}
		uses[u] = append(uses[u], r)
	}
	for _, u := range order {
		s := d.history(historyKey(u.tool, u.variant))
		known := map[string]bool{}
		if s != nil {
			for _, r := range s.Runs {
				known[r.ID] = true
			}
		}
		fresh := map[string]bool{}
		for _, r := range uses[u] {
			if known[r.ID] || fresh[r.ID] {
				continue
			}
			if s == nil {
				s, _ = d.historyFor(u.tool, u.variant)
			}
			fresh[r.ID] = true
			s.Runs = append(s.Runs, r)
		}
		if len(fresh) == 0 {
			continue
		}
		sorting.StableBy(s.Runs, func(a, b record) int { return a.Time.Compare(b.Time) })
		for len(s.Runs) > keep {
			at := runToEvict(s.Runs, keep)
			delete(fresh, s.Runs[at].ID)
			s.Runs = slices.Delete(s.Runs, at, at+1)
		}
		added += len(fresh)
		s.OOMKills = 0
		for _, r := range s.Runs {
			s.OOMKills += int64(r.OOMKills)
		}
		s.Recorded = int64(len(s.Runs))
	}
	return added
}
