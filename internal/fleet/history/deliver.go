package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// batch is the number of observations that are delivered before the outbox is written anew: a process that is killed in between leaves as
// many to be delivered again.
const batch = 200

// Deliver gives what waits in the outbox to the fleet, of this process and of all others of the host, until nothing waits or ctx ends. It
// returns what waits still. Where another process delivers already it has nothing to do.
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
		err := h.outbox.locked(func() error {
			all, dropped, err := h.outbox.read()
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
			return h.outbox.write(lines, dropped)
		})
		if err := errors.Join(failed, err); err != nil || len(lines) == 0 {
			return len(lines), err
		}
		gone, failed = h.send(ctx, lines[:min(batch, len(lines))])
	}
}

// Send gives one observation to the fleet without the outbox.
func (h *History) Send(ctx context.Context, o usage.Observation) error {
	line, err := o.Encode()
	if err == nil {
		_, err = h.send(ctx, [][]byte{line})
	}
	return err
}

// send posts lines and returns those that need not be posted again: they are there, or nobody could read them.
func (h *History) send(ctx context.Context, lines [][]byte) (gone map[string]bool, err error) {
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
