package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// reclaimFile takes a number of bytes that the kernel is to take from the group (Documentation/admin-guide/cgroup-v2.rst).
const reclaimFile = "memory.reclaim"

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
