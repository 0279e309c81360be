package admission

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// The table of the ledger is a header and then one record for each run that holds or waits, all of
// recordSize bytes, so that thousands are read in a fraction of a millisecond and one is replaced in place. A record
// lies within one page and has a checksum: a writer that is killed leaves the old record or the new one.
const (
	recordSize   = 256
	checkedSize  = recordSize - 4 // what its checksum is of
	tableVersion = 2
	tableMagic   = "plimsoll"
)

// maxSlot bounds the name of a tool in a record; see slotName.
const maxSlot = 28

// Offsets in a record.
const (
	offState = iota
	offFlags
	offIDLen
	offParentLen
	offSlotLen
	_
	_
	_
	offTicket
)

// Flags of a record.
const (
	flagForced = 1 << iota
	flagNoSlot
	flagCountSwap
	flagMissed
	flagStaleWhy
)

// snapshot is a sum over all holders that a process has read lately, for decisions of the next second. Each record has the
// part of its reservation that was in use then.
type snapshot struct {
	at          int64          // Unix nanoseconds, 0 for none
	available   [2]limit.Bytes // without and with swap
	cgroupsHash uint64         // which limits the reader was under
}

// header is the first record of the table.
type header struct {
	ticket uint64
	sum    snapshot
}

var (
	errChecksum = errors.New("the checksum is wrong")
	byteOrder   = binary.LittleEndian
)

// encode writes the header into b, the first record, without the checksum.
func (h header) encode(b []byte) {
	clear(b[:recordSize])
	copy(b, tableMagic)
	byteOrder.PutUint32(b[8:], tableVersion)
	byteOrder.PutUint32(b[12:], recordSize)
	byteOrder.PutUint64(b[16:], h.ticket)
	byteOrder.PutUint64(b[24:], uint64(h.sum.at))
	byteOrder.PutUint64(b[32:], uint64(h.sum.available[0]))
	byteOrder.PutUint64(b[40:], uint64(h.sum.available[1]))
	byteOrder.PutUint64(b[48:], h.sum.cgroupsHash)
}

// decodeHeader reads the header of a table. A table of a newer version is [ErrNewer]; a sum that is impossible is dropped.
func decodeHeader(b []byte) (h header, err error) {
	if len(b) < recordSize || string(b[:8]) != tableMagic {
		return h, errors.New("it is no table of claims")
	}
	if v := byteOrder.Uint32(b[8:]); v > tableVersion {
		return h, fmt.Errorf("schema %d: %w", v, ErrNewer)
	} else if v < tableVersion {
		return h, fmt.Errorf("schema %d", v)
	}
	if err := verifyChecksum(b); err != nil {
		return h, err
	}
	if n := byteOrder.Uint32(b[12:]); n != recordSize {
		return h, fmt.Errorf("records of %d bytes", n)
	}
	h.ticket = byteOrder.Uint64(b[16:])
	h.sum = snapshot{
		at:        int64(byteOrder.Uint64(b[24:])),
		available: [2]limit.Bytes{limit.Bytes(byteOrder.Uint64(b[32:])), limit.Bytes(byteOrder.Uint64(b[40:]))}, cgroupsHash: byteOrder.Uint64(b[48:]),
	}
	if h.sum.available[0] < 0 || h.sum.available[1] < 0 {
		h.sum = snapshot{}
	}
	return h, nil
}

// writeChecksum writes the checksum of a record behind its other bytes.
func writeChecksum(b []byte) {
	byteOrder.PutUint32(b[checkedSize:], crc32.ChecksumIEEE(b[:checkedSize]))
}

// verifyChecksum returns errChecksum unless a record has the right checksum.
func verifyChecksum(b []byte) error {
	if byteOrder.Uint32(b[checkedSize:]) != crc32.ChecksumIEEE(b[:checkedSize]) {
		return errChecksum
	}
	return nil
}

// slotName returns the name under which the slots of a tool are counted: its own, or when that is too long for a record, its beginning and
// a hash.
func slotName(tool string) string {
	if len(tool) <= maxSlot {
		return tool
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(tool))
	return fmt.Sprintf("%s~%016x", tool[:maxSlot-17], h.Sum64())
}

// encode writes the entry into the record b, without the checksum.
func (e *entry) encode(b []byte) {
	clear(b[:recordSize])
	b[offState] = 1
	if e.State == Waiting {
		b[offState] = 2
	}
	b[offFlags] = flagIf(e.Forced, flagForced) | flagIf(e.NoSlot, flagNoSlot) | flagIf(e.CountSwap, flagCountSwap) |
		flagIf(e.Missed, flagMissed) | flagIf(e.StaleWhy != "", flagStaleWhy)
	b[offIDLen], b[offParentLen], b[offSlotLen] = byte(len(e.ID)), byte(len(e.Parent)), byte(len(e.slot()))
	n := offTicket
	put := func(v uint64) { byteOrder.PutUint64(b[n:], v); n += 8 }
	put(e.Ticket)
	put(uint64(e.Reservation))
	put(uint64(e.MinFree))
	put(uint64(uint32(int32(e.SlotsPerTool))) | uint64(uint32(int32(e.SlotsTotal)))<<32)
	put(uint64(uint32(e.Bypassed)) | uint64(uint32(e.Owner.PID))<<32)
	put(e.Owner.Start)
	put(e.Owner.PIDNamespace)
	put(unixNanos(e.Since))
	put(unixNanos(e.ReadyAt))
	put(unixNanos(e.StaleAt))
	put(uint64(e.used))
	n += copy(b[n:], e.ID)
	n += copy(b[n:], e.Parent)
	copy(b[n:], e.slot())
}

// flagIf returns flag if set is true, else 0.
func flagIf(set bool, flag byte) byte {
	if set {
		return flag
	}
	return 0
}

// unixNanos returns a time in nanoseconds since 1970, 0 for the zero time.
func unixNanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

// fromUnixNanos returns the time that unixNanos was given; the zero time for 0.
func fromUnixNanos(n uint64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(n))
}

// decode reads the record b into e. text has the same bytes as b, and e's names share its memory. ok is false for a free record; a damaged one
// is an error.
func (e *entry) decode(b []byte, text string, boot string) (ok bool, err error) {
	if b[offState] == 0 {
		return false, nil
	}
	if err := verifyChecksum(b); err != nil {
		return false, err
	}
	switch b[offState] {
	case 1:
		e.State = Holding
	case 2:
		e.State = Waiting
	default:
		return false, fmt.Errorf("unknown state %d", b[offState])
	}
	flags := b[offFlags]
	e.Forced, e.NoSlot, e.CountSwap, e.Missed = flags&flagForced != 0, flags&flagNoSlot != 0, flags&flagCountSwap != 0, flags&flagMissed != 0
	if flags&flagStaleWhy != 0 {
		e.StaleWhy = staleUnread
	}
	n := offTicket
	get := func() uint64 { v := byteOrder.Uint64(b[n:]); n += 8; return v }
	e.Ticket = get()
	e.Reservation, e.MinFree = limit.Bytes(get()), limit.Bytes(get())
	slots := get()
	e.SlotsPerTool, e.SlotsTotal = int(int32(uint32(slots))), int(int32(uint32(slots>>32)))
	both := get()
	e.Bypassed = int(int32(uint32(both)))
	e.Owner = Owner{Boot: boot, PID: int(int32(uint32(both >> 32)))}
	e.Owner.Start, e.Owner.PIDNamespace = get(), get()
	e.Since, e.ReadyAt, e.StaleAt = fromUnixNanos(get()), fromUnixNanos(get()), fromUnixNanos(get())
	e.used = limit.Bytes(get())
	id, parent, slot := int(b[offIDLen]), int(b[offParentLen]), int(b[offSlotLen])
	if id > 64 || parent > 64 || slot > maxSlot || n+id+parent+slot > checkedSize {
		return false, errors.New("impossible lengths")
	}
	e.ID, e.Parent, e.Tool = text[n:n+id], text[n+id:n+id+parent], text[n+id+parent:n+id+parent+slot]
	if e.used < 0 || e.Parent != "" && !ValidID(e.Parent) {
		return false, fmt.Errorf("%q: impossible", e.ID)
	}
	return true, e.validate()
}
