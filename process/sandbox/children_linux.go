package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// Thaw lets a run go on, both the whole of it and the descendants in r.Stopped: another plimsoll does so when the run's own supervisor is
// stopped or dead. It is safe to call for a run that is not frozen. When r.Frozen is set, the processes with the run's cookie that a signal
// has stopped are continued too.
func Thaw(r Remains) error {
	if !validID(r.ID) {
		return fmt.Errorf("thaw a run: its ID is %q", r.ID)
	}
	var failed error
	for _, root := range r.Groups {
		if err := checkGroupName(root, r.ID); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		failed = errors.Join(failed, thawGroup(root))
	}
	for _, c := range r.Stopped {
		failed = errors.Join(failed, signalAll([]proctree.Process{c.process()}, false))
	}
	// Also a run with groups is stopped by signals where none of them has a freezer.
	if !r.Frozen.IsZero() {
		failed = errors.Join(failed, continueByCookie(r.ID))
	}
	return failed
}

// userHz is the unit of start times in /proc (proc_pid_stat(5)); every architecture that
// Go runs on has 100.
const userHz = 100

// justStarted reports whether a process began less than half a second ago.
func justStarted(p proctree.Process) bool {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return false
	}
	ticks := uint64(now.Nano()) / uint64(time.Second/userHz)
	return ticks < p.Start+userHz/2
}

// thawGroup thaws a group and all below it.
func thawGroup(root string) error {
	var failed error
	for _, dir := range cgroupfs.Tree(root) {
		for file, text := range map[string]string{"cgroup.freeze": "0", "freezer.state": "THAWED"} {
			if !exists(filepath.Join(dir, file)) {
				continue
			}
			if err := writeControl(dir, file, text); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
	}
	return failed
}

// continueByCookie sends SIGCONT to the stopped processes that have the cookie of run id in their environment.
func continueByCookie(id string) error {
	tree, err := proctree.New(proctree.Options{Cookie: CookieName + "=" + id})
	if err != nil {
		return err
	}
	defer tree.Close()
	if _, err := tree.Scan(); err != nil {
		return err
	}
	var stopped []proctree.Process
	for _, p := range tree.Members() {
		if now, err := proctree.Lookup(p.PID); err == nil && now.Start == p.Start && now.State == 'T' {
			stopped = append(stopped, now)
		}
	}
	return signalAll(stopped, false)
}
