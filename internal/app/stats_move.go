package app

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// historyHead is the first line of an exported history.
	historyHead = `{"plimsoll_history":1}`
	// maxMovedRuns bounds the runs in such a file, and maxMovedBytes the file.
	maxMovedRuns  = 30_000
	maxMovedBytes = 64 << 20
)

// HistoryExported says what an exported history holds.
type HistoryExported struct {
	File string `json:"file"`
	Runs int    `json:"runs"`
	// LeftOut counts older runs for which there was no room.
	LeftOut int `json:"left_out"`
}

// HistoryImported says what an import has added.
type HistoryImported struct {
	File string `json:"file"`
	// Runs are those in the file, New those that are in no history here yet, and NoRoom those of them that are older than all that is kept.
	Runs   int  `json:"runs"`
	New    int  `json:"new"`
	NoRoom int  `json:"no_room"`
	DryRun bool `json:"dry_run"`
}

// ExportHistory writes what this host knows of runs, its own and what it has imported, the newest of each use of a tool.
func ExportHistory(ctx context.Context, c *core.Core, to io.Writer) (e HistoryExported, err error) {
	histories, err := histories(c)
	if err != nil {
		return e, err
	}
	all := func(yield func(usage.Summary, error) bool) {
		for _, h := range histories {
			for s, err := range h.Summaries() {
				if !yield(s, errors.Join(err, ctx.Err())) {
					return
				}
			}
		}
	}
	var counts []int
	for s, err := range all {
		if err != nil {
			return e, err
		}
		counts = append(counts, len(s.Runs))
	}
	most := mostOfEach(counts)
	out := bufio.NewWriter(to)
	fmt.Fprintln(out, historyHead)
	written := map[string]bool{}
	for s, err := range all {
		if err != nil {
			return e, err
		}
		from := max(0, len(s.Runs)-most)
		e.LeftOut += from
		for _, o := range observations(s, from) {
			if written[o.Run.ID] {
				continue
			}
			line, err := o.Encode()
			if err != nil {
				return e, err
			}
			written[o.Run.ID] = true
			e.Runs++
			_, _ = out.Write(append(line, '\n')) // Flush says what came of it
		}
	}
	return e, out.Flush()
}

// observations returns the runs of a history, from index from on, in the form in which other hosts are told of them.
func observations(s usage.Summary, from int) (list []usage.Observation) {
	project := s.Project.Shared
	if project == "" { // a Go program has recorded it
		project = config.ProjectOf(s.Project.Path).Shared()
	}
	for _, r := range s.Runs[from:] {
		list = append(list, usage.Observation{Project: project, Tool: s.Tool, Run: r}.WithID())
	}
	return list
}

// histories returns this host's own history and the imported one.
func histories(c *core.Core) ([]*usage.History, error) {
	state, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	o := usage.Options{Warn: func(w usage.Warning) { c.Warn(w.Text) }}
	return []*usage.History{usage.Open(state, o), usage.OpenImported(state, o)}, nil
}

// mostOfEach returns how many runs of each use of a tool fit into an exported file together; counts are the numbers of runs that there are.
func mostOfEach(counts []int) int {
	for most := usage.KeptRuns; ; most /= 2 {
		sum := 0
		for _, n := range counts {
			sum += min(n, most)
		}
		if sum <= maxMovedRuns {
			return most
		}
	}
}

// ExportHistoryTo puts an exported history in the place of another one, or where there is no file.
func ExportHistoryTo(ctx context.Context, c *core.Core, file string) (e HistoryExported, err error) {
	folder, name, err := config.OpenFolder(file)
	if err != nil {
		return e, fmt.Errorf("nothing was exported: %w", err)
	}
	defer folder.Close()
	old, err := statefile.OpenIn(folder, name, os.O_RDONLY, 0)
	switch {
	case err == nil:
		head := make([]byte, len(historyHead))
		_, err := io.ReadFull(old, head)
		_ = old.Close()
		if err != nil || string(head) != historyHead {
			return e, fmt.Errorf("nothing was exported: %s is no exported history, which would be replaced; name another file", file)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return e, fmt.Errorf("nothing was exported: %w", err)
	}
	err = atomicfile.Replacement{Root: folder, Name: name, Perm: 0o600}.Stream(func(to io.Writer) error {
		e, err = ExportHistory(ctx, c, to)
		return err
	})
	e.File = file
	return e, err
}

// ImportHistory adds the runs of an exported history, each once however often it is imported. Nothing of a file is added that has a line
// which cannot be; the error names the line.
func ImportHistory(ctx context.Context, c *core.Core, from io.Reader, name string, dryRun bool) (i HistoryImported, err error) {
	projects, n, err := readHistory(from, name)
	if err != nil {
		return i, err
	}
	i = HistoryImported{File: name, Runs: n, DryRun: dryRun}
	histories, err := histories(c)
	if err != nil {
		return i, err
	}
	known := map[string]bool{}
	for s, err := range histories[0].Summaries() {
		if err != nil {
			return i, err
		}
		for _, o := range observations(s, 0) {
			known[o.Run.ID] = true
		}
	}
	imported := histories[1]
	for _, project := range slices.Sorted(maps.Keys(projects)) {
		if err := ctx.Err(); err != nil {
			return i, err
		}
		there, err := imported.Project(project)
		if err != nil {
			return i, err
		}
		for _, s := range there {
			for _, r := range s.Runs {
				known[r.ID] = true
			}
		}
		fresh := slices.DeleteFunc(projects[project], func(o usage.Observation) bool {
			was := known[o.Run.ID]
			known[o.Run.ID] = true
			return was
		})
		i.New += len(fresh)
		if dryRun {
			continue
		}
		added, err := imported.Merge(project, fresh)
		if err != nil {
			return i, err
		}
		i.NoRoom += len(fresh) - added
	}
	return i, nil
}

// readHistory reads an exported history and checks all of it.
func readHistory(from io.Reader, name string) (projects map[string][]usage.Observation, n int, err error) {
	wrong := func(line int, format string, args ...any) (map[string][]usage.Observation, int, error) {
		return nil, 0, fmt.Errorf("%s:%d: %w; nothing of it was imported", name, line, fmt.Errorf(format, args...))
	}
	bounded := &io.LimitedReader{R: from, N: maxMovedBytes + 1}
	lines := bufio.NewScanner(bounded)
	lines.Buffer(nil, usage.MaxObservation+1)
	projects = map[string][]usage.Observation{}
	at := 0
	for lines.Scan() {
		at++
		line := bytes.TrimSpace(lines.Bytes())
		switch {
		case at == 1 && string(line) != historyHead:
			return wrong(1, "this is no history of plimsoll stats export")
		case at == 1 || len(line) == 0:
			continue
		case n == maxMovedRuns:
			return wrong(at, "there are more than %d runs", maxMovedRuns)
		}
		o, err := usage.ParseObservation(line)
		if err != nil {
			return wrong(at, "%w", err)
		}
		projects[o.Project] = append(projects[o.Project], o)
		n++
	}
	switch err := lines.Err(); {
	case bounded.N == 0:
		return wrong(at, "it is larger than %s", limit.Bytes(maxMovedBytes).Human())
	case errors.Is(err, bufio.ErrTooLong):
		return wrong(at+1, "the line is longer than %d bytes", usage.MaxObservation)
	case err != nil:
		return wrong(at+1, "%w", err)
	case at == 0:
		return wrong(1, "it is empty")
	}
	return projects, n, nil
}
