package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

var enclosures atomic.Int64

// enclosure is a set of cgroup v1 groups around all that a site starts, so that a test sees
// which groups are left of its own runs, whoever else runs plimsoll on this host.
type enclosure struct{ dirs []string }

// enclose puts the site's commands into groups of their own where cgroup v1 is used; the
// enclosure is empty elsewhere, and then finds nothing.
func (s *site) enclose() *enclosure {
	t := s.t
	t.Helper()
	e := &enclosure{}
	if chosenLayer().name != "cgroup1" {
		return e
	}
	name := fmt.Sprintf("enclosure-%d-%d", os.Getpid(), enclosures.Add(1))
	for _, parent := range ownGroups(t) {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		e.dirs = append(e.dirs, dir)
	}
	script := `while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 99; shift; done; shift; exec "$@"`
	s.wrap = append(append([]string{"sh", "-c", script, "sh"}, e.dirs...), "--")
	t.Cleanup(func() {
		for _, dir := range e.dirs {
			for _, d := range groupsOf(dir) {
				body, _ := os.ReadFile(filepath.Join(d, "cgroup.procs"))
				for line := range strings.Lines(string(body)) {
					pid, _ := strconv.Atoi(strings.TrimSpace(line))
					t.Errorf("process %d is left in %s", pid, d)
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				wait.Reached(wait.Bound, func() bool { return syscall.Rmdir(d) != syscall.EBUSY })
			}
		}
	})
	return e
}

// ownGroups are this process's directories in the hierarchies that the cgroup1 layer uses.
func ownGroups(t testing.TB) (dirs []string) {
	t.Helper()
	body := testfile.Read(t, "/proc/self/cgroup")
	for line := range strings.Lines(string(body)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		mount := "/sys/fs/cgroup/" + parts[1]
		if parts[1] == "" {
			mount = "/sys/fs/cgroup/unified"
		}
		dir := filepath.Join(mount, parts[2])
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil && slices.Contains([]string{"memory", "pids", ""}, parts[1]) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// groupsOf lists a group and all below it, the deepest first.
func groupsOf(dir string) (list []string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			list = append(list, path)
		}
		return nil
	})
	slices.Reverse(list)
	return list
}

// groups are the groups inside the enclosure.
func (e *enclosure) groups() []string {
	var list []string
	for _, dir := range e.dirs {
		list = append(list, slices.DeleteFunc(groupsOf(dir), func(d string) bool { return d == dir })...)
	}
	return list
}

// lives tells whether a process is there and is no zombie.
func lives(pid int) bool {
	body, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	i := strings.LastIndexByte(string(body), ')')
	return i > 0 && len(body) > i+2 && body[i+2] != 'Z' && body[i+2] != 'X'
}

// heldRun starts a run of an agent that is ready, and that stays until in is closed.
func (s *site) heldRun(args ...string) (cmd *exec.Cmd, in *os.File, agent int) {
	s.t.Helper()
	ready := filepath.Join(s.t.TempDir(), "ready")
	cmd = s.command(append(append([]string{"run", "--quiet"}, args...), "--", "agent", "ready", ready)...)
	in = held(s.t, cmd)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	wait.Until(s.t, "the agent is ready", func() bool { return pidIn(s.t, ready) != 0 })
	return cmd, in, pidIn(s.t, ready)
}

// pidIn reads a file that the agent wrote its pid into; 0 when it has not.
func pidIn(t testing.TB, file string) int {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil || !strings.HasSuffix(string(body), "\n") {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
