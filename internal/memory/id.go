package memory

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// An id is 128 bits in base32: 48 of milliseconds since 1970, 16 that count within one of them, and 64 of chance. Its letters are in the
// order of their values, so that ids sort as texts like the times in them.
var idCoding struct {
	once sync.Once
	made *base32.Encoding
}

func coding() *base32.Encoding {
	idCoding.once.Do(func() {
		idCoding.made = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
	})
	return idCoding.made
}

const idLen = 26

type recordID [16]byte

func (id recordID) String() string { return coding().EncodeToString(id[:]) }

func (id recordID) time() time.Time {
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC()
}

// millis returns the first bytes of the ids that are made at a time; ms is milliseconds since 1970.
func millis(ms int64) (begin [6]byte) {
	for i := range begin {
		begin[i] = byte(ms >> (40 - 8*i))
	}
	return begin
}

// parseID parses an id as people write it. Anything else is an [ErrNotFound].
func parseID(text string) (recordID, error) {
	var id recordID
	if len(text) == idLen {
		if n, err := coding().Decode(id[:], []byte(text)); err == nil && n == len(id) && id.String() == text {
			return id, nil
		}
	}
	return id, fmt.Errorf("%w: %q is not the id of a record, which has %d letters and digits", ErrNotFound, limit.Short(text, 40), idLen)
}

// idSource makes ids that grow.
type idSource struct {
	mu   sync.Mutex
	last int64
	seq  uint16
}

func (s *idSource) next(now time.Time) recordID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := max(now.UnixMilli(), s.last)
	switch {
	case ms > s.last:
		s.last, s.seq = ms, 0
	case s.seq == 1<<16-1:
		s.last, s.seq = ms+1, 0
	default:
		s.seq++
	}
	var id recordID
	begin := millis(s.last)
	copy(id[:], begin[:])
	id[6], id[7] = byte(s.seq>>8), byte(s.seq)
	_, _ = rand.Read(id[8:]) // never fails
	return id
}
