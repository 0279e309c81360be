package spool

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// id is the name of an entry on the disk: the first half of the digest of its handle, so that the name does not reveal the handle.
type id [16]byte

func (i id) String() string { return hex.EncodeToString(i[:]) }

// parseID parses an id in the form that String returns; ok is false for any other text.
func parseID(name string) (i id, ok bool) {
	b, err := hex.DecodeString(name)
	if err != nil || len(b) != len(i) {
		return i, false
	}
	copy(i[:], b)
	return i, i.String() == name
}

// account is the ledger's record of one entry.
type account struct {
	id            id
	created, used int64 // Unix milliseconds
	bytes         int64 // on the disk; while it is written, the bytes that are reserved for it
	writing       bool
}

const (
	ledgerMagic  = "plspool1"
	accountSize  = 16 + 8 + 8 + 8 + 1
	ledgerFile   = "ledger"
	ledgerLock   = "lock"
	goneProlog   = "gone-"
	maxLedgerLen = 64 << 20
)

// ledger is the list of entries, which all processes share in one file under one lock. A ledger that is missing or damaged is made anew
// from the directories.
type ledger struct {
	accounts []account
	changed  bool
}

// find returns the account of a result; nil if there is none.
func (l *ledger) find(i id) *account {
	for k := range l.accounts {
		if l.accounts[k].id == i {
			return &l.accounts[k]
		}
	}
	return nil
}

// remove removes the account of an entry, if there is one.
func (l *ledger) remove(i id) {
	l.accounts = slices.DeleteFunc(l.accounts, func(a account) bool { return a.id == i })
	l.changed = true
}

// totalBytes returns the bytes of all accounts.
func (l *ledger) totalBytes() (sum int64) {
	for _, a := range l.accounts {
		sum += a.bytes
	}
	return sum
}

// encode returns the ledger in the form that decodeLedger reads, with a checksum at the end.
func (l *ledger) encode() []byte {
	b := append(make([]byte, 0, 16+len(l.accounts)*accountSize), ledgerMagic...)
	for _, a := range l.accounts {
		b = append(b, a.id[:]...)
		for _, v := range []int64{a.created, a.used, a.bytes} {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
		w := byte(0)
		if a.writing {
			w = 1
		}
		b = append(b, w)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeLedger reads a ledger; ok is false if it is damaged.
func decodeLedger(b []byte) (*ledger, bool) {
	end := len(b) - 4
	if end < len(ledgerMagic) || string(b[:len(ledgerMagic)]) != ledgerMagic || (end-len(ledgerMagic))%accountSize != 0 ||
		binary.LittleEndian.Uint32(b[end:]) != crc32.Checksum(b[:end], castagnoli) {
		return nil, false
	}
	l := &ledger{}
	for b = b[len(ledgerMagic):end]; len(b) > 0; b = b[accountSize:] {
		var a account
		copy(a.id[:], b)
		a.created = int64(binary.LittleEndian.Uint64(b[16:]))
		a.used = int64(binary.LittleEndian.Uint64(b[24:]))
		a.bytes = int64(binary.LittleEndian.Uint64(b[32:]))
		a.writing = b[40] != 0
		if a.bytes < 0 || l.find(a.id) != nil {
			return nil, false
		}
		l.accounts = append(l.accounts, a)
	}
	return l, true
}

// withLedger calls fn with the ledger, while no other goroutine or process can use it, and writes the ledger back if fn changed it. It then
// deletes the directories of entries that fn evicted, without the lock between processes. The error is fn's, or os.ErrClosed.
func (s *Spool) withLedger(fn func(l *ledger) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return os.ErrClosed
	}
	if err := filelock.Lock(context.Background(), s.lock, filelock.Exclusive); err != nil {
		return err
	}
	var gone []string
	err := func() error {
		defer filelock.Unlock(s.lock)
		l := s.readLedger()
		s.gone = nil
		err := fn(l)
		gone = s.gone
		if l.changed {
			if e := s.writeLedger(l); err == nil {
				err = e
			}
		}
		return err
	}()
	for _, name := range gone {
		_ = s.root.RemoveAll(name)
	}
	return err
}

// readLedger reads the ledger, or builds it from the directories of the results if it is missing or damaged.
func (s *Spool) readLedger() *ledger {
	f, err := statefile.OpenIn(s.root, ledgerFile, os.O_RDONLY, 0)
	if err == nil {
		defer f.Close()
		if b, err := io.ReadAll(io.LimitReader(f, maxLedgerLen)); err == nil {
			if l, ok := decodeLedger(b); ok {
				return l
			}
		}
	}
	return s.rebuildLedger()
}

// writeLedger overwrites the ledger's file without a sync: a torn write, also after a power cut, is noticed by the checksum, and the ledger
// is then rebuilt from the directories.
func (s *Spool) writeLedger(l *ledger) error {
	f, err := statefile.OpenIn(s.root, ledgerFile, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	b := l.encode()
	if _, err := f.WriteAt(b, 0); err != nil {
		return s.full(err)
	}
	return f.Truncate(int64(len(b)))
}

// rebuildLedger returns a ledger made from the directories.
func (s *Spool) rebuildLedger() *ledger {
	l := &ledger{changed: true}
	for _, name := range s.names() {
		if i, ok := parseID(name); ok {
			l.accounts = append(l.accounts, s.readAccount(i))
		}
	}
	return l
}

// readAccount returns the account of an entry as its directory shows it; an entry without a meta file counts as being written.
func (s *Spool) readAccount(i id) account {
	a := account{id: i, writing: true}
	name := i.String()
	if info, err := s.root.Stat(name); err == nil {
		a.created = info.ModTime().UnixMilli()
	}
	if h, err := readHead(s.root, name); err == nil {
		a.created = h.Created
	}
	a.used = a.created
	if info, err := s.root.Stat(name + "/" + metaFile); err == nil {
		a.writing = false
		a.used = max(a.used, info.ModTime().UnixMilli())
	}
	a.bytes = s.diskUse(name)
	return a
}

// diskUse returns the sum of the sizes of an entry's files, in bytes.
func (s *Spool) diskUse(name string) (sum int64) {
	d, err := s.root.Open(name)
	if err != nil {
		return 0
	}
	defer d.Close()
	list, _ := d.ReadDir(-1)
	for _, e := range list {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// names returns the names in the spool's directory, sorted; those that cannot be read are missing.
func (s *Spool) names() []string {
	d, err := s.root.Open(".")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	slices.Sort(names)
	return names
}

// expired reports whether a result created at that time, in Unix milliseconds, is too old to be read.
func (s *Spool) expired(created int64) bool {
	return time.Since(time.UnixMilli(created)) >= s.o.MaxAge
}

// minimumFree returns how many bytes the spool leaves free on its file system; 0 if there is no bound or the free space is not known. On a
// disk that is nearly full now it is half of what is free.
func minimumFree(o Options) int64 {
	if o.FreeMin < 0 {
		return 0
	}
	total, free, ok := diskspace.Of(o.Dir)
	if !ok {
		return 0
	}
	line := int64(o.FreeMin)
	if line == 0 {
		line = min(max(total/20, int64(256*limit.MiB)), int64(2*limit.GiB))
	}
	return min(line, free/2)
}

// makeRoom evicts expired entries, then the least recently used ones, until there is room for that many more bytes in the ledger, bytes
// written to the disk, and entries. The error is a *[Full]. The caller has the ledger locked.
func (s *Spool) makeRoom(l *ledger, bytes, written int64, results int) error {
	free, known := int64(0), false
	if s.freeLine > 0 {
		_, free, known = diskspace.Of(s.o.Dir)
	}
	missing := func() string {
		switch {
		case len(l.accounts)+results > s.o.MaxResults:
			return "count"
		case l.totalBytes()+bytes > int64(s.o.MaxBytes):
			return "quota"
		case known && free-written < s.freeLine:
			return "disk"
		}
		return ""
	}
	if missing() == "" {
		return nil
	}
	s.sweep(l)
	order := slices.Clone(l.accounts)
	sorting.StableBy(order, func(a, b account) int { return cmp.Compare(a.used, b.used) })
	var forCount, forBytes tally
	for _, a := range order {
		why := missing()
		if why == "" {
			break
		}
		if a.writing || s.live[a.id] != nil || !s.evict(l, a) {
			continue
		}
		free += a.bytes // the files are deleted after the lock was released
		if why == "count" {
			forCount.add(a)
		} else {
			forBytes.add(a)
		}
	}
	forCount.record(s, "count")
	forBytes.record(s, "bytes")
	switch why := missing(); why {
	case "":
		return nil
	case "count":
		return &Full{Dir: s.o.Dir, Why: why, Limit: int64(s.o.MaxResults)}
	case "quota":
		return &Full{Dir: s.o.Dir, Why: why, Limit: int64(s.o.MaxBytes)}
	}
	return &Full{Dir: s.o.Dir, Why: "disk", Err: fmt.Errorf("%s are free on its file system, and %s stay free",
		limit.Bytes(free).Human(), limit.Bytes(s.freeLine).Human())}
}
