package usage

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Schema is the version of the project files. A file of a newer one is left alone.
const Schema = 1

// Bounds of one project's file.
const (
	// KeptRuns is the number of runs kept per tool and project.
	KeptRuns = 200
	// MaxTools bounds the tools in a project's file, each of their variants counted.
	MaxTools = 64
	// MaxVariants bounds the variants of one tool in a project's file beside the tool itself.
	MaxVariants = 24
	// MaxFileBytes is the largest file that is read; one that is larger is damaged,
	// because MaxTools × KeptRuns of the longest records take less.
	MaxFileBytes = 10 << 20
)

// document is one project's file.
type document struct {
	Schema  int            `json:"schema"`
	Project string         `json:"project"`
	Shared  string         `json:"shared,omitempty"`
	Path    string         `json:"path,omitempty"`
	Appends int64          `json:"appends"`
	Evicted int64          `json:"evicted_tools,omitempty"`
	Tools   []*toolHistory `json:"tools"`
}

// toolHistory holds the recorded runs of one tool, or of one variant of it.
type toolHistory struct {
	Tool     string   `json:"tool"`
	Recorded int64    `json:"recorded"`
	OOMKills int64    `json:"oom_kills"`
	Last     int64    `json:"last"` // the document's Appends when this tool was last appended to
	Runs     []record `json:"runs"`
}

// record is a Run in a file. Names are short because a file has thousands of them.
type record struct {
	Time     time.Time       `json:"time"`
	Peak     limit.Bytes     `json:"peak"`
	Anon     limit.Bytes     `json:"anon"`
	Method   string          `json:"method,omitempty"`
	Exact    bool            `json:"exact,omitempty"`
	Outcome  journal.Outcome `json:"outcome"`
	OOMKills int             `json:"oom_kills,omitempty"`
	Killed   int             `json:"killed,omitempty"`
	Limit    limit.Bytes     `json:"limit,omitempty"`
	Duration int64           `json:"ms"`
	Layer    string          `json:"layer,omitempty"`
	ExitCode int             `json:"exit"`
	Tokens   int64           `json:"tokens,omitempty"`
	Cost     float64         `json:"usd,omitempty"`
	PlanCost float64         `json:"plan_usd,omitempty"`
	Answers  uint32          `json:"answers,omitempty"`
	P99      int64           `json:"answer_p99,omitempty"`
	ID       string          `json:"id,omitempty"`
}

// toRecord returns a run as a file has it, with its time in UTC and whole milliseconds.
func toRecord(r Run) record {
	return record{
		Time: r.Time.Round(0).UTC().Truncate(time.Millisecond), Peak: r.Peak, Anon: r.PeakAnon, Method: r.Method, Exact: r.Exact,
		Outcome: r.Outcome, OOMKills: r.OOMKills, Killed: r.KilledChildren, Limit: r.Limit,
		Duration: r.Duration.Milliseconds(), Layer: r.Layer, ExitCode: r.ExitCode,
		Tokens: r.Tokens, Cost: r.Cost, PlanCost: r.PlanCost, Answers: r.Answers, P99: r.AnswerP99, ID: r.ID,
	}
}

// toRun returns a record of a file as a run. Its variant is not in the record.
func (r record) toRun() Run {
	return Run{
		Time: r.Time, Peak: r.Peak, PeakAnon: r.Anon, Method: r.Method, Exact: r.Exact,
		Outcome: r.Outcome, OOMKills: r.OOMKills, KilledChildren: r.Killed, Limit: r.Limit,
		Duration: time.Duration(r.Duration) * time.Millisecond, Layer: r.Layer, ExitCode: r.ExitCode,
		Tokens: r.Tokens, Cost: r.Cost, PlanCost: r.PlanCost, Answers: r.Answers, AnswerP99: r.P99, ID: r.ID,
	}
}

// errNewer is wrapped by the error about a file of a newer schema.
var errNewer = errors.New("newer schema")

// parse reads a project's file and checks all of it. An error that does not wrap errNewer means that the file is damaged; its text names
// the place.
func parse(body []byte, key string) (*document, error) {
	var d document
	if err := json.Unmarshal(body, &d); err != nil || d.Schema != Schema {
		return nil, whyUnusable(body, err)
	}
	if d.Project != key {
		return nil, fmt.Errorf("it belongs to the project %.140q", d.Project)
	}
	if len(d.Tools) > MaxTools {
		return nil, fmt.Errorf("it has %d tools", len(d.Tools))
	}
	if d.Appends < 0 || d.Evicted < 0 || len(d.Path) > maxPath {
		return nil, errors.New("its counts are impossible")
	}
	if err := checkShared(d.Shared); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(d.Tools))
	for i, s := range d.Tools {
		if s == nil {
			return nil, fmt.Errorf("tools[%d] is null", i)
		}
		if err := checkTool(s.Tool); err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
		if seen[s.Tool] {
			return nil, fmt.Errorf("the tool %q is there twice", s.Tool)
		}
		seen[s.Tool] = true
		if len(s.Runs) > KeptRuns || s.Recorded < int64(len(s.Runs)) || s.OOMKills < 0 || s.Last < 0 || s.Last > d.Appends {
			return nil, fmt.Errorf("%s: the counts (recorded %d, kept %d, OOM kills %d) are impossible", s.Tool, s.Recorded, len(s.Runs), s.OOMKills)
		}
		for n, r := range s.Runs {
			if r.Duration < 0 || r.Duration > maxSeconds*1000 {
				return nil, fmt.Errorf("%s: runs[%d]: the duration is %d ms", s.Tool, n, r.Duration)
			}
			if err := r.toRun().check(); err != nil {
				return nil, fmt.Errorf("%s: runs[%d]: %w", s.Tool, n, err)
			}
		}
	}
	return &d, nil
}

// whyUnusable returns the reason why a body is not a document of this schema. It looks at the version alone, because a newer schema may have other
// types under the same names.
func whyUnusable(body []byte, decoding error) error {
	var version struct {
		Schema *int64 `json:"schema"`
	}
	if err := json.Unmarshal(body, &version); err != nil {
		return fmt.Errorf("it is not the JSON it should be: %w", err)
	}
	switch {
	case version.Schema == nil:
		return errors.New("it has no schema")
	case *version.Schema > Schema:
		return fmt.Errorf("%w: schema %d, this Plimsoll knows %d", errNewer, *version.Schema, Schema)
	case *version.Schema < Schema:
		return fmt.Errorf("its schema is %d", *version.Schema)
	}
	return fmt.Errorf("it is not the JSON it should be: %w", decoding)
}

// addRun appends one run, counts it, and drops older ones of its tool beyond keep. It returns the history that was removed to make room for a new
// tool or variant, nil for none.
func (d *document) addRun(tool string, r Run, keep int) (evicted *toolHistory) {
	s, evicted := d.historyFor(tool, r.Variant)
	s.Recorded++
	s.OOMKills += int64(r.OOMKills)
	s.Runs = append(s.Runs, toRecord(r))
	for len(s.Runs) > keep {
		at := runToEvict(s.Runs, keep)
		s.Runs = slices.Delete(s.Runs, at, at+1)
	}
	return evicted
}

// historyFor returns the history of a variant, and makes it if there is none: evicted is the history that was removed for it, nil for none.
func (d *document) historyFor(tool, variant string) (s, evicted *toolHistory) {
	d.Appends++
	name := historyKey(tool, variant)
	if s = d.history(name); s == nil {
		if evicted = d.historyToEvict(tool, variant); evicted != nil {
			d.Tools = slices.DeleteFunc(d.Tools, func(s *toolHistory) bool { return s == evicted })
			d.Evicted++
		}
		s = &toolHistory{Tool: name}
		d.Tools = append(d.Tools, s)
	}
	s.Last = d.Appends
	return s, evicted
}

// runToEvict returns the index of the run to drop when there are more than keep: the oldest; or the oldest brief one when those take more
// than a quarter of the room, so that two hundred questions for a version do not push out what a build needed.
func runToEvict(runs []record, keep int) int {
	brief, first := 0, 0
	for i := len(runs) - 1; i >= 0; i-- {
		if d := runs[i].Duration; d > 0 && d < briefRun.Milliseconds() {
			brief++
			first = i
		}
	}
	if brief > max(keep/4, 1) && brief < len(runs) {
		return first
	}
	return 0
}

// historyToEvict returns the history to remove for a new tool or variant; nil while there is room. The variants of one tool push out each other, and
// variants go before whole tools.
func (d *document) historyToEvict(tool, variant string) *toolHistory {
	var own, variants []*toolHistory
	for _, s := range d.Tools {
		if of, v := splitHistoryKey(s.Tool); v != "" {
			variants = append(variants, s)
			if of == tool {
				own = append(own, s)
			}
		}
	}
	oldest := func(among []*toolHistory) *toolHistory {
		return slices.MinFunc(among, func(a, b *toolHistory) int { return cmp.Compare(a.Last, b.Last) })
	}
	switch {
	case variant != "" && len(own) >= MaxVariants:
		return oldest(own)
	case len(d.Tools) < MaxTools:
		return nil
	case len(variants) > 0:
		return oldest(variants)
	}
	return oldest(d.Tools)
}

// history returns the history under this key; nil if there is none.
func (d *document) history(tool string) *toolHistory {
	for _, s := range d.Tools {
		if s.Tool == tool {
			return s
		}
	}
	return nil
}

// runs returns the runs of one tool, each with the tool's variant.
func (s *toolHistory) runs() []Run {
	_, variant := splitHistoryKey(s.Tool)
	runs := make([]Run, len(s.Runs))
	for i, r := range s.Runs {
		runs[i] = r.toRun()
		runs[i].Variant = variant
	}
	return runs
}

const temporaryInfix = ".tmp-"

// readEntries returns at most maxEntries names of the directory, and whether there are more.
func readEntries(root *os.Root) (entries []os.DirEntry, more bool, err error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	entries, err = d.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if len(entries) > maxEntries {
		return entries[:maxEntries], true, nil
	}
	return entries, false, nil
}

// setAside renames a damaged file, so that a new one can begin, and warns. If it cannot be renamed, that is an error.
func (h *History) setAside(root *os.Root, name string, damaged *damage) error {
	path := filepath.Join(h.directory, name)
	aside, err := store.SetAside(root, name)
	if err != nil {
		return h.offError(path, err)
	}
	h.warn(Warning{
		Kind: CorruptSetAside, Path: filepath.Join(h.directory, aside), Count: 1,
		Text: fmt.Sprintf("the history file %s is damaged: %v; it is set aside as %s and a new history begins", path, damaged, aside),
	})
	return nil
}

// removeStale removes temporary files that a killed writer of the project left, if they are older than staleAfter. It goes by their age because, on
// a disk shared by two hosts, a lock may not reach the other host's writer.
func removeStale(root *os.Root, key string) {
	entries, _, err := readEntries(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		random, ok := strings.CutPrefix(e.Name(), key+temporaryInfix)
		if !ok || strings.Contains(random, ".") { // a dot: the file of another project whose key begins like this
			continue
		}
		if status, err := e.Info(); err == nil && time.Since(status.ModTime()) > staleAfter {
			_ = root.Remove(e.Name())
		}
	}
}

// offError returns an operating system's error as an OffError, with the reason that it stands for.
func (h *History) offError(path string, err error) error {
	if already, ok := errors.AsType[*OffError](err); ok {
		return already
	}
	reason := OffFailed
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		reason = OffReadOnly
	case diskspace.IsFull(err):
		reason = OffFull
	}
	return &OffError{Reason: reason, Path: path, Err: err}
}
