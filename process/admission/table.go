package admission

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxTable bounds what is read of the table.
const maxTable = (1 + MaxClaims + MaxWaiters) * recordSize

// marker is what ledger.json holds since the table has taken its place: versions of Plimsoll that keep their claims in
// ledger.json refuse its schema instead of starting a ledger beside this one.
const marker = `{"schema":2,"ticket":0,"entries":[]}` + "\n"

// load reads the table. What cannot be understood is set aside, and the table is rebuilt from the claim files. The claims that an older version
// has in ledger.json are taken over.
func (b *book) load() error {
	older, err := b.loadOlder()
	if err != nil {
		return err
	}
	lost, err := b.loadTable()
	if err != nil {
		return err
	}
	b.file.Ticket = max(b.file.Ticket, older.Ticket)
	for _, e := range older.Entries {
		if b.find(e.ID) == nil {
			b.add(e)
		}
	}
	if !lost && b.aside == "" {
		b.changed = b.changed || b.unmarked
		return nil
	}
	b.changed = b.changed || b.unmarked
	if err := b.adopt(); err != nil {
		return err
	}
	if b.aside != "" {
		b.warn("ledger", b.aside, "the ledger was damaged (%v); it is kept as %s, and %d claims were recovered from their own files",
			b.damage, b.aside, len(b.file.Entries))
	}
	return nil
}

// loadOlder reads ledger.json: the marker, or the claims of an older version.
func (b *book) loadOlder() (older ledgerFile, err error) {
	path := b.ledger.ledgerPath()
	text, err := readBounded(path, maxLedger)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		b.unmarked = true
		return older, nil
	case err != nil:
		return older, err
	case string(text) == marker:
		return older, nil
	}
	b.unmarked = true
	older, err = parseLedger(text)
	if errors.Is(err, ErrNewer) {
		return ledgerFile{}, err
	}
	if err != nil {
		return ledgerFile{}, b.setAside(path, err)
	}
	return older, nil
}

// loadTable reads the table; lost says that there is none, or no longer one.
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
		err = b.decode(image)
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

// readAll reads a whole file in one call when it can.
func readAll(f *os.File, most int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%d bytes, more than %d", info.Size(), most)
	}
	image := make([]byte, info.Size())
	n, err := f.ReadAt(image, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return image[:n], err
}

// decode turns the bytes of a table into entries, and refuses what this package could not have written.
func (b *book) decode(image []byte) error {
	head, err := decodeHeader(image)
	if err != nil {
		return err
	}
	if len(image)%recordSize != 0 {
		return fmt.Errorf("%d bytes, which are no whole records", len(image))
	}
	b.file.Ticket, b.sum = head.ticket, head.sum
	text := string(image) // shared by all names
	entries := make([]entry, len(image)/recordSize-1)
	b.file.Entries = make([]*entry, 0, len(entries)+1)
	seen := make(map[string]struct{}, len(entries))
	for i := range entries {
		e, from := &entries[i], (i+1)*recordSize
		ok, err := e.decode(image[from:from+recordSize], text[from:from+recordSize], b.ledger.owner.Boot)
		if err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
		if !ok {
			continue
		}
		if _, twice := seen[e.ID]; twice {
			return fmt.Errorf("record %d: %s is there twice", i+1, e.ID)
		}
		seen[e.ID] = struct{}{}
		e.record = i + 1
		b.file.Ticket = max(b.file.Ticket, e.Ticket)
		b.file.Entries = append(b.file.Entries, e)
	}
	return nil
}

// encode places every entry in a record, the new ones in free ones, and returns the whole table.
func (b *book) encode() []byte {
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
	image := make([]byte, records*recordSize)
	header{ticket: b.file.Ticket, sum: b.sum}.encode(image)
	for _, e := range b.file.Entries {
		e.encode(image[e.record*recordSize:])
	}
	return image
}

// store writes the records that have changed. Nothing is flushed to disk: a process that dies leaves the
// page cache as it is, and a host that goes down takes every claim with it, since the next
// boot has another directory.
func (b *book) store() error {
	failpoint("store")
	image := b.encode()
	if b.table == nil {
		if err := replaceFile(b.ledger.tablePath(), image); err != nil {
			return err
		}
	} else if err := b.update(image); err != nil {
		return err
	}
	failpoint("table written")
	if b.unmarked {
		return replaceFile(b.ledger.ledgerPath(), []byte(marker))
	}
	return nil
}

// update writes what differs from the table as it was read, in runs of records.
func (b *book) update(image []byte) error {
	same := func(at int) bool {
		return at+recordSize <= len(b.image) && bytes.Equal(image[at:at+recordSize], b.image[at:at+recordSize])
	}
	for at := 0; at < len(image); {
		if same(at) {
			at += recordSize
			continue
		}
		end := at + recordSize
		for end < len(image) && !same(end) {
			end += recordSize
		}
		if _, err := b.table.WriteAt(image[at:end], int64(at)); err != nil {
			return err
		}
		failpoint("records written")
		at = end
	}
	if len(image) < len(b.image) {
		return b.table.Truncate(int64(len(image)))
	}
	return nil
}

func (b *book) close() {
	if b.table != nil {
		b.table.Close()
	}
}

func (l *Ledger) tablePath() string { return filepath.Join(l.dir, "ledger.table") }
