package watch

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/watch/notify"
)

// noticesDir is the folder of the runtime directory with the locks of the processes that watch all runs, one lock for each way of notices.
const noticesDir = "notices"

// Notify sends notices about all runs of this user by a way, from now on, until ctx ends or end is called, which also waits for notices
// that are on their way. The error says that the way cannot work.
func Notify(ctx context.Context, c *core.Core, way config.NoticeWay) (end func(), err error) {
	dir, err := c.Dirs.EnsureState()
	if err != nil {
		return nil, err
	}
	sender, err := core.OpenNotices(way, true, c.Warn)
	if err != nil {
		return nil, err
	}
	hold := &holder{core: c, id: notify.ID(way)}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		err := notify.Watch(ctx, notify.WatchOptions{
			StateDir: dir, Sender: sender, ID: hold.id, Hold: hold.acquire,
			Warn: func(err error) { c.Warn("runs cannot be watched, so not all notices are given: " + err.Error()) },
		})
		if err != nil {
			c.Warn("no notices are given: " + err.Error())
		}
	})
	return func() {
		cancel()
		watching.Wait()
		sender.Close(core.NoticeWait)
		hold.release()
	}, nil
}

// holder holds the lock of a way: of several processes that watch all runs by the same way, only one sends.
type holder struct {
	core *core.Core
	id   string
	file *os.File // nil while another has it
	told bool
}

// acquire tries to become the one process that sends notices by this way, and reports whether this process is it. Once it is, it stays so. If
// the lock file cannot be made, it returns true, so that a notice may be sent twice but none is lost. Only one goroutine may call it.
func (h *holder) acquire() bool {
	if h.file != nil {
		return true
	}
	f, err := h.open()
	if err != nil {
		h.warn("that nobody else gives the same notices is not known: " + err.Error())
		return true
	}
	if ok, err := filelock.Try(f, filelock.Exclusive); err == nil && !ok {
		_ = f.Close()
		h.warn("another plimsoll watch or serve gives the same notices; this one gives them when that has ended")
		return false
	}
	h.file = f
	return true
}

// open opens the lock file of h, and makes it and its directory if they are not there.
func (h *holder) open() (*os.File, error) {
	runtime, err := h.core.Dirs.EnsureRuntime()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(runtime, noticesDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return statefile.Open(filepath.Join(dir, h.id+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
}

// warn gives a warning the first time that it is called, whatever the text.
func (h *holder) warn(text string) {
	if !h.told {
		h.told = true
		h.core.Warn(text)
	}
}

// release gives the lock back and closes its file, if h has opened it. The file stays on the disk.
func (h *holder) release() {
	if h.file != nil {
		_ = filelock.Release(h.file)
	}
}
