package sandbox

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/limit"
)

// raise raises memory.max, and memory.high with it, at which the kernel slows the run down.
func (g *group2) raise(memory, _ limit.Bytes) error {
	if err := g.writeNumber("memory.max", int64(memory)); err != nil {
		return err
	}
	g.throttle.memory = int64(memory)
	if !g.throttle.armed {
		return nil
	}
	return g.writeText("memory.high", strconv.FormatInt(int64(memory)/100*throttleAt, 10))
}

// raise raises the limit of memory and swap together first: v1 refuses one that is below the limit of memory alone.
func (g *group1) raise(memory, swap limit.Bytes) error {
	if g.held.Swap == ByKernel {
		sum := min(max(swap, 0), math.MaxInt64-memory) + memory
		if err := writeControl(g.memory, "memory.memsw.limit_in_bytes", strconv.FormatInt(int64(sum), 10)); err != nil {
			return err
		}
	}
	return writeControl(g.memory, "memory.limit_in_bytes", strconv.FormatInt(int64(memory), 10))
}

// reclaimFile takes a number of bytes that the kernel is to take from the group (Documentation/admin-guide/cgroup-v2.rst).
const reclaimFile = "memory.reclaim"

// reclaims implements reclaimer.
func (g *group2) reclaims() error {
	if _, err := os.Lstat(filepath.Join(g.dir, reclaimFile)); err != nil {
		return errors.New("the kernel has no memory.reclaim (Linux 5.19 has it)")
	}
	return nil
}

// reclaim asks for all that the group holds. The kernel takes less, and says so, where a part is in use or swap is full.
func (g *group2) reclaim(bytes int64) error {
	err := g.writeText(reclaimFile, strconv.FormatInt(bytes, 10))
	for range 10 { // a signal to this thread ends it early
		if !errors.Is(err, unix.EINTR) {
			break
		}
		err = g.writeText(reclaimFile, strconv.FormatInt(bytes, 10))
	}
	if errors.Is(err, unix.EAGAIN) {
		return nil
	}
	return err
}
