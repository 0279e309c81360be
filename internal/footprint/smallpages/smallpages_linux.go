package smallpages

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

const (
	// smallPages is set in the second start; its value is what GODEBUG was.
	smallPages = "PLIMSOLL_SMALL_PAGES"
	// prSetTHPDisable is PR_SET_THP_DISABLE of prctl(2).
	prSetTHPDisable = 41
	// madvNoHugePage is MADV_NOHUGEPAGE of madvise(2).
	madvNoHugePage = 15
)

// init executes plimsoll run anew with small pages, where the system gives every process huge ones, because Go must know before it starts.
func init() {
	if before, again := os.LookupEnv(smallPages); again {
		keepSmall(before)
		return
	}
	if len(os.Args) < 2 || os.Args[1] != "run" || !alwaysHuge() || hugeDisabled() {
		return
	}
	path, err := os.Readlink("/proc/self/exe")
	if err != nil || strings.HasSuffix(path, " (deleted)") || !setTHP(1) {
		return
	}
	before := os.Getenv("GODEBUG")
	env := []string{"GODEBUG=" + strings.TrimPrefix(before+",disablethp=1", ","), smallPages + "=" + before}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GODEBUG=") {
			env = append(env, e)
		}
	}
	_ = syscall.Exec(path, os.Args, env)
	setTHP(0) // it could not be started anew: then with huge pages
}

// keepSmall lets what this process starts have huge pages, and keeps the pages that are there as they are.
func keepSmall(before string) {
	_ = os.Unsetenv(smallPages)
	if before == "" {
		_ = os.Unsetenv("GODEBUG")
	} else {
		_ = os.Setenv("GODEBUG", before)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err == nil {
		for line := range strings.Lines(string(maps)) {
			if start, size, ok := writableMapping(line); ok {
				_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, start, size, madvNoHugePage)
			}
		}
	}
	setTHP(0)
}

// writableMapping returns the addresses of a line of /proc/self/maps; ok is false unless it is memory of this process alone that may be written to.
func writableMapping(line string) (start, size uintptr, ok bool) {
	// 1c8b35400000-1c8b35c00000 rw-p 00000000 00:00 0
	span, rest, _ := strings.Cut(line, " ")
	from, to, _ := strings.Cut(span, "-")
	a, errA := strconv.ParseUint(from, 16, 64)
	b, errB := strconv.ParseUint(to, 16, 64)
	if errA != nil || errB != nil || b <= a || !strings.HasPrefix(rest, "rw-p") {
		return 0, 0, false
	}
	return uintptr(a), uintptr(b - a), true
}

func alwaysHuge() bool {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && strings.Contains(string(mode), "[always]")
}

// hugeDisabled reports whether huge pages are off already, because whoever started this process wants that, or the kernel cannot tell.
func hugeDisabled() bool {
	off, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetTHPDisable+1, 0, 0, 0, 0, 0)
	return errno != 0 || off != 0
}

// setTHP turns huge pages off (1) or on (0) for this process, and reports whether the kernel did.
func setTHP(disabled uintptr) bool {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetTHPDisable, disabled, 0, 0, 0, 0)
	return errno == 0
}
