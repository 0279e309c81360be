package runs

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// IdleRun is an idle run with the memory that it holds, in bytes.
type IdleRun struct {
	ID, Tool, Project string
	PID               int // of its plimsoll
	Bytes             int64
	Since             time.Time
}

// Idle returns an idle run that holds so many bytes.
func (e *Entry) Idle(bytes int64) IdleRun {
	return IdleRun{ID: e.ID, Tool: e.Tool, Project: e.Project, PID: e.PID, Bytes: bytes, Since: e.StateSince}
}

// Forgotten are idle runs that together hold much of the machine's memory, the largest first.
type Forgotten struct {
	Runs  []IdleRun
	Bytes int64
	// Total is the memory of the machine.
	Total int64
}

// ForgottenOf sums up idle runs; much reports whether they hold more than a quarter of total.
func ForgottenOf(list []IdleRun, total int64) (f Forgotten, much bool) {
	f = Forgotten{Runs: slices.Clone(list), Total: total}
	sorting.StableBy(f.Runs, func(a, b IdleRun) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, r := range f.Runs {
		f.Bytes += r.Bytes
	}
	return f, total > 0 && f.Bytes > total/4
}

// IDs returns those of the runs, at most 64.
func (f Forgotten) IDs() (list []string) {
	for _, r := range f.Runs[:min(len(f.Runs), maxForgotten)] {
		list = append(list, r.ID)
	}
	return list
}

const (
	maxForgotten = 64
	// maxNamed bounds the runs that a sentence names.
	maxNamed = 3
)

// Text says it to a person: who they are, what they hold, since when, and how to end one.
func (f Forgotten) Text(now time.Time) string {
	var names []string
	for _, r := range f.Runs[:min(len(f.Runs), maxNamed)] {
		names = append(names, fmt.Sprintf("%s in %s (%s, idle for %s: kill %d)", printable.Name(r.Tool), printable.Name(r.Project), limit.Bytes(r.Bytes).Human(),
			printable.Duration(max(0, now.Sub(r.Since))), r.PID))
	}
	if more := len(f.Runs) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s %s, %d %% of this machine's memory: %s; plimsoll top shows them, and --idle-max ends such by itself",
		limit.Count(len(f.Runs), "idle run"), map[bool]string{true: "holds", false: "hold"}[len(f.Runs) == 1]+" "+limit.Bytes(f.Bytes).Human(),
		100*f.Bytes/max(f.Total, 1), strings.Join(names, ", "))
}

// toldFile has the IDs of the runs that somebody was told of, a line each.
const toldFile = "forgotten"

// Told reports whether all of these runs were told of before, and notes them in the state directory otherwise.
func (f Forgotten) Told(stateDir string) bool {
	path := filepath.Join(stateDir, toldFile)
	text, _ := statefile.Read(path, 64<<10)
	before := strings.Fields(string(text))
	ids := f.IDs()
	if !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(before, id) }) {
		return true
	}
	_ = atomicfile.Write(path, []byte(strings.Join(ids, "\n")+"\n"), 0o600, atomicfile.Volatile) // at worst it is told once more
	return false
}
