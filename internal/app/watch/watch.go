package watch

import (
	"context"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/submit"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// Open opens the store of runs, ends the runs whose plimsoll was killed, and reads it. The caller closes it.
func Open(c *core.Core) (*runs.Store, error) {
	dir, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	if err := runs.Adopt(dir, time.Now()); err != nil {
		c.Warn("runs that were killed could not all be ended: " + err.Error())
	}
	if err := submit.Refresh(context.Background(), c); err != nil {
		c.Warn("jobs that were submitted are shown as they were: " + err.Error())
	}
	s, err := runs.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := s.Poll(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}
