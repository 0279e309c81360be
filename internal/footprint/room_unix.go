//go:build unix

package footprint

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// leastRoom is the address space without which this program is not started, in KiB: it takes 1.3 GiB, nearly all of which Go only
// reserves. With less it ends in a crash trace somewhere; with half of that it does so before any code of ours.
const leastRoom = 1536 << 10

// tooLittle is the exit status of a failure of Plimsoll's own.
const tooLittle = 125

// init ends the process with a message if its address space is limited to less than it needs. That is looked at here, before all else, because every
// further package that is initialised takes some.
func init() {
	var room unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &room); err != nil || isEnough(uint64(room.Cur)) {
		return
	}
	_, _ = syscall.Write(2, []byte(noRoom(uint64(room.Cur))))
	os.Exit(tooLittle)
}

func isEnough(bytes uint64) bool { return bytes >= leastRoom<<10 }

func noRoom(bytes uint64) string {
	return "plimsoll: the address space of this process is limited to " + strconv.FormatUint(bytes>>20, 10) + " MiB (ulimit -v), and " +
		strconv.Itoa(leastRoom>>10) + " MiB are needed, most of them only reserved: ulimit -v unlimited, or ulimit -v " + strconv.Itoa(2*leastRoom) +
		"; what an agent may use is limited by plimsoll run --memory-max\n"
}
