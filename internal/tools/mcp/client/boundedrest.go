package client

import (
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll/plimsoll/limit"
)

// endlessFactor times MaxFrame is the length at which a message is taken for one that never ends. Up to that length a message that is too
// large is read and dropped, so that it costs one request and not the server.
const endlessFactor = 2

// errEndless is the error for a message that was given up because it does not end.
var errEndless = errors.New("it does not end")

// boundedRest is the rest of a message; reading fails with errEndless once bound bytes were read.
type boundedRest struct {
	r     io.Reader
	bound int64
	read  int64
}

func (e *boundedRest) Read(p []byte) (int, error) {
	if e.read >= e.bound {
		return 0, fmt.Errorf("%w: more than %s came of one message, and its server is ended", errEndless, limit.Bytes(e.bound).Human())
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.bound-e.read)])
	e.read += int64(n)
	return n, err
}

// finish reads and drops what was not read yet, and reports whether the message ended within the bound.
func (e *boundedRest) finish() bool {
	_, err := io.Copy(io.Discard, e)
	return !errors.Is(err, errEndless)
}
