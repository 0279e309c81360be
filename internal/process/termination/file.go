package termination

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

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
