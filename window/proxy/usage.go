package proxy

import (
	"io"

	"github.com/plimsoll/plimsoll/window/wire"
)

// tapLimit bounds what is unpacked of one answer to read its usage: no answer of a model
// is near it, and a packed bomb is cheap to send and dear to unpack.
const tapLimit = 64 << 20

// A tap reads along in an answer that streams by. It never fails and never holds it up
// for longer than unpacking takes.
type tap struct {
	reader *wire.Answer
	pipe   *io.PipeWriter // to the goroutine that unpacks; nil when nothing is packed
	done   chan struct{}
}

// newTap reads along from the first byte that see is given on. In an answer that is packed
// the bytes held before must be given again.
func newTap(encoding string, reader *wire.Answer) *tap {
	t := &tap{reader: reader}
	if isIdentity(encoding) {
		return t
	}
	r, w := io.Pipe()
	t.pipe, t.done = w, make(chan struct{})
	go func() {
		defer close(t.done)
		if plain, err := unpacker(encoding, r); err == nil {
			_, _ = io.Copy(reader, io.LimitReader(plain, tapLimit))
			_ = plain.Close()
		}
		_, _ = io.Copy(io.Discard, r) // the rest streams by unseen
	}()
	return t
}

func (t *tap) see(p []byte) {
	if t.pipe == nil {
		_, _ = t.reader.Write(p)
		return
	}
	_, _ = t.pipe.Write(p)
}

// close returns once everything that was seen has been read.
func (t *tap) close() {
	if t.pipe != nil {
		_ = t.pipe.Close()
		<-t.done
	}
}
