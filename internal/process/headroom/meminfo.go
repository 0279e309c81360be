package headroom

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"

	"github.com/plimsoll/plimsoll/limit"
)

// Files under /proc and /sys are small; what is larger is cut here. The mount table alone
// grows with the host: 4 MiB are some 20,000 mounts.
const (
	maxFile   = 64 << 10
	maxMounts = 4 << 20
)

// ErrNoMemTotal means that a meminfo file does not have the size of memory.
var ErrNoMemTotal = errors.New("no MemTotal line")

// readLinux takes a reading of a Linux file system.
func readLinux(root fs.FS) (Reading, error) { return readPlaces(root, findCgroups(root)) }

// readPlaces takes a reading; p says in which cgroups this process is.
func readPlaces(root fs.FS, p places) (Reading, error) {
	text, err := readFile(root, "proc/meminfo", maxFile)
	if err != nil {
		return Reading{}, fmt.Errorf("headroom: cannot tell the host's memory: %w; is /proc mounted?", err)
	}
	r, err := parseMeminfo(text)
	if err != nil {
		return Reading{}, fmt.Errorf("headroom: /proc/meminfo: %w", err)
	}
	r.readCgroups(root, p)
	return r, nil
}

// parseMeminfo parses /proc/meminfo (proc_meminfo(5)); its unit "kB" is 1024 bytes. Without MemTotal it is ErrNoMemTotal; without
// MemAvailable, which old kernels lack, that is estimated and the reading is marked as approximate.
func parseMeminfo(text []byte) (Reading, error) {
	var r Reading
	var free, inactiveFile, slab limit.Bytes
	available := false
	for line := range bytes.Lines(text) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		var into *limit.Bytes
		switch string(name) {
		case "MemTotal":
			into = &r.MemTotal
		case "MemAvailable":
			into = &r.MemAvailable
		case "MemFree":
			into = &free
		case "Inactive(file)":
			into = &inactiveFile
		case "SReclaimable":
			into = &slab
		case "SwapTotal":
			into = &r.SwapTotal
		case "SwapFree":
			into = &r.SwapFree
		default:
			continue
		}
		value = bytes.TrimSpace(value)
		digits, unit := value, false
		if i := bytes.IndexAny(value, " \t"); i >= 0 {
			digits, unit = value[:i], true
		}
		n, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil || n < 0 {
			continue
		}
		if unit {
			n = min(n, math.MaxInt64>>10) << 10
		}
		*into = limit.Bytes(n)
		available = available || into == &r.MemAvailable
	}
	if r.MemTotal <= 0 {
		return Reading{}, ErrNoMemTotal
	}
	if !available { // before Linux 3.14
		r.MemAvailable = AddCapped(free, AddCapped(inactiveFile, slab/2))
		r.Approximate = append(r.Approximate, "the kernel gives no MemAvailable: free pages, inactive file pages and half the reclaimable slab are used instead")
	}
	r.MemAvailable = min(r.MemAvailable, r.MemTotal)
	r.SwapFree = min(r.SwapFree, r.SwapTotal)
	return r, nil
}

// readFile reads at most maxBytes of the file name.
func readFile(root fs.FS, name string, maxBytes int) ([]byte, error) {
	if m, ok := root.(interface {
		readFile(name string, maxBytes int) ([]byte, error)
	}); ok {
		return m.readFile(name, maxBytes)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(maxBytes)))
}
