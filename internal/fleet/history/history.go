// Package history shares what runs took between hosts: the peaks and the spend of a tool, by project and by variant.
//
//	h := history.New(f, stateDir)
//	err := h.Keep(observation)                     // into the outbox, which outlives this process
//	left, err := h.Deliver(ctx)                    // to the fleet, with what others have left there
//	seen, err := h.Read(ctx, project, tool, variant)
//
// An observation is kept before it is delivered and given up after the server has it, so a kill at any moment loses none. One that is
// delivered twice has one identity, and counts once. What a fleet says is checked like a file from outside: what is impossible is left out
// and counted. Tests use real servers, and processes that are killed.
package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// History holds what the hosts of a fleet remember together. It is safe for concurrent use.
type History struct {
	bucket *fleet.Bucket
	outbox outbox
}

// New opens nothing. stateDir is that of this host, whose processes share an outbox below it.
func New(f *fleet.Fleet, stateDir string) *History {
	return &History{bucket: f.Bucket(fleet.History), outbox: newOutbox(stateDir)}
}

// Observed has the runs of a variant of a tool that hosts of the fleet have observed, oldest first.
type Observed struct {
	// Project are those in one project, All the newest in all projects.
	Project, All []usage.Run
	// LeftOut counts values that no host can have written in earnest.
	LeftOut int
}

// Read asks the fleet for the runs of a tool, those of one project and those of all, at the same time. It returns when ctx ends at the latest.
func (h *History) Read(ctx context.Context, project, tool, variant string) (s Observed, err error) {
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
		return Observed{}, err
	}
	s.LeftOut += leftOut
	return s, nil
}

// projectKey and toolKey return the two keys of an observation, so that a reader asks for two however many projects a tool has.
func projectKey(project, tool, variant string) string {
	return fleet.Key("p", project, tool, variant)
}

func toolKey(tool, variant string) string { return fleet.Key("t", tool, variant) }

// future bounds the time by which another host's clock may be ahead.
const future = 24 * time.Hour

// decode returns the runs in values, each once, without removed ones. leftOut counts invalid values, and those of another tool, variant or
// project or from the future.
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

// IsUseful reports whether a run tells other hosts anything: it has spent tokens, or its need is known and it was not both brief and small. Else a
// question for a version would push out what a build needed.
func IsUseful(r usage.Run) bool {
	if r.Tokens > 0 {
		return true
	}
	s, ok := estimate.FromRun(r)
	return ok && (!s.Brief || s.Censored || s.Demand >= estimate.FirstGuess/10)
}

// RunID returns the identity of a run of this host among those of all hosts: a digest of the host's name, and the run's own id.
func RunID(run string) string {
	host, _ := os.Hostname()
	sum := sha256.Sum256([]byte("plimsoll " + host))
	return hex.EncodeToString(sum[:5]) + "/" + limit.Clip(run, 32)
}

// batch is the number of observations that are delivered before the outbox is written anew: a process that is killed in between leaves as
// many to be delivered again.
const batch = 200

// Deliver sends the observations in the outbox to the fleet, those of this process and of all others of the host, until none is left or ctx
// ends. It returns how many are left. If another process is delivering, it does nothing and returns 0.
func (h *History) Deliver(ctx context.Context) (left int, err error) {
	if _, err := os.Lstat(h.outbox.path); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	turn, err := statefile.Open(h.outbox.path+".turn", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = filelock.Release(turn) }()
	if mine, err := filelock.Try(turn, filelock.Exclusive); err != nil || !mine {
		return 0, err
	}
	var gone map[string]bool
	var failed error
	for {
		var lines [][]byte
		err := h.outbox.whileLocked(func() error {
			all, dropped, err := h.outbox.readLines()
			if err != nil {
				return err
			}
			lines = slices.DeleteFunc(all, func(line []byte) bool { return gone[string(line)] })
			if len(lines) == 0 {
				dropped = 0
				// Given up within the lock: whoever adds after it finds nobody at work, and delivers.
				filelock.Unlock(turn)
			} else if len(gone) == 0 {
				return nil
			}
			return h.outbox.replaceLines(lines, dropped)
		})
		if err := errors.Join(failed, err); err != nil || len(lines) == 0 {
			return len(lines), err
		}
		gone, failed = h.postLines(ctx, lines[:min(batch, len(lines))])
	}
}

// Send gives one observation to the fleet without the outbox.
func (h *History) Send(ctx context.Context, o usage.Observation) error {
	line, err := o.Encode()
	if err == nil {
		_, err = h.postLines(ctx, [][]byte{line})
	}
	return err
}

// postLines posts lines and returns those that can be removed: they were written, or are not valid.
func (h *History) postLines(ctx context.Context, lines [][]byte) (gone map[string]bool, err error) {
	gone = map[string]bool{}
	var posts []fleet.Post
	var of []string
	for _, line := range lines {
		o, err := usage.ParseObservation(line)
		if err != nil {
			gone[string(line)] = true
			continue
		}
		posts = append(posts,
			fleet.Post{Key: projectKey(o.Project, o.Tool, o.Run.Variant), ID: o.Run.ID + "/p", Value: line},
			fleet.Post{Key: toolKey(o.Tool, o.Run.Variant), ID: o.Run.ID + "/t", Value: line})
		of = append(of, string(line))
	}
	if len(posts) == 0 {
		return gone, nil
	}
	done, err := h.bucket.Post(ctx, posts)
	for i, line := range of {
		if done[2*i] && done[2*i+1] {
			gone[line] = true
		}
	}
	return gone, err
}
