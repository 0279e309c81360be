package headroom

import (
	"io/fs"
	"os"

	"github.com/plimsoll/plimsoll/process/internal/sysfile"
)

// Read takes a reading. It fails only when the host's own memory cannot be told; cgroups
// that cannot be read are named in [Reading.Approximate].
func Read(s Source) (Reading, error) {
	if s.Root != nil {
		return readLinux(s.Root)
	}
	return readLinux(machineRoot())
}

// machine is the whole file system, of which small files are read cheaply: a supervisor reads a dozen every two seconds.
type machine struct{ fs.FS }

func (machine) readFile(name string, maxBytes int) ([]byte, error) {
	return sysfile.Read("/"+name, maxBytes)
}

func machineRoot() fs.FS { return machine{os.DirFS("/")} }
