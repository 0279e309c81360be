package footprint

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// releaseProgram takes the pages of the running program out of this process: the kernel keeps them in its cache and puts
// those back that are used again. Starting reads two thirds of the program once, and they would count as the process's own for
// ever. Nothing is lost where it fails.
func releaseProgram() {
	mappingMu.Lock()
	defer mappingMu.Unlock()
	if mappings == nil {
		mappings = findMappings()
	}
	for _, m := range mappings {
		unix.Syscall(unix.SYS_MADVISE, m.start, m.size, unix.MADV_DONTNEED)
	}
}

type mapping struct{ start, size uintptr }

// mappings are the parts of the program, which stay where they are: nothing of it is loaded later. They are looked for once.
var (
	mappings  []mapping
	mappingMu sync.Mutex
)

// findMappings returns the read-only mappings of the running program's file; nil if they cannot be read.
func findMappings() (list []mapping) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if start, size, ok := readOnly(lines.Text(), program); ok {
			list = append(list, mapping{start, size})
		}
	}
	return list
}

// readOnly returns the addresses of a mapping, a line of /proc/self/maps, when it is a part of the program that can never have been written to, else
// ok is false: a page that was written to exists nowhere else.
func readOnly(mapping, program string) (start, size uintptr, ok bool) {
	field := strings.Fields(mapping)
	// 00400000-0112d000 r-xp 00000000 fe:00 10797755  /usr/bin/plimsoll
	if len(field) < 6 || !strings.HasSuffix(mapping, " "+program) || field[1] != "r-xp" && field[1] != "r--p" {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(field[0], "-")
	first, err := strconv.ParseUint(from, 16, strconv.IntSize)
	if err != nil {
		return 0, 0, false
	}
	end, err := strconv.ParseUint(to, 16, strconv.IntSize)
	if err != nil || end <= first {
		return 0, 0, false
	}
	return uintptr(first), uintptr(end - first), true
}

// privateMemory returns the memory that only this process has, in bytes (proc_pid_statm(5)); ok is false if it cannot be read.
func privateMemory() (bytes int64, ok bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	field := strings.Fields(string(text))
	if len(field) < 3 {
		return 0, false
	}
	resident, err := strconv.ParseInt(field[1], 10, 64)
	if err != nil {
		return 0, false
	}
	shared, err := strconv.ParseInt(field[2], 10, 64)
	return (resident - shared) * int64(os.Getpagesize()), err == nil
}
