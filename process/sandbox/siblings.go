package sandbox

import (
	"os"
	"sync"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// runningCommands are the commands of the runs under way in this program. A run that adopts its
// orphans must not take another run's command for one: both are our children.
var runningCommands siblings

type siblings struct {
	mu   sync.Mutex
	pids map[int]bool
}

// start runs launch and remembers the pid before anybody can ask about it.
func (s *siblings) start(launch func() (pid int, err error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := launch()
	if err != nil {
		return err
	}
	if s.pids == nil {
		s.pids = map[int]bool{}
	}
	s.pids[pid] = true
	return nil
}

func (s *siblings) ended(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pids, pid)
}

func (s *siblings) has(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pids[pid]
}

// startedHere reports whether this process has started p itself, as the command of a run or otherwise, and so did not adopt it.
func startedHere(p proctree.Process) bool {
	if runningCommands.has(p.PID) {
		return true
	}
	if p.PPID != os.Getpid() {
		return false
	}
	started, _ := startedByGo(p.PID)
	return started
}

// Beside calls start, which starts a program that this process needs beside its runs and that is part of none, such as one that shows a
// notice. Where no kernel group holds a run, its orphans are found as children of this process, and such a program would be taken for one
// and ended. The caller calls ended when it has waited for it. What os/exec starts on Linux 5.4 and newer needs no Beside.
func Beside(start func() (pid int, err error)) (ended func(), err error) {
	var started int
	err = runningCommands.start(func() (pid int, err error) {
		started, err = start()
		return started, err
	})
	if err != nil {
		return nil, err
	}
	return func() { runningCommands.ended(started) }, nil
}

// ReapOrphans takes the exit statuses of the processes that this one adopts, until release is called. It does nothing unless this process
// adopts any: as the first of its PID namespace, which a container's program is, or as a subreaper. A run with [Spec].Subreaper does the
// same while it lasts.
func ReapOrphans() (release func()) { return adoptOrphans(false) }
