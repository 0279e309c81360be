package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/limit"
)

// History holds what the hosts of a fleet remember together. It is safe for concurrent use.
type History struct {
	bucket *fleet.Bucket
	outbox outbox
}

// New opens nothing. stateDir is that of this host, whose processes share an outbox below it.
func New(f *fleet.Fleet, stateDir string) *History {
	return &History{bucket: f.Bucket(fleet.History), outbox: outboxBelow(stateDir)}
}

// Seen has the runs of a variant of a tool that hosts of the fleet have seen, oldest first.
type Seen struct {
	// Project are those in one project, All the newest in all projects.
	Project, All []usage.Run
	// LeftOut counts values that no host can have written in earnest.
	LeftOut int
}

// Read asks the fleet. It returns when ctx ends at the latest.
func (h *History) Read(ctx context.Context, project, tool, variant string) (s Seen, err error) {
	ask := func(key, project string) (runs []usage.Run, leftOut int, err error) {
		values, err := h.bucket.Values(ctx, key)
		runs, leftOut = decode(values, project, tool, variant, time.Now())
		return runs, leftOut, err
	}
	var leftOut int
	var failed error
	var other sync.WaitGroup
	other.Go(func() { s.All, leftOut, failed = ask(toolKey(tool, variant), "") })
	s.Project, s.LeftOut, err = ask(projectKey(project, tool, variant), project)
	other.Wait()
	if err = cmp.Or(err, failed); err != nil {
		return Seen{}, err
	}
	s.LeftOut += leftOut
	return s, nil
}

// An observation is written under two keys, so that a reader asks for two however many projects a tool has.
func projectKey(project, tool, variant string) string {
	return fleet.Key("p", project, tool, variant)
}

func toolKey(tool, variant string) string { return fleet.Key("t", tool, variant) }

// future bounds the time by which another host's clock may be ahead.
const future = 24 * time.Hour

// decode returns the runs in values, each once, and counts what can't be one of this use of a tool.
func decode(values []fleet.Entry, project, tool, variant string, now time.Time) (runs []usage.Run, leftOut int) {
	known := map[string]bool{}
	for _, v := range values {
		if v.Gone {
			continue
		}
		o, err := usage.ParseObservation(v.Value)
		if err != nil || o.Tool != tool || o.Run.Variant != variant || project != "" && o.Project != project || o.Run.Time.After(now.Add(future)) {
			leftOut++
			continue
		}
		if known[o.Run.ID] {
			continue
		}
		known[o.Run.ID] = true
		runs = append(runs, o.Run)
	}
	return runs, leftOut
}

// Tells reports whether a run tells other hosts anything: what it spent, or a need. A question for a version would push out what a build needed.
func Tells(r usage.Run) bool {
	if r.Tokens > 0 {
		return true
	}
	s, ok := estimate.FromRun(r)
	return ok && (!s.Brief || s.Censored || s.Demand >= estimate.FirstGuess/10)
}

// ID returns the identity of a run of this host among those of all.
func ID(run string) string {
	host, _ := os.Hostname()
	sum := sha256.Sum256([]byte("plimsoll " + host))
	return hex.EncodeToString(sum[:5]) + "/" + limit.Clip(run, 32)
}
