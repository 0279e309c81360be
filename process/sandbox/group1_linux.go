package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
	"github.com/plimsoll/plimsoll/limit"
)

// group1 is a memory group and a pids group of cgroup v1. Where the host is hybrid, a v2
// group beside them lends cgroup.freeze and cgroup.kill; else the v1 freezer does what it can.
type group1 struct {
	memory, pids string
	cpu          string   // v1 CPU group, "" without one
	nice         bool     // the command was started nice
	freezer      string   // v1 freezer group, "" without one
	unified      string   // v2 group without controllers, "" on a pure v1 host
	unifiedDir   *os.File // for CLONE_INTO_CGROUP
	held         Strength
	nested       bool // inside the group of another run
	maxPids      int  // what pids.max is once the command runs; 0 for none
	buf          []byte
	procs        string // cgroup.procs of memory
	// What is read at every look is kept open: memory.usage_in_bytes, memory.stat, memory.oom_control, and
	// memory.kmem.usage_in_bytes, which is nil where the kernel does not count its own.
	usage, stat, oom, kmem *sysfile.File
	cpuFile                *sysfile.File  // what tells the processor time, nil before it is asked for
	kills                  map[string]int // OOM kills by group: v1 counts per group, and a removed one takes its count along
	killsGone              int
	closeOne               sync.Once
}

// newCgroup1 makes the groups of a run in the cgroup v1 hierarchies, below our own groups, and a v2 group where that can freeze it.
func newCgroup1(spec *Spec, l Limits) (_ cage, err error) {
	own, err := cgroupfs.Own()
	if err != nil {
		return nil, err
	}
	memory, pids := own.V1["memory"], own.V1["pids"]
	switch {
	case memory == "":
		return nil, errors.New("no cgroup v1 memory hierarchy is mounted")
	case pids == "":
		return nil, errors.New("no cgroup v1 pids hierarchy is mounted")
	}
	name := runPrefix + spec.ID
	g := &group1{
		memory: filepath.Join(memory, name),
		pids:   filepath.Join(pids, name),
		procs:  filepath.Join(memory, name, "cgroup.procs"),
		held:   heldByNobody,
		nested: spec.Nested,
		kills:  map[string]int{},
	}
	for _, dir := range []string{memory, pids} {
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return nil, fmt.Errorf("%s is not ours to write to: %w", dir, err)
		}
	}
	if own.Unified != "" && exists(filepath.Join(own.Unified, "cgroup.procs")) && unix.Access(own.Unified, unix.W_OK) == nil {
		g.unified = filepath.Join(own.Unified, name)
	}
	if f := own.V1["freezer"]; f != "" && g.unified == "" && unix.Access(f, unix.W_OK) == nil {
		g.freezer = filepath.Join(f, name)
	}
	g.cpu = cpuGroup1(own, name, l)
	if err := spec.remember(Remains{Layer: Cgroup1, Groups: g.groups()}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = g.close()
		}
	}()
	for _, dir := range g.groups() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the run's cgroup: %w", err)
		}
	}
	if err := g.setLimits(l); err != nil {
		return nil, err
	}
	for name, file := range map[string]**sysfile.File{
		"memory.usage_in_bytes": &g.usage, "memory.stat": &g.stat, "memory.oom_control": &g.oom, "memory.kmem.usage_in_bytes": &g.kmem,
	} {
		if *file, err = sysfile.OpenFile(filepath.Join(g.memory, name)); err != nil && file != &g.kmem {
			return nil, err
		}
	}
	if g.unified != "" {
		// A v2 tree that takes no processes (a threaded or invalid domain) costs us the
		// freezer, not the run.
		if g.unifiedDir, err = os.Open(g.unified); err != nil || !canTakeProcesses(g.unified) {
			if g.unifiedDir != nil {
				_ = g.unifiedDir.Close()
			}
			_ = unix.Rmdir(g.unified)
			g.unified, g.unifiedDir, err = "", nil, nil
		}
	}
	return g, nil
}

// canTakeProcesses reports whether a cgroup v2 group is an ordinary one (cgroup.type is domain), so that processes can be put into it.
func canTakeProcesses(group string) bool {
	body, err := sysfile.Read(filepath.Join(group, "cgroup.type"), sysfile.Small)
	return err == nil && strings.TrimSpace(string(body)) == "domain"
}

// groups returns the directories of all groups of the run.
func (g *group1) groups() []string {
	groups := []string{g.memory, g.pids}
	for _, dir := range []string{g.cpu, g.freezer, g.unified} {
		if dir != "" {
			groups = append(groups, dir)
		}
	}
	return groups
}

// setLimits writes the limits, and records in g.held which of them the kernel accepted. A missing swap account is no error.
func (g *group1) setLimits(l Limits) error {
	g.limitCPU(l)
	if l.Memory > 0 {
		if err := writeControl(g.memory, "memory.use_hierarchy", "1"); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.EINVAL) {
			return err
		}
		if err := writeLimit(g.memory, "memory.limit_in_bytes", int64(l.Memory)); err != nil {
			return err
		}
		g.held.Memory = ByKernel
		if l.Swap >= 0 {
			err := writeControl(g.memory, "memory.memsw.limit_in_bytes", strconv.FormatInt(int64(min(l.Swap, math.MaxInt64-l.Memory)+l.Memory), 10))
			switch {
			case err == nil:
				g.held.Swap = ByKernel
			case errors.Is(err, os.ErrNotExist): // no swap accounting: ask the kernel not to swap us
				if l.Swap == 0 {
					_ = writeControl(g.memory, "memory.swappiness", "0")
				}
			default:
				return err
			}
		}
	}
	if l.Pids > 0 {
		// One more until the thread that forks the command has left again (see launch).
		if err := writeControl(g.pids, "pids.max", strconv.Itoa(l.Pids+1)); err != nil {
			return err
		}
		g.maxPids = l.Pids
		g.held.Pids = ByKernel
	}
	return nil
}

// strength returns which limits the kernel accepted.
func (g *group1) strength() Strength { return g.held }

// forkedNice reports whether the command was started with a nice value of its own.
func (g *group1) forkedNice() bool { return g.nice }

// launch forks from a thread that has entered the groups. In cgroup v1 a single thread can
// do that (the tasks file); its child starts where the thread is, so that not one
// instruction of the command runs outside. The thread leaves again afterwards. The main
// thread is never used: it owns the supervisor's memory in the eyes of the kernel.
func (g *group1) launch(c *command) (pid int, err error) {
	done := make(chan struct{})
	var onOwnThread func()
	onOwnThread = func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			next := make(chan struct{})
			go func() { defer close(next); onOwnThread() }()
			<-next
			runtime.UnlockOSThread()
			return
		}
		pid, err = g.forkInside(c)
	}
	go func() { defer close(done); onOwnThread() }()
	<-done
	if err == nil && g.maxPids > 0 {
		_ = writeControl(g.pids, "pids.max", strconv.Itoa(g.maxPids)) // the thread has left
	}
	return pid, err
}

// forkInside starts the command from this thread, which the caller has locked, and returns its pid. It unlocks the thread only when that is
// out of the groups again; else the thread ends with its goroutine.
func (g *group1) forkInside(c *command) (int, error) {
	tid := strconv.Itoa(unix.Gettid())
	type move struct{ to, back string }
	moves := []move{{g.memory, filepath.Dir(g.memory)}, {g.pids, filepath.Dir(g.pids)}}
	if g.freezer != "" {
		moves = append(moves, move{g.freezer, filepath.Dir(g.freezer)})
	}
	if g.cpu != "" {
		moves = append(moves, move{g.cpu, filepath.Dir(g.cpu)})
	}
	home := true
	if c.nice != 0 {
		g.nice, home = setNice(unix.Gettid(), c.nice), false
	}
	defer func() {
		for _, m := range moves {
			if err := writeControl(m.back, "tasks", tid); err != nil {
				home = false
			}
		}
		if home {
			runtime.UnlockOSThread()
		}
	}()
	for _, m := range moves {
		if err := writeControl(m.to, "tasks", tid); err != nil {
			return 0, fmt.Errorf("enter the run's cgroup: %w", err)
		}
	}
	if g.unifiedDir == nil {
		return c.fork()
	}
	pid, err := c.forkInto(g.unifiedDir)
	if _, refused := errors.AsType[*cloneError](err); !refused {
		return pid, err
	}
	// Linux before 5.7, or a seccomp filter: the limits are v1's and hold from the first
	// instruction; the v2 group beside them gets the command a moment later.
	if pid, err = c.fork(); err == nil && writeControl(g.unified, "cgroup.procs", strconv.Itoa(pid)) != nil {
		_ = unix.Rmdir(g.unified)
		g.unified = ""
	}
	return pid, err
}

// charged returns the bytes that count against the limit; 0 when they cannot be read.
func (g *group1) charged() int64 { return readNumber(g.usage) }

// sample returns the memory of the group; anonymous, shared and kernel memory is the working set. It is zero for an empty group, and false
// if the group cannot be read.
func (g *group1) sample() (Sample, bool) {
	usage := readNumber(g.usage)
	if usage <= 0 {
		return Sample{}, usage == 0
	}
	stat := readFields(g.stat)
	kernel := int64(0)
	if g.kmem != nil {
		kernel = readNumber(g.kmem)
	}
	shmem := stat.get("total_shmem")
	s := Sample{
		Working: limit.Bytes(min(usage, stat.get("total_rss")+shmem+kernel)),
		Charged: limit.Bytes(usage),
		File:    limit.Bytes(max(0, stat.get("total_cache")-shmem)),
	}
	s.CPU, _ = g.cpuUsed()
	return s, true
}

// cpuUsed returns the processor time of all processes that are or were in the group; false where neither a v2 group nor a v1 CPU group
// counts it.
func (g *group1) cpuUsed() (time.Duration, bool) {
	if g.cpuFile == nil {
		name := filepath.Join(g.unified, "cpu.stat") // of v2, which counts without a controller
		if g.unified == "" {
			name = filepath.Join(g.cpu, "cpuacct.usage")
		}
		if g.unified == "" && g.cpu == "" {
			return 0, false
		}
		f, err := sysfile.OpenFile(name)
		if err != nil {
			return 0, false
		}
		g.cpuFile = f
	}
	if g.unified != "" {
		used := readFields(g.cpuFile).get("usage_usec")
		return time.Duration(used) * time.Microsecond, used > 0
	}
	used := readNumber(g.cpuFile) // nanoseconds
	return time.Duration(used), used > 0
}

// members appends the pids in the group. It opens the file anew each time: through an open descriptor v1 answers from a list that it keeps
// for a second.
func (g *group1) members(pids []int) ([]int, bool) {
	if g.buf == nil {
		g.buf = make([]byte, 1<<10)
	}
	for {
		g.buf = readInto(g.procs, g.buf)
		if len(g.buf) < cap(g.buf) || cap(g.buf) >= 1<<20 {
			return cgroupfs.AppendPids(pids, g.buf), true
		}
		g.buf = make([]byte, 0, 2*cap(g.buf))
	}
}

// peak returns the kernel's high-water mark; false if it cannot be read.
func (g *group1) peak() (int64, string, bool) {
	body, err := sysfile.Read(filepath.Join(g.memory, "memory.max_usage_in_bytes"), sysfile.Small)
	if err != nil {
		return 0, "", false
	}
	return cgroupfs.Number(body), "memory.max_usage_in_bytes", true
}

// forksRefused counts how often the kernel refused a new process at the limit.
func (g *group1) forksRefused() int { return countRefused(g.pids) }

// freeze uses the freezer of the v2 group if there is one, else that of v1; without either it is an error.
func (g *group1) freeze(on bool) error {
	switch {
	case g.unified != "":
		text := "0"
		if on {
			text = "1"
		}
		return writeControl(g.unified, "cgroup.freeze", text)
	case g.freezer != "":
		state := "THAWED"
		if on {
			state = "FROZEN"
		}
		return writeControl(g.freezer, "freezer.state", state)
	}
	return errors.New("neither a cgroup v2 tree nor a v1 freezer is writable")
}

// kill thaws the group first: a process in the v1 freezer ignores SIGKILL.
func (g *group1) kill() error {
	_ = g.freeze(false)
	return killGroups1(g.memory, g.pids, g.unified)
}

// killGroups1 ends everything in the v1 groups, and returns an error when processes survive for five seconds. pids.max = 0 keeps a fork
// bomb from outrunning the loop; cgroup.kill of the v2 group unified beside them, "" for none, does most of it at once.
func killGroups1(memory, pids, unified string) error {
	_ = writeControl(pids, "pids.max", "0")
	if unified != "" {
		_ = writeControl(unified, "cgroup.kill", "1")
	}
	return killLoop(func() []int {
		var all []int
		for _, root := range []string{memory, pids} {
			for _, dir := range cgroupfs.Tree(root) {
				p, _ := cgroupfs.Procs(dir)
				all = append(all, p...)
			}
		}
		return all
	})
}

// close closes the files and removes the groups. If the run around this one takes the memory group over, to count its kills, that stays.
func (g *group1) close() error {
	var err error
	g.closeOne.Do(func() {
		if g.unifiedDir != nil {
			_ = g.unifiedDir.Close()
		}
		inherited := g.handOver()
		for _, f := range []*sysfile.File{g.usage, g.stat, g.oom, g.kmem, g.cpuFile} {
			f.Close()
		}
		for _, dir := range g.groups() {
			if dir != g.memory || !inherited {
				err = errors.Join(err, removeTree(dir))
			}
		}
	})
	return err
}
