package proxy

import (
	"bytes"
	"io"
	"slices"

	"github.com/plimsoll/plimsoll/window/wire"
)

// tapLimit bounds what is unpacked of one answer to read its usage: no answer of a model
// is near it, and a packed bomb is cheap to send and dear to unpack.
const tapLimit = 64 << 20

// A tap parses an answer as it passes to the client. It never fails, and delays the answer only by decompressing it.
type tap struct {
	reader *wire.Answer
	skim   bool           // lines that cannot matter need not be read
	inLine bool           // the reader was given the beginning of a line
	pipe   *io.PipeWriter // to the goroutine that unpacks; nil when nothing is packed
	done   chan struct{}
}

// newTap returns a tap that parses with reader what is given to see. If the answer is compressed, see must be given all of it, also the
// bytes that were held back before. skim means that it is an event stream of which most events need not be parsed once the content has
// begun. watch, if not nil, sees what is decompressed.
func newTap(encoding string, reader *wire.Answer, skim bool, watch *stallWatch) *tap {
	t := &tap{reader: reader, inLine: true}
	if isIdentity(encoding) {
		t.skim = skim
		return t
	}
	r, w := io.Pipe()
	t.pipe, t.done = w, make(chan struct{})
	go func() {
		defer close(t.done)
		if plain, err := newUnpacker(encoding, r); err == nil {
			_, _ = io.Copy(shown{reader, watch}, io.LimitReader(plain, tapLimit))
			_ = plain.Close()
		}
		if watch != nil {
			watch.blind()
		}
		_, _ = io.Copy(io.Discard, r) // the rest streams by unseen
	}()
	return t
}

// shown is a writer that gives unpacked bytes to a reader, and to a watch if there is one.
type shown struct {
	reader *wire.Answer
	watch  *stallWatch
}

func (s shown) Write(p []byte) (int, error) {
	if s.watch != nil {
		s.watch.see(p)
	}
	return s.reader.Write(p)
}

// see passes the next bytes of the answer to the reader. Compressed ones are decompressed in another goroutine.
func (t *tap) see(p []byte) {
	switch {
	case t.pipe != nil:
		_, _ = t.pipe.Write(p)
	case t.skim && t.reader.Begun:
		t.skimLines(p)
	default:
		_, _ = t.reader.Write(p)
	}
}

// tellTale are the strings of which a line must hold one to matter once the content has begun:
// the usage, an error, that the window is full, why a chat ended, or an item that calls a tool.
var tellTale = [][]byte{
	[]byte(`usage":{`), []byte(`usage": {`), []byte(`"error`), []byte("window_exceeded"), []byte(`finish_reason":"`), []byte(`finish_reason": "`), []byte(`_call"`),
}

var lineEnd = []byte{'\n'}

// skimLines passes to the reader only blocks of whole lines that contain one of the words in tellTale, because searching for a few words
// costs a third of parsing everything.
func (t *tap) skimLines(p []byte) {
	if t.inLine { // its beginning was read, so is its end
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			_, _ = t.reader.Write(p)
			return
		}
		_, _ = t.reader.Write(p[:end+1])
		p = p[end+1:]
	}
	last := bytes.LastIndexByte(p, '\n') + 1
	if block := p[:last]; slices.ContainsFunc(tellTale, func(word []byte) bool { return bytes.Contains(block, word) }) {
		_, _ = t.reader.Write(block)
	} else if last > 0 {
		_, _ = t.reader.Write(lineEnd) // whatever event was being read is over
	}
	if t.inLine = last < len(p); t.inLine {
		_, _ = t.reader.Write(p[last:])
	}
}

// close waits until all bytes that were given to see are parsed.
func (t *tap) close() {
	if t.pipe != nil {
		_ = t.pipe.Close()
		<-t.done
	}
}
