//go:build !linux && !darwin && !windows

package headroom

import (
	"errors"
	"fmt"
	"io/fs"
)

// Read takes a reading of [Source.Root]; without one it returns an error, because this system itself cannot be read.
func Read(s Source) (Reading, error) {
	if s.Root != nil {
		return readLinux(s.Root)
	}
	return Reading{}, fmt.Errorf("headroom: the host's memory cannot be told here: %w", errors.ErrUnsupported)
}

// machineRoot returns nil: this machine cannot be read.
func machineRoot() fs.FS { return nil }
