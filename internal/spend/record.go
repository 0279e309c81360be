package spend

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A book is a file of records of recordSize bytes, each with a checksum. A record lies within one sector, so that a writer that dies leaves
// the old one or the new one. The first record is the header.
const (
	recordSize = 256
	bookMagic  = "plimsoll spend 1"
)

// The kinds of records. The own record of a process that has ended becomes a payment while it is added to a sum: whoever finds one finishes it,
// and the sum's number tells whether that was done.
const (
	recordFree byte = iota
	recordSum
	recordOwn
	recordPayment
	recordShare // with a [Team]: what this host may spend of a project's budgets, or of those over all projects
)

var errDamaged = errors.New("damaged")

// projectID identifies a project in a book.
type projectID [16]byte

// ofAll stands in the share record of the budgets over all projects.
var ofAll projectID

// hashProject returns the id of a project in books, from its key.
func hashProject(key string) projectID {
	sum := sha256.Sum256([]byte(key))
	return projectID(sum[:16])
}

// record is one record of a book.
type record struct {
	kind    byte
	project projectID
	// month is as 202611, and day, the newest one on which something was spent, as 20261129.
	month, day uint32
	// number counts the changes of a sum. That of a payment is the number of its sum without it.
	number uint32
	// amount was spent in the month, today on the day; held is for requests under way.
	amount, today, held Amount
	// told has a bit for each line of the budgets that was told of: see [Book.takeReachedLines].
	told uint32
	// pid, start and boot name the process of an own record; pid is 0 when it has given it back. since is the time of its last change, in seconds
	// of the epoch.
	pid   uint32
	start uint64
	boot  uint64
	since uint64
	// shares are those of the day and of the month, of a share.
	shares [2]share
}

// encode writes the record into to, with its checksum at the end.
func (r *record) encode(to []byte) {
	clear(to[:recordSize])
	if r.kind == recordFree {
		return
	}
	to[0] = r.kind
	le := binary.LittleEndian
	le.PutUint32(to[4:], r.month)
	le.PutUint32(to[8:], r.day)
	le.PutUint32(to[12:], r.number)
	copy(to[16:32], r.project[:])
	for i, a := range []Amount{r.amount, r.today, r.held} {
		at := 32 + 24*i
		le.PutUint64(to[at:], uint64(a.Tokens))
		le.PutUint64(to[at+8:], math.Float64bits(a.Cost))
		le.PutUint64(to[at+16:], math.Float64bits(a.Plan))
	}
	le.PutUint32(to[104:], r.told)
	le.PutUint32(to[108:], r.pid)
	le.PutUint64(to[112:], r.start)
	le.PutUint64(to[120:], r.boot)
	le.PutUint64(to[128:], r.since)
	for i := range r.shares {
		if r.kind == recordShare {
			r.shares[i].encode(to[136+shareSize*i:])
		}
	}
	le.PutUint32(to[recordSize-4:], crc32.ChecksumIEEE(to[:recordSize-4]))
}

// decodeRecord decodes a record of recordSize bytes; all zeros is a free record. A wrong checksum, kind or amount is errDamaged: a budget that
// was read wrong would be no limit.
func decodeRecord(from []byte) (record, error) {
	le := binary.LittleEndian
	if [recordSize]byte(from) == ([recordSize]byte{}) {
		return record{}, nil
	}
	if le.Uint32(from[recordSize-4:]) != crc32.ChecksumIEEE(from[:recordSize-4]) {
		return record{}, fmt.Errorf("%w: a checksum is wrong", errDamaged)
	}
	r := record{
		kind: from[0], month: le.Uint32(from[4:]), day: le.Uint32(from[8:]), number: le.Uint32(from[12:]), project: projectID(from[16:32]),
		told: le.Uint32(from[104:]), pid: le.Uint32(from[108:]), start: le.Uint64(from[112:]), boot: le.Uint64(from[120:]), since: le.Uint64(from[128:]),
	}
	for i, a := range []*Amount{&r.amount, &r.today, &r.held} {
		at := 32 + 24*i
		*a = Amount{int64(le.Uint64(from[at:])), math.Float64frombits(le.Uint64(from[at+8:])), math.Float64frombits(le.Uint64(from[at+16:]))}
		if !a.isValid() {
			return record{}, fmt.Errorf("%w: an amount of %+v", errDamaged, *a)
		}
	}
	for i := range r.shares {
		if r.kind == recordShare && !r.shares[i].decode(from[136+shareSize*i:]) {
			return record{}, fmt.Errorf("%w: a share of %+v", errDamaged, r.shares[i])
		}
	}
	if r.kind == recordFree || r.kind > recordShare {
		return record{}, fmt.Errorf("%w: a record of kind %d", errDamaged, r.kind)
	}
	return r, nil
}

// decodeBook decodes all records of a book, without its head. One damaged record makes all of it errDamaged.
func decodeBook(image []byte) ([]record, error) {
	if len(image) < recordSize || len(image)%recordSize != 0 {
		return nil, fmt.Errorf("%w: %d bytes, which are no whole records", errDamaged, len(image))
	}
	if string(image[:len(bookMagic)]) != bookMagic {
		return nil, fmt.Errorf("%w: it does not begin as one", errDamaged)
	}
	records := make([]record, len(image)/recordSize-1)
	for i := range records {
		var err error
		if records[i], err = decodeRecord(image[(i+1)*recordSize : (i+2)*recordSize]); err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	return records, nil
}
