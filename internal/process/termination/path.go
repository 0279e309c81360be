package termination

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

const (
	// DefaultPath is the path at which Kubernetes mounts the termination message of a container (terminationMessagePath).
	DefaultPath = "/dev/termination-log"
	// Variable names another file, or "off".
	Variable = "PLIMSOLL_TERMINATION_LOG"
	// Off in Variable keeps Plimsoll from writing it.
	Off = "off"
)

// Path returns the file to write: what [Variable] names, else [DefaultPath] where that is a regular file, as only a container has it. ""
// is none. The error says that the variable names something that cannot be one.
func Path(getenv func(string) string) (string, error) {
	switch named := getenv(Variable); {
	case named == Off:
		return "", nil
	case named != "":
		if !filepath.IsAbs(named) {
			return "", fmt.Errorf("%s is not the absolute path of a file; write it as in %s, or off", Variable, DefaultPath)
		}
		return named, nil
	}
	if info, err := os.Lstat(DefaultPath); err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	return DefaultPath, nil
}

// open opens the file, which is made where the directory is there. What is no regular file is refused: a link or a device would
// lead elsewhere.
func open(path string) (*os.File, error) {
	f, err := statefile.Open(path, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, statefile.ErrNotRegular) {
		return nil, fmt.Errorf("%s is no regular file; name another with %s, or off", path, Variable)
	}
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return nil, fmt.Errorf("%s cannot be written to: %w; name another file with %s, or off", path, err, Variable)
	}
	return f, nil
}
