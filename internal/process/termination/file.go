package termination

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// MaxMessage bounds the part of a termination message that is shown, in bytes: the kubelet reads the last 4,096 of the file
// (https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/).
const MaxMessage = 4096

// own begins every text of Plimsoll's.
const own = "plimsoll: "

// errForeign reports that the container's program has written a message of its own.
var errForeign = errors.New("the container's program has written a message of its own, which stays")

// message is the file while it is open.
type message struct{ file *os.File }

// write makes text the whole content. Whoever reads meanwhile, or after we were killed in between, sees the old text or the new one with
// empty lines behind it.
func (m message) write(text string) error {
	old := make([]byte, MaxMessage)
	n, err := m.file.ReadAt(old, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	old = old[:n]
	if len(bytes.TrimSpace(old)) > 0 && !bytes.HasPrefix(old, []byte(own)) {
		return errForeign
	}
	text = limit.Short(strings.TrimRight(text, "\n"), MaxMessage-1) + "\n"
	body := []byte(text)
	for len(body) < n {
		body = append(body, '\n')
	}
	if _, err := m.file.WriteAt(body, 0); err != nil {
		return err
	}
	return m.file.Truncate(int64(len(text)))
}

// clear takes out what an earlier start of ours has left. A text of the program's stays.
func (m message) clear() error {
	old := make([]byte, len(own))
	if n, _ := m.file.ReadAt(old, 0); string(old[:n]) != own {
		return nil
	}
	return m.file.Truncate(0)
}

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
