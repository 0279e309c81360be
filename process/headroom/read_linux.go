package headroom

import (
	"io/fs"
	"os"
)

// Read takes a reading. It fails only when the host's own memory cannot be told; cgroups
// that cannot be read are named in [Reading.Approximate].
func Read(s Source) (Reading, error) {
	if s.Root != nil {
		return readLinux(s.Root)
	}
	return readLinux(machineRoot())
}

func machineRoot() fs.FS { return os.DirFS("/") }
