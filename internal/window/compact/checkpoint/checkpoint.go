package checkpoint

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Digest identifies a run of messages from the first one on. It is that of package tokens.
type Digest = [16]byte

// A Patch replaces the client's messages [From,To) by With, raw JSON messages. With an empty range it inserts before From.
type Patch struct {
	From, To int
	With     [][]byte
}

// A Checkpoint is an entry of the log of a conversation: a cut, the result of one compaction of the messages it covers, or a
// decision, the form in which one message was first sent. It is not changed
// once it is made: it may be read by many.
type Checkpoint struct {
	// Chain is the digest of the client's messages [0,Covers).
	Chain  Digest
	Covers int
	// Generation counts how often the conversation was compacted, from 1; it is 0 for a decision.
	Generation int
	// Tokens is the size of the request after the cut.
	Tokens int
	// Patches are in order and do not overlap; their positions are those of the client's
	// messages, however often the conversation was compacted before.
	Patches []Patch
	// Recalled are the texts from a memory that the patches add to prompts.
	Recalled []string

	encoded []byte // as [Unpack] found it; nil elsewhere
}

// equal reports whether both are about the same messages and change them alike.
func (c *Checkpoint) equal(o *Checkpoint) bool {
	return c.Chain == o.Chain && c.Covers == o.Covers && c.Generation == o.Generation && c.Tokens == o.Tokens && slices.Equal(c.Recalled, o.Recalled) &&
		slices.EqualFunc(c.Patches, o.Patches, func(a, b Patch) bool {
			return a.From == b.From && a.To == b.To && slices.EqualFunc(a.With, b.With, bytes.Equal)
		})
}

// supersedes reports whether c replaces old, which may be nil, of the same messages. Of two of one generation the first stays, so that all
// processes send the same bytes, unless the second is clearly smaller: then the provider has refused the first as too long.
func (c *Checkpoint) supersedes(old *Checkpoint) bool {
	if old == nil || old.Covers != c.Covers || c.Generation > old.Generation {
		return true
	}
	return c.Generation == old.Generation && c.Tokens < old.Tokens-old.Tokens/10
}

// size returns the estimated memory of a checkpoint, in bytes.
func (c *Checkpoint) size() int64 {
	n := int64(128)
	for _, p := range c.Patches {
		n += 48
		for _, w := range p.With {
			n += int64(len(w)) + 24
		}
	}
	for _, text := range c.Recalled {
		n += int64(len(text)) + 16
	}
	return n
}

// Bounds of what is read back, far above what is ever written.
const (
	maxDecoded = 256 << 20
	maxPatches = 1 << 20
	maxCovers  = 1 << 30
)

const magic = "plimsoll-ck1\n"

// errDamaged is the reason for which a file is set aside.
var errDamaged = errors.New("checkpoint: the file is damaged")

// packers are writers of some 1 MB each.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// compress returns text in the DEFLATE format (RFC 1951).
func compress(text []byte) []byte {
	var out bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&out)
	_, _ = w.Write(text) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// unpackers are readers of some 40 KB each.
var unpackers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// decompress reverses compress. It is an error if the text is longer than [maxDecoded].
func decompress(small []byte) ([]byte, error) {
	r := unpackers.Get().(io.Reader)
	defer unpackers.Put(r)
	_ = r.(flate.Resetter).Reset(bytes.NewReader(small), nil) // never fails
	text, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
	if err == nil && len(text) > maxDecoded {
		err = fmt.Errorf("it unpacks to more than %d bytes", maxDecoded)
	}
	return text, err
}

// addChecksum returns the contents of a file with body: a header with a checksum, then body.
func addChecksum(body []byte) []byte {
	sum := sha256.Sum256(body)
	out := make([]byte, 0, len(magic)+len(sum)+len(body))
	return append(append(append(out, magic...), sum[:]...), body...)
}

// verifyChecksum checks the header and the checksum of a file and returns the rest. The error is errDamaged.
func verifyChecksum(file []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(file, []byte(magic))
	if !ok || len(rest) < sha256.Size {
		return nil, fmt.Errorf("%w: no header", errDamaged)
	}
	if sum := sha256.Sum256(rest[sha256.Size:]); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil, fmt.Errorf("%w: wrong checksum", errDamaged)
	}
	return rest[sha256.Size:], nil
}

// encode returns a checkpoint as the contents of a file.
func (c *Checkpoint) encode() []byte {
	if c.encoded != nil {
		return c.encoded
	}
	b := append(make([]byte, 0, c.size()), c.Chain[:]...)
	for _, n := range []int{c.Covers, c.Generation, c.Tokens, len(c.Patches)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, p := range c.Patches {
		for _, n := range []int{p.From, p.To, len(p.With)} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		for _, w := range p.With {
			b = append(binary.AppendUvarint(b, uint64(len(w))), w...)
		}
	}
	if len(c.Recalled) > 0 { // most have none
		b = binary.AppendUvarint(b, uint64(len(c.Recalled)))
	}
	for _, text := range c.Recalled {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return addChecksum(compress(b))
}

// decode returns the checkpoint in a file that encode made. For any other bytes the error is errDamaged.
func decode(file []byte) (*Checkpoint, error) {
	body, err := verifyChecksum(file)
	if err != nil {
		return nil, err
	}
	b, err := decompress(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	c := &Checkpoint{}
	if copy(c.Chain[:], b) < len(c.Chain) {
		return nil, fmt.Errorf("%w: it ends early", errDamaged)
	}
	b = b[len(c.Chain):]
	ok := true
	number := func(limit int) int {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(limit) {
			ok = false
			return 0
		}
		b = b[size:]
		return int(n)
	}
	c.Covers, c.Generation, c.Tokens = number(maxCovers), number(maxCovers), number(maxCovers)
	last := 0
	for range number(maxPatches) {
		p := Patch{From: number(c.Covers), To: number(c.Covers)}
		ok = ok && last <= p.From && p.From <= p.To
		last = p.To
		for range number(maxPatches) {
			n := number(len(b))
			if !ok || n > len(b) {
				return nil, fmt.Errorf("%w: it ends early", errDamaged)
			}
			p.With = append(p.With, b[:n:n])
			b = b[n:]
		}
		if !ok {
			break
		}
		c.Patches = append(c.Patches, p)
	}
	recalled := 0
	if ok && len(b) > 0 {
		recalled = number(maxPatches)
		ok = ok && recalled > 0
	}
	for range recalled {
		n := number(len(b))
		if !ok || n > len(b) {
			return nil, fmt.Errorf("%w: it ends early", errDamaged)
		}
		c.Recalled = append(c.Recalled, string(b[:n]))
		b = b[n:]
	}
	if !ok || len(b) > 0 {
		return nil, fmt.Errorf("%w: its numbers make no sense", errDamaged)
	}
	return c, nil
}
