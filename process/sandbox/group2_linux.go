package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
	"github.com/plimsoll/plimsoll/limit"
)

// group2 is one cgroup v2 node that carries the limits, with the leaf "agent" in which
// the command starts. Inner runs become siblings of that leaf, inside the same limits.
//
//	PARENT/NAME          memory.max, memory.swap.max, pids.max; memory.peak is read here
//	PARENT/NAME/agent    the command and its children
type group2 struct {
	dir     string
	held    Strength
	agent   *os.File // the leaf, for CLONE_INTO_CGROUP
	procs   *os.File // cgroup.procs of the leaf
	pidsBuf []byte
	// What is read at every look, up to every 10 ms, is kept open: memory.current, memory.stat, cpu.stat, memory.events.
	current, stat, cpuStat, events *sysfile.File
	throttle                       throttle
	closeOne                       sync.Once
	// after is run once the node is gone: the layer's own clean-up.
	after func() error
}

// agentLeaf is the name of the leaf in which the command starts.
const agentLeaf = "agent"

// newGroup2 makes the node name below parent, with its limits and its leaf. parent's subtree_control must have memory and pids already. A
// CPU controller or swap accounting that is missing is no error; held says what is in force.
func newGroup2(parent, name string, l Limits) (g *group2, err error) {
	g = &group2{dir: filepath.Join(parent, name), held: heldByNobody}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the run's cgroup: %w", err)
	}
	defer func() {
		if err != nil {
			g.closeFiles()
			_ = removeTree(g.dir)
		}
	}()
	if l.Memory > 0 {
		if err := writeLimit(g.dir, "memory.max", int64(l.Memory)); err != nil {
			return nil, err
		}
		g.held.Memory = ByKernel
		g.throttle.memory = int64(l.Memory)
		switch err := g.limitSwap(l.Swap); {
		case err == nil && l.Swap >= 0:
			g.held.Swap = ByKernel
		case err != nil && !errors.Is(err, os.ErrNotExist): // no swap accounting, or no swap
			return nil, err
		}
		if err := g.writeText("memory.oom.group", "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	if l.Pids > 0 {
		if err := g.writeNumber("pids.max", int64(l.Pids)); err != nil {
			return nil, err
		}
		g.held.Pids = ByKernel
	}
	g.limitCPU(l)
	// The leaf needs controllers only where inner runs will want limits of their own.
	if err := g.writeText("cgroup.subtree_control", "+memory +pids"); err != nil {
		return nil, err
	}
	if l.wantsCPU() {
		enableCPUController(g.dir)
	}
	leaf := filepath.Join(g.dir, agentLeaf)
	if err := os.Mkdir(leaf, 0o755); err != nil {
		return nil, fmt.Errorf("make the agent's cgroup: %w", err)
	}
	if g.agent, err = os.Open(leaf); err != nil {
		return nil, err
	}
	if g.procs, err = os.Open(filepath.Join(leaf, "cgroup.procs")); err != nil {
		return nil, err
	}
	if g.current, err = sysfile.OpenFile(filepath.Join(g.dir, "memory.current")); err != nil {
		return nil, fmt.Errorf("the memory controller is not at work in %s: %w", g.dir, err)
	}
	for name, file := range map[string]**sysfile.File{"memory.stat": &g.stat, "cpu.stat": &g.cpuStat, "memory.events": &g.events} {
		if *file, err = sysfile.OpenFile(filepath.Join(g.dir, name)); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// limitSwap sets the limit of swap; a negative one is none.
func (g *group2) limitSwap(swap limit.Bytes) error {
	if swap < 0 {
		return g.writeText("memory.swap.max", "max")
	}
	return g.writeNumber("memory.swap.max", int64(swap))
}

// writeNumber writes a number into a control file of the group.
func (g *group2) writeNumber(name string, n int64) error {
	return g.writeText(name, strconv.FormatInt(n, 10))
}

// writeText writes a text into a control file of the group.
func (g *group2) writeText(name, text string) error { return writeControl(g.dir, name, text) }

// writeControl writes one value into a control file of a group.
func writeControl(dir, name, text string) error {
	file := filepath.Join(dir, name)
	fd, err := unix.Open(file, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Write(fd, []byte(text))
		_ = unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("write %q to %s: %w", text, file, err)
	}
	return nil
}

// writeLimit writes a memory limit and reads it back: a file that only looks like a group's may take any value and hold none. The kernel
// rounds down to whole pages, which is accepted; any other value is an error.
func writeLimit(dir, name string, n int64) error {
	if err := writeControl(dir, name, strconv.FormatInt(n, 10)); err != nil {
		return err
	}
	file := filepath.Join(dir, name)
	text := readInto(file, make([]byte, 32))
	if now := cgroupfs.Number(text); now > n || now <= n-int64(os.Getpagesize()) {
		return fmt.Errorf("%s says %q after %d was written to it: the limit is not in force", file, strings.TrimSpace(string(text)), n)
	}
	return nil
}

// strength returns which limits the kernel accepted.
func (g *group2) strength() Strength { return g.held }

// launch starts the command in the leaf of the group.
func (g *group2) launch(c *command) (int, error) {
	return c.forkInto(g.agent)
}

// cpuUsed returns the processor time of all processes that are or were in the group; false where it can't be read.
func (g *group2) cpuUsed() (time.Duration, bool) {
	used := readFields(g.cpuStat).get("usage_usec") // is there without the controller too
	return time.Duration(used) * time.Microsecond, used > 0
}

// charged returns the bytes that count against the limit; 0 when they cannot be read.
func (g *group2) charged() int64 { return readNumber(g.current) }

// sample returns the memory and processor time of the group; anonymous, shared and kernel memory is the working set. It is zero for an
// empty group, and false if the group cannot be read.
func (g *group2) sample() (Sample, bool) {
	current := readNumber(g.current)
	if current <= 0 {
		return Sample{}, current == 0
	}
	stat := readFields(g.stat)
	working := stat.get("anon") + stat.get("shmem") + stat.get("kernel")
	if stat.get("kernel") == 0 { // Linux before 5.18 has the parts only
		working += stat.get("kernel_stack") + stat.get("pagetables") + stat.get("percpu") + stat.get("slab")
	}
	s := Sample{
		Working: limit.Bytes(working),
		Charged: limit.Bytes(current),
		File:    limit.Bytes(max(0, stat.get("file")-stat.get("shmem"))),
	}
	s.CPU, _ = g.cpuUsed()
	return s, true
}

// members reads the pids of the agent's leaf, up to 1 MiB of text. A group that is gone has no members.
func (g *group2) members(pids []int) ([]int, bool) {
	buf := g.pidsBuf[:cap(g.pidsBuf)]
	for {
		if len(buf) == 0 {
			buf = make([]byte, 4096)
		}
		n, err := unix.Pread(int(g.procs.Fd()), buf, 0)
		if err != nil || n < 0 {
			return pids, true // the group is gone: nobody is in it
		}
		if n < len(buf) {
			g.pidsBuf = buf
			return cgroupfs.AppendPids(pids, buf[:n]), true
		}
		if len(buf) >= 1<<20 {
			return cgroupfs.AppendPids(pids, buf[:bytes.LastIndexByte(buf, '\n')+1]), true
		}
		buf = make([]byte, 2*len(buf))
	}
}

// peak returns the kernel's high-water mark; false before Linux 5.19.
func (g *group2) peak() (int64, string, bool) {
	body, err := sysfile.Read(filepath.Join(g.dir, "memory.peak"), sysfile.Small)
	if err != nil { // Linux before 5.19
		return 0, "", false
	}
	return cgroupfs.Number(body), "memory.peak", true
}

// oomKills counts the kernel's kills in the group and in those below it. Inner runs are siblings of the leaf, with limits of their own:
// kills in them are theirs, unless this group's own limit was reached.
func (g *group2) oomKills() int {
	total := readFields(g.events).get("oom_kill")
	if total == 0 {
		return 0
	}
	leaf, err := sysfile.Read(filepath.Join(g.dir, agentLeaf, "memory.events"), sysfile.Small)
	own, localErr := sysfile.Read(filepath.Join(g.dir, "memory.events.local"), sysfile.Small)
	if err != nil || localErr != nil { // Linux before 5.2
		return int(total)
	}
	return int(min(total, max(fieldReader(leaf).get("oom_kill"), fieldReader(own).get("oom"))))
}

// forksRefused counts how often the kernel refused a new process at the limit.
func (g *group2) forksRefused() int { return countRefused(g.dir) }

// countRefused sums "max" of pids.events over a group and all below it: in which of them a refusal is counted depends on the kernel.
func countRefused(root string) int {
	total := int64(0)
	for _, dir := range cgroupfs.Tree(root) {
		if body, err := sysfile.Read(filepath.Join(dir, "pids.events"), sysfile.Small); err == nil {
			total += fieldReader(body).get("max")
		}
	}
	return int(total)
}

// freeze stops all processes of the group and of those below it, or lets them go on.
func (g *group2) freeze(on bool) error {
	text := "0"
	if on {
		text = "1"
	}
	return g.writeText("cgroup.freeze", text)
}

// kill ends all processes of the group and of those below it.
func (g *group2) kill() error { return killGroup(g.dir) }

// closeFiles closes all files that are kept open.
func (g *group2) closeFiles() {
	for _, f := range []*os.File{g.agent, g.procs} {
		if f != nil {
			_ = f.Close()
		}
	}
	for _, f := range []*sysfile.File{g.current, g.stat, g.cpuStat, g.events} {
		f.Close()
	}
}

// close closes the files and removes the groups, and then calls g.after. A second call does nothing.
func (g *group2) close() error {
	var err error
	g.closeOne.Do(func() {
		g.closeFiles()
		err = removeTree(g.dir)
		if g.after != nil {
			err = errors.Join(err, g.after())
		}
	})
	return err
}

// killGroup ends everything in a v2 group: cgroup.kill where the kernel has it (5.14),
// else a loop of SIGKILL that wins because pids.max stops new children first.
func killGroup(dir string) error {
	_ = writeControl(dir, "cgroup.freeze", "0")
	if err := writeControl(dir, "cgroup.kill", "1"); err == nil {
		return nil
	}
	_ = writeControl(dir, "pids.max", "0")
	return killLoop(func() []int {
		var pids []int
		for _, d := range cgroupfs.Tree(dir) {
			p, _ := cgroupfs.Procs(d)
			pids = append(pids, p...)
		}
		return pids
	})
}

// killLoop sends SIGKILL to what list returns until it returns nothing, for at most five seconds.
func killLoop(list func() []int) error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		pids := list()
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes survive SIGKILL (in uninterruptible sleep?), the first is pid %d", len(pids), pids[0])
		}
		time.Sleep(time.Millisecond)
	}
}

// removeTree removes a group and all below it. A group stays busy for a moment after its
// last process was reaped, so it tries for two seconds.
func removeTree(dir string) error {
	deadline := time.Now().Add(2 * time.Second)
	pause := 100 * time.Microsecond
	for {
		var busy error
		for _, d := range cgroupfs.Tree(dir) {
			if err := unix.Rmdir(d); err != nil && !errors.Is(err, unix.ENOENT) {
				busy = fmt.Errorf("remove cgroup %s: %w", d, err)
			}
		}
		if busy == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return busy
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// readNumber returns the number in a control file; 0 when it can't be read.
func readNumber(f *sysfile.File) int64 {
	text, err := f.Read(32)
	if err != nil {
		return 0
	}
	return cgroupfs.Number(text)
}

// readInto reads a file into buf, up to its capacity, and returns the part that was filled, empty when the file can't be read.
func readInto(file string, buf []byte) []byte {
	text, err := sysfile.ReadInto(file, buf[:cap(buf)])
	if err != nil {
		return buf[:0]
	}
	return text
}

// readFields reads a flat keyed control file; the result is empty when that can't be read.
func readFields(f *sysfile.File) fieldReader {
	text, err := f.Read(sysfile.Small)
	if err != nil {
		return nil
	}
	return text
}

// fieldReader is the text of a flat keyed control file: lines of "name value". get returns a value, 0 for a missing name.
type fieldReader []byte

// get returns the value after a name, 0 for a missing one.
func (f fieldReader) get(name string) int64 { return cgroupfs.Field(f, name) }

// forkInto starts c in the cgroup v2 group whose directory is open as dir (CLONE_INTO_CGROUP of clone3(2), Linux 5.7), and returns its pid.
// The error is a [*cloneError] where the kernel or a seccomp filter refuses that, which is not the command's fault.
func (c *command) forkInto(dir *os.File) (int, error) {
	c.sys.UseCgroupFD, c.sys.CgroupFD = true, int(dir.Fd())
	pid, err := c.fork()
	if err == nil {
		return pid, nil
	}
	c.sys.UseCgroupFD = false
	if refused := cloneRefused(dir); refused != nil {
		return 0, refused
	}
	return 0, err
}

// cloneError means that no process can be started in a group.
type cloneError struct {
	group string
	err   error
}

// Error names the group and what the kernel must be able to do.
func (e *cloneError) Error() string {
	return fmt.Sprintf("start a process in %s (clone3 with CLONE_INTO_CGROUP, Linux 5.7): %v", e.group, e.err)
}
func (e *cloneError) Unwrap() error { return e.err }

// cloneRefused returns a [*cloneError] when clone3 into the group is refused, and nil when the exec is: fork(2) and execve(2) report both
// with the same numbers. It starts a program that fails for a reason that clone never has. Want of memory or of processes would meet every
// other way to fork too and is nil.
func cloneRefused(dir *os.File) error {
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}}
	_, err := syscall.ForkExec("/"+strings.Repeat("x", 300), []string{"x"}, attr)
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return nil
	case err == nil: // there is no such program
		return nil
	}
	return &cloneError{group: dir.Name(), err: err}
}
