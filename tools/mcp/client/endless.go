package client

import (
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll/plimsoll/limit"
)

// endlessFactor times MaxFrame is how long a message may be before its server is taken for
// one that never ends it: so much is read over, so that one answer that is too large costs
// one request and not the server.
const endlessFactor = 2

// errEndless is why the rest of a message was not waited for.
var errEndless = errors.New("it does not end")

// endless bounds what is read of one message.
type endless struct {
	r     io.Reader
	bound int64
	read  int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read >= e.bound {
		return 0, fmt.Errorf("%w: more than %s came of one message, and its server is ended", errEndless, limit.Bytes(e.bound).Human())
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.bound-e.read)])
	e.read += int64(n)
	return n, err
}

// finish reads over what nobody wanted; true when there is an end.
func (e *endless) finish() bool {
	_, err := io.Copy(io.Discard, e)
	return !errors.Is(err, errEndless)
}
