package listen

import (
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
)

// writeReady writes an address into the file that tells others of it; "" writes none. remove
// takes it away again. What is there and is no regular file (a device, a pipe) stays as it is:
// the file is put into its place as a whole.
func writeReady(file, address string) (remove func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	folder, name, err := config.OpenFolder(file)
	if err == nil {
		if fi, lookErr := folder.Stat(name); lookErr == nil && !fi.Mode().IsRegular() {
			err = errors.New("is there, and is no regular file")
		} else {
			// After a power cut nobody listens at this address.
			err = atomicfile.Replacement{Root: folder, Name: name, Perm: 0o600, Kept: atomicfile.Volatile}.Write([]byte(address + "\n"))
		}
		if err != nil {
			_ = folder.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--ready-file %s: %w; name a file in a directory that is yours to write to", file, err)
	}
	return func() {
		_ = folder.Remove(name)
		_ = folder.Close()
	}, nil
}
