package headroom

import (
	"bytes"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// Stall is one line of a pressure file: the share of the time in which tasks were stalled.
type Stall struct {
	// Avg10, Avg60 and Avg300 are percentages, 0 to 100, over that many seconds.
	Avg10, Avg60, Avg300 float64
	// Total is the stalled time since the host (or the cgroup) began.
	Total time.Duration
}

// PSI is pressure stall information of one resource (Documentation/accounting/psi.rst of Linux).
type PSI struct {
	// Some is the time in which at least one task was stalled, Full the time in which all were at once.
	Some, Full Stall
}

// Pressure is the pressure on memory and on input/output. Either is nil when the kernel
// does not report it (built without PSI, psi=0, a cgroup v1 hierarchy, another system).
//
// Look at both: memory stalls can read 0 while everything waits for pages to come back from disk, which counts as IO.
type Pressure struct {
	Memory, IO *PSI
}

// ReadPressure returns the host's pressure. It has no error: a file that can't be read leaves nil.
func ReadPressure(s Source) Pressure {
	return s.pressure("proc/pressure/memory", "proc/pressure/io")
}

// ReadCgroupPressure returns the pressure inside one cgroup v2 directory, as in [Cgroup.Dir].
func ReadCgroupPressure(s Source, dir string) Pressure {
	dir = strings.TrimPrefix(path.Clean(dir), "/")
	return s.pressure(path.Join(dir, "memory.pressure"), path.Join(dir, "io.pressure"))
}

// pressure reads both files of the source; one that cannot be read leaves nil.
func (s Source) pressure(memory, io string) Pressure {
	root := s.Root
	if root == nil {
		root = machineRoot()
	}
	return Pressure{Memory: readPSI(root, memory), IO: readPSI(root, io)}
}

// readPSI reads a pressure file; nil if there is none or it cannot be read.
func readPSI(root fs.FS, name string) *PSI {
	if root == nil {
		return nil
	}
	text, err := readFile(root, name, maxFile)
	if err != nil { // also EOPNOTSUPP, with psi=0 the files exist but do not open
		return nil
	}
	p, ok := ParsePSI(text)
	if !ok {
		return nil
	}
	return &p
}

// ParsePSI reads a pressure file; ok is false when it holds no "some" line. Older
// kernels have no "full" line for some resources; it then stays zero.
func ParsePSI(text []byte) (p PSI, ok bool) {
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 {
			continue
		}
		var into *Stall
		switch fields[0] {
		case "some":
			into, ok = &p.Some, true
		case "full":
			into = &p.Full
		default:
			continue
		}
		for _, field := range fields[1:] {
			key, value, _ := strings.Cut(field, "=")
			switch key {
			case "avg10":
				into.Avg10 = parsePercent(value)
			case "avg60":
				into.Avg60 = parsePercent(value)
			case "avg300":
				into.Avg300 = parsePercent(value)
			case "total":
				us, _ := strconv.ParseUint(value, 10, 64)
				into.Total = time.Duration(min(us, math.MaxInt64/1000)) * time.Microsecond
			}
		}
	}
	return p, ok
}

// parsePercent reads a percentage, kept within 0 and 100; 0 for what is no number.
func parsePercent(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0
	}
	return min(max(f, 0), 100)
}
