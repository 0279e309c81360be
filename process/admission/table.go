package admission

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"
)

// maxTable bounds what is read of the table.
const maxTable = (1 + MaxClaims + MaxWaiters) * recordSize

// load reads the table. If it is missing or damaged, it is rebuilt from the claim files; a damaged one is set aside, with a warning.
func (b *book) load() error {
	lost, err := b.loadTable()
	if err != nil {
		return err
	}
	if !lost && b.damagedPath == "" {
		return nil
	}
	if err := b.adoptUnlisted(); err != nil {
		return err
	}
	if b.damagedPath != "" {
		b.addWarning("ledger", b.damagedPath, "the list of who holds memory was damaged (%v); it is kept as %s, and %d claims were recovered from their own files",
			b.damage, b.damagedPath, len(b.file.Entries))
	}
	return nil
}

// loadTable reads the table. lost is true when there is none, or it was damaged and has been set aside.
func (b *book) loadTable() (lost bool, err error) {
	path := b.ledger.tablePath()
	b.file = ledgerFile{Schema: schema}
	f, err := openRegular(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	image, err := readAll(f, maxTable)
	if err == nil {
		err = b.decodeTable(image)
	}
	if err == nil {
		b.table, b.image = f, image
		return false, nil
	}
	f.Close()
	if _, broken := errors.AsType[*fs.PathError](err); broken || errors.Is(err, ErrNewer) {
		return false, err
	}
	b.file, b.sum = ledgerFile{Schema: schema}, snapshot{}
	return true, b.setAside(path, err)
}

// readAll reads a whole file; more than maxBytes is an error.
func readAll(f *os.File, maxBytes int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("%d bytes, more than %d", info.Size(), maxBytes)
	}
	image := make([]byte, info.Size())
	n, err := f.ReadAt(image, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return image[:n], err
}

// decodeTable reads the entries of a table. It is an error if this package could not have written it. The entries share the memory of image.
func (b *book) decodeTable(image []byte) error {
	head, err := decodeHeader(image)
	if err != nil {
		return err
	}
	if len(image)%recordSize != 0 {
		return fmt.Errorf("%d bytes, which are no whole records", len(image))
	}
	b.file.Ticket, b.sum = head.ticket, head.sum
	// Shared by all names, so the image is never written to.
	text := unsafe.String(unsafe.SliceData(image), len(image))
	entries := make([]entry, len(image)/recordSize-1)
	b.file.Entries = make([]*entry, 0, len(entries)+1)
	seen := newIDSet(len(entries))
	for i := range entries {
		e, from := &entries[i], (i+1)*recordSize
		ok, err := e.decode(image[from:from+recordSize], text[from:from+recordSize], b.ledger.owner.Boot)
		if err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
		if !ok {
			continue
		}
		e.record = i + 1
		b.file.Ticket = max(b.file.Ticket, e.Ticket)
		b.file.Entries = append(b.file.Entries, e)
		if !seen.addLast(b.file.Entries) {
			return fmt.Errorf("record %d: %s is there twice", i+1, e.ID)
		}
	}
	return nil
}

// assignRecords gives each new entry a free record, and returns the entries by record: nil for the header and for free ones.
func (b *book) assignRecords() []*entry {
	taken := make([]bool, len(b.file.Entries)+1+len(b.image)/recordSize)
	for _, e := range b.file.Entries {
		taken[e.record] = true
	}
	taken[0] = true // the header
	free, records := 1, 1
	for _, e := range b.file.Entries {
		if e.record == 0 {
			for taken[free] {
				free++
			}
			e.record, taken[free] = free, true
		}
		records = max(records, e.record+1)
	}
	placed := make([]*entry, records)
	for _, e := range b.file.Entries {
		placed[e.record] = e
	}
	return placed
}

// encodeTable returns the whole table, with checksums.
func (b *book) encodeTable() []byte {
	placed := b.assignRecords()
	image := make([]byte, len(placed)*recordSize)
	for i := range placed {
		record := image[i*recordSize : (i+1)*recordSize]
		b.encodeRecord(record, i, placed[i])
		if i == 0 || placed[i] != nil {
			writeChecksum(record)
		}
	}
	return image
}

// encodeRecord writes record i without its checksum: the header for 0, else e, or zeros when e is nil.
func (b *book) encodeRecord(record []byte, i int, e *entry) {
	switch {
	case i == 0:
		header{ticket: b.file.Ticket, sum: b.sum}.encode(record)
	case e != nil:
		e.encode(record)
	default:
		clear(record)
	}
}

// writeTable writes the records that have changed. Nothing is flushed to disk: the page cache outlives a process that dies, and when the host goes
// down all claims are void, since the next boot has another directory.
func (b *book) writeTable() error {
	failpoint("store")
	if b.table == nil {
		if err := replaceFile(b.ledger.tablePath(), b.encodeTable()); err != nil {
			return err
		}
	} else if err := b.writeChanges(b.assignRecords()); err != nil {
		return err
	}
	failpoint("table written")
	return nil
}

// writeChanges writes the records that differ from the table as it was read, in as few writes as there are stretches of them. Of thousands of
// records few differ, so a record gets its checksum only when it is written.
func (b *book) writeChanges(placed []*entry) error {
	var scratch [recordSize]byte
	var run []byte // of records that differ, which end before the current one
	flush := func(end int) error {
		if len(run) == 0 {
			return nil
		}
		_, err := b.table.WriteAt(run, int64(end*recordSize-len(run)))
		run = run[:0]
		failpoint("records written")
		return err
	}
	for i, e := range placed {
		b.encodeRecord(scratch[:], i, e)
		if at := i * recordSize; at+recordSize <= len(b.image) && bytes.Equal(scratch[:checkedSize], b.image[at:at+checkedSize]) {
			if err := flush(i); err != nil {
				return err
			}
			continue
		}
		if i == 0 || e != nil {
			writeChecksum(scratch[:])
		}
		run = append(run, scratch[:]...)
	}
	if err := flush(len(placed)); err != nil {
		return err
	}
	if len(placed)*recordSize < len(b.image) {
		return b.table.Truncate(int64(len(placed) * recordSize))
	}
	return nil
}

// close closes the table.
func (b *book) close() {
	if b.table != nil {
		b.table.Close()
	}
}

// tablePath returns the file of the table.
func (l *Ledger) tablePath() string { return filepath.Join(l.dir, "ledger.table") }

// idSet is a set of the IDs of entries. It takes 8 bytes for each of thousands and no pointer: a map of them is a fifth of what reading a
// ledger costs.
type idSet struct {
	seed  maphash.Seed
	slots []int32 // 1 + the index of an entry; 0 is free
}

// newIDSet returns a set for at most count IDs.
func newIDSet(count int) idSet {
	size := 8
	for size < 2*count {
		size *= 2
	}
	return idSet{seed: maphash.MakeSeed(), slots: make([]int32, size)}
}

// addLast adds the last entry of list. It returns false, and adds nothing, if an earlier entry of list has the same ID. All earlier entries must
// have been added before.
func (s idSet) addLast(list []*entry) bool {
	id, mask := list[len(list)-1].ID, len(s.slots)-1
	at := int(maphash.String(s.seed, id)) & mask
	for ; s.slots[at] != 0; at = (at + 1) & mask {
		if list[s.slots[at]-1].ID == id {
			return false
		}
	}
	s.slots[at] = int32(len(list))
	return true
}
