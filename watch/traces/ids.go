package traces

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/plimsoll/plimsoll/internal/traceparent"
)

// ids are those of a span: 16 and 8 bytes, written in hexadecimal.
type ids struct {
	trace [16]byte
	span  [8]byte
}

// runSpan is the number of the span that stands for a whole run: records count from 1.
const runSpan = 0

// spanOf makes the id of the span that a record of a run closes.
func spanOf(run string, seq uint64) [8]byte {
	sum := digest("span", run, seq)
	return [8]byte(sum[:8])
}

// traceOf makes the id of a run's trace.
func traceOf(run string) [16]byte {
	sum := digest("trace", run, runSpan)
	return [16]byte(sum[:16])
}

// ownTrace makes the id of the trace that one request to a daemon is.
func ownTrace(run string, seq uint64) [16]byte {
	sum := digest("trace", run, seq)
	return [16]byte(sum[:16])
}

func digest(what, run string, seq uint64) [sha256.Size]byte {
	text := append([]byte("plimsoll "+what+"\x00"+run+"\x00"), make([]byte, 8)...)
	binary.BigEndian.PutUint64(text[len(text)-8:], seq)
	return sha256.Sum256(text)
}

func idsOf(p traceparent.Parent) ids { return ids{p.Trace, p.Span} }

func (i ids) traceHex() string { return hex.EncodeToString(i.trace[:]) }
func (i ids) spanHex() string  { return hex.EncodeToString(i.span[:]) }
