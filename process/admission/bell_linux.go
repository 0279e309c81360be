package admission

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// inotifyBell hears writes to the bell file.
type inotifyBell struct{ f *os.File }

// openBell watches the bell of a ledger; a host that is out of inotify instances
// (fs.inotify.max_user_instances) gets a bell that only polls.
func openBell(dir string) bell {
	path := filepath.Join(dir, "bell")
	if f, err := openRegular(path, os.O_WRONLY|os.O_CREATE); err == nil {
		f.Close()
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return deafBell{}
	}
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_MODIFY); err != nil {
		unix.Close(fd)
		return deafBell{}
	}
	return &inotifyBell{f: os.NewFile(uintptr(fd), "inotify")}
}

func (b *inotifyBell) wait(ctx context.Context, d time.Duration) error {
	if err := b.f.SetReadDeadline(time.Now().Add(d)); err != nil {
		return sleep(ctx, d)
	}
	stop := context.AfterFunc(ctx, func() { _ = b.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var events [4096]byte
	_, err := b.f.Read(events[:])
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return sleep(ctx, d)
	}
	return nil
}

func (b *inotifyBell) close() { b.f.Close() }
