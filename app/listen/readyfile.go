package listen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
)

// writeReady writes an address into the file that tells others of it; "" writes none. remove
// takes it away again. What is there and is no regular file (a device, a pipe) stays as it is:
// the file is put into its place as a whole.
func writeReady(file, address string) (remove func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	fi, err := os.Stat(file)
	switch {
	case err == nil && !fi.Mode().IsRegular():
		err = errors.New("is there, and is no regular file")
	case err == nil || errors.Is(err, fs.ErrNotExist):
		// After a power cut nobody listens at this address.
		err = atomicfile.Write(file, []byte(address+"\n"), 0o600, atomicfile.Volatile)
	}
	if err != nil {
		return nil, fmt.Errorf("--ready-file %s: %w; name a file in a directory that is yours to write to", file, err)
	}
	return func() { _ = os.Remove(file) }, nil
}
