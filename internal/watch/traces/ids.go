package traces

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/plimsoll/plimsoll/internal/traceparent"
)

// ids are the IDs of a span and its trace: 8 and 16 bytes, written in hexadecimal.
type ids struct {
	trace [16]byte
	span  [8]byte
}

// runSpan is the number of the span for a whole run: records count from 1.
const runSpan = 0

// spanOf returns the ID of the span that ends with record seq of a run.
func spanOf(run string, seq uint64) [8]byte {
	sum := digest("span", run, seq)
	return [8]byte(sum[:8])
}

// traceOf returns the ID of a run's trace.
func traceOf(run string) [16]byte {
	sum := digest("trace", run, runSpan)
	return [16]byte(sum[:16])
}

// ownTrace returns the ID of the trace of a single request to a daemon.
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
