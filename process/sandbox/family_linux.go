package sandbox

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// findFamily returns the living processes of a run that another process supervises: those in its groups, else the command's descendants and
// whoever carries the run's cookie.
func findFamily(r Remains) ([]proctree.Process, error) {
	if len(r.Groups) > 0 && r.Layer != Rlimit && r.Layer != Monitor {
		nodes := make([]string, len(r.Groups))
		for i, dir := range r.Groups {
			if err := checkGroupName(dir, r.ID); err != nil {
				return nil, err
			}
			nodes[i] = limitGroup(r.Layer, dir) // of a scope without the supervisor
		}
		return groupMembers(nodes), nil
	}
	o := proctree.Options{Cookie: CookieName + "=" + r.ID}
	if r.PID > 0 && proctree.Alive(r.PID, r.Start) {
		o.Root = r.PID
	}
	tree, err := proctree.New(o)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	if _, err := tree.Scan(); err != nil {
		return nil, err
	}
	var living []proctree.Process
	for _, m := range tree.Members() {
		if p, err := proctree.Lookup(m.PID); err == nil && p.Start == m.Start && !p.Zombie() {
			living = append(living, p)
		}
	}
	return living, nil
}

// processAge returns the time since a process started.
func processAge(p proctree.Process) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	return max(0, time.Duration(now.Nano())-time.Duration(p.Start)*clockTick)
}

// ignoresHangup reports whether a process ignores SIGHUP, from the mask of /proc/PID/status (proc_pid_status(5)).
func ignoresHangup(pid int) bool {
	var room [4 << 10]byte
	body, err := sysfile.ReadProcess(pid, "status", room[:])
	if err != nil {
		return false
	}
	_, rest, found := bytes.Cut(body, []byte("\nSigIgn:\t"))
	mask, _, ended := bytes.Cut(rest, []byte("\n"))
	bits, err := strconv.ParseUint(string(mask), 16, 64)
	return found && ended && err == nil && bits&(1<<(unix.SIGHUP-1)) != 0
}

// Older returns the pid and name of a process of this user, or of root, that started before this one and whose command line match accepts;
// 0 and "" when there is none. argv has at least one word. At most maxYounger processes are looked at, and 64 KiB of each command line.
func Older(match func(argv []string) bool) (pid int, name string) {
	proc, err := os.Open("/proc")
	if err != nil {
		return 0, ""
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(maxYounger)
	began := proctree.StartTime(os.Getpid())
	if began == 0 {
		return 0, ""
	}
	for _, number := range names {
		pid, err := strconv.Atoi(number)
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, err := sysfile.Read("/proc/"+number+"/cmdline", 64<<10)
		if err != nil || len(text) == 0 {
			continue
		}
		argv := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if !match(argv) {
			continue
		}
		if p, err := proctree.Lookup(pid); err == nil && !p.Zombie() && p.Start < began && slices.Contains([]int{0, os.Geteuid()}, groupOwner("/proc/"+number)) {
			return pid, p.Name
		}
	}
	return 0, ""
}
