package sandbox

import (
	"math"
	"strconv"

	"github.com/plimsoll/plimsoll/limit"
)

// raise raises memory.max, and memory.high with it, at which the kernel slows the run down.
func (g *group2) raise(memory, _ limit.Bytes) error {
	if err := g.write("memory.max", int64(memory)); err != nil {
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
