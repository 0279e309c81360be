package spend

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/process/admission"
)

const (
	// maxRecords bounds a book: 2 MiB. A process that spends takes one record, and so does a month of a project.
	maxRecords = 8191
	// firstRecords are made with the book, so that a full disk does not stop the next request.
	firstRecords = 255
	// lockPatience bounds the wait for other processes, each of which holds the lock for microseconds.
	lockPatience = 10 * time.Second
	// longestRest bounds the time for which the record of a process that cannot be seen from here (another container) may stay unchanged
	// with something held. That then counts as spent.
	longestRest = time.Hour
)

// Budget bounds what all runs of a user spend, in US dollars; 0 sets no bound.
type Budget struct {
	Day, Month               float64
	ProjectDay, ProjectMonth float64
	// Plan counts what the tokens of a subscription would cost as money.
	Plan bool
}

// IsSet reports whether the budget bounds anything.
func (b Budget) IsSet() bool {
	return b.Day > 0 || b.Month > 0 || b.ProjectDay > 0 || b.ProjectMonth > 0
}

// Book keeps what was spent by day, month and project, for all processes of a user. Each process has a record of its own in it, which it
// changes without a lock; once it has ended another one adds that to the sum of its project's month. It is safe for concurrent use.
type Book struct {
	path    string
	project projectID
	budget  Budget
	owner   admission.Owner
	boot    uint64
	now     func() time.Time
	fail    func() error // tests: called before each write
	team    *teamwork    // nil without a [Team]

	mu   sync.Mutex
	file *os.File
	id   atomic.Uint64 // of the book, once it was read
	own  int           // index of this process's record, -1 before it has one
	row  record        // that record
	seen others
}

// ErrBook is wrapped where a book cannot be read or written. No budget is open then.
var ErrBook = errors.New("the budget can't be held")

// OpenBook returns the book in a directory for the runs of a project; nil where the budget bounds nothing. Nothing is read before the first
// request.
func OpenBook(dir, project string, b Budget) *Book {
	if !b.IsSet() {
		return nil
	}
	owner := admission.Self()
	return &Book{path: filepath.Join(dir, "book"), project: hashProject(project), budget: b, owner: owner, boot: hash(owner.Boot), now: time.Now, own: -1}
}

// hash returns the FNV-1a hash of a text.
func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}

// splitDate returns the local month and day of a time, as 202611 and 20261129.
func splitDate(t time.Time) (month, day uint32) {
	y, m, d := t.Local().Date()
	month = uint32(100*y + int(m))
	return month, 100*month + uint32(d)
}

// bookError returns an [ErrBook] with the path, the cause and what to do.
func (b *Book) bookError(err error) error {
	way := "mend that, or take the budget out of the configuration"
	if errors.Is(err, errDamaged) {
		way = "to begin with nothing spent, move it away; plimsoll spend tells what was"
	}
	return fmt.Errorf("%w: %s: %w; %s", ErrBook, b.path, err, way)
}

// Close frees this process's record and closes the book. What the process has spent stays in the book. The last process of a host gives the
// rest of its share back to the team. A second call, and one on nil, does nothing.
func (b *Book) Close() {
	if b == nil {
		return
	}
	b.mu.Lock()
	entered := b.own >= 0
	if entered {
		b.row.pid = 0
		_ = b.writeRecord(b.own, b.row)
	}
	b.own = -1
	b.mu.Unlock()
	if b.team != nil {
		b.team.shutDown(b, entered)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file != nil {
		_ = b.file.Close()
	}
	b.file = nil
}

// writeRecord writes record i to the file, without a sync.
func (b *Book) writeRecord(i int, r record) error {
	var text [recordSize]byte
	r.encode(text[:])
	if b.fail != nil {
		if err := b.fail(); err != nil {
			return err
		}
	}
	_, err := b.file.WriteAt(text[:], int64(i+1)*recordSize)
	return err
}

// readRecords returns all records of the file. Other processes may be writing theirs, so a record whose checksum is wrong is read again, up to three
// times.
func (b *Book) readRecords() ([]record, error) {
	var err error
	for range 3 {
		var info fs.FileInfo
		if info, err = b.file.Stat(); err != nil {
			return nil, err
		}
		if info.Size() > (maxRecords+1)*recordSize {
			return nil, fmt.Errorf("%w: %d bytes", errDamaged, info.Size())
		}
		image := make([]byte, info.Size())
		if _, err = b.file.ReadAt(image, 0); err != nil {
			return nil, err
		}
		var records []record
		if records, err = decodeBook(image); err == nil {
			b.id.Store(binary.BigEndian.Uint64(image[len(bookMagic):]))
			return records, nil
		}
	}
	return nil, err
}

// readRecord returns record i as it is now.
func (b *Book) readRecord(i int) (record, error) {
	var text [recordSize]byte
	if _, err := b.file.ReadAt(text[:], int64(i+1)*recordSize); err != nil {
		return record{}, err
	}
	return decodeRecord(text[:])
}

// ensureRecord gives this process a record for the month, if it has none yet. It opens or creates the book, and adds up records that ended processes,
// and this one in the month before, have left.
func (b *Book) ensureRecord(ctx context.Context, month, day uint32) error {
	if b.own >= 0 && b.row.month == month {
		return nil
	}
	return b.whileLocked(ctx, func(p *page) error {
		if b.own >= 0 { // of another month: the next one to look adds it up
			b.row.pid = 0
			if err := b.writeRecord(b.own, b.row); err != nil {
				return err
			}
			b.own = -1
		}
		if _, err := p.addUpEnded(); err != nil {
			return err
		}
		i, err := p.freeRecord()
		if err != nil {
			return err
		}
		b.row = record{
			kind: recordOwn, project: b.project, month: month, day: day,
			pid: uint32(b.owner.PID), start: b.owner.Start, boot: b.boot, since: uint64(b.now().Unix()),
		}
		if err := p.write(i, b.row); err != nil {
			return err
		}
		b.own = i
		return nil
	})
}

// page is a book while it is locked.
type page struct {
	b       *Book
	records []record
}

// whileLocked calls f with all records while no other process can lock the book. It opens the book if needed, and first finishes payments that a
// process did not finish before it died.
func (b *Book) whileLocked(ctx context.Context, f func(p *page) error) error {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	return filelock.While(ctx, b.path+".lock", func() (err error) {
		if b.file == nil {
			if err := b.openFile(); err != nil {
				return err
			}
		}
		p := &page{b: b}
		if p.records, err = b.readRecords(); err != nil {
			return err
		}
		for i, r := range p.records {
			if r.kind == recordPayment {
				if err := p.finishPayment(i, r); err != nil {
					return err
				}
			}
		}
		return f(p)
	})
}

// openFile opens the file, or creates it with free records. A new file gets its name only once it is complete.
func (b *Book) openFile() error {
	f, err := statefile.Open(b.path, os.O_RDWR, 0)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		b.file = f
		return err
	}
	image := make([]byte, (firstRecords+1)*recordSize)
	copy(image, bookMagic)
	_, _ = rand.Read(image[len(bookMagic) : len(bookMagic)+bookIDSize]) // never fails
	temporary := b.path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f, err = statefile.Open(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	if _, err = f.WriteAt(image, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(temporary, b.path)
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	b.file = f
	return nil
}

// write writes record i to the file and to the page.
func (p *page) write(i int, r record) error {
	if err := p.b.writeRecord(i, r); err != nil {
		return err
	}
	p.records[i] = r
	return nil
}

// freeRecord returns the index of a free record, or of a share of an earlier month. If there is none it extends the file or, in a full book, returns
// the sum of the oldest month before this one, which is then overwritten. It is an error if a full book has no such record.
func (p *page) freeRecord() (int, error) {
	oldest, month := -1, uint32(0)
	now, _ := splitDate(p.b.now())
	for i := range p.records {
		switch r := &p.records[i]; {
		case r.kind == recordFree, r.kind == recordShare && r.month < now:
			return i, nil
		case r.kind == recordSum && (oldest < 0 || r.month < month):
			oldest, month = i, r.month
		}
	}
	if len(p.records) < maxRecords {
		more := min(maxRecords-len(p.records), firstRecords+1)
		if _, err := p.b.file.WriteAt(make([]byte, more*recordSize), int64(len(p.records)+1)*recordSize); err != nil {
			return 0, err
		}
		p.records = append(p.records, make([]record, more)...)
		return len(p.records) - more, nil
	}
	if oldest >= 0 && month < now {
		return oldest, nil
	}
	return 0, fmt.Errorf("more than %d processes and projects spend", maxRecords)
}

// addUpEnded adds the records of processes that have ended to the sums, and what they held as spent, and reports whether there were any.
func (p *page) addUpEnded() (found bool, err error) {
	for i := range p.records {
		r := p.records[i]
		if r.kind != recordOwn || i == p.b.own || !p.b.isAbandoned(&r) {
			continue
		}
		found = true
		// It may have written between the look at its record and its end.
		if r, err = p.b.readRecord(i); err != nil {
			return found, err
		}
		s, err := p.findOrCreateSum(r.project, r.month, r.day)
		if err != nil {
			return found, err
		}
		r.amount.add(r.held)
		r.today.add(r.held)
		r.kind, r.held, r.number = recordPayment, Amount{}, p.records[s].number
		if err := p.write(i, r); err != nil {
			return found, err
		}
		if err := p.finishPayment(i, r); err != nil {
			return found, err
		}
	}
	return found, nil
}

// isAbandoned reports whether the process of a record has ended, also by a new start of the machine, or holds something for longer than any
// request takes. This process's own record is abandoned only if it is of another boot or has no PID.
func (b *Book) isAbandoned(r *record) bool {
	if r.pid == 0 || r.boot != b.boot {
		return true
	}
	o := b.owner
	o.PID, o.Start = int(r.pid), r.start
	if r.pid != uint32(b.owner.PID) && o.Gone() {
		return true
	}
	return r.held != (Amount{}) && b.now().Unix()-int64(r.since) > int64(longestRest/time.Second) && r.pid != uint32(b.owner.PID)
}

// finishPayment adds payment i to the sum of its project and month and frees the record. If that was done before and only the freeing is missing,
// which the number of the sum shows, it adds nothing.
func (p *page) finishPayment(i int, r record) error {
	s, err := p.findOrCreateSum(r.project, r.month, r.day)
	if err != nil {
		return err
	}
	if sum := p.records[s]; sum.number == r.number {
		if r.day > sum.day {
			sum.day, sum.today, sum.told = r.day, Amount{}, sum.told&^toldToday
		}
		if r.day == sum.day {
			sum.today.add(r.today)
		}
		sum.amount.add(r.amount)
		sum.number++
		if err := p.write(s, sum); err != nil {
			return err
		}
	}
	return p.write(i, record{})
}

// findOrCreateSum returns the index of the record with the sum of a project's month, and creates that record if there is none.
func (p *page) findOrCreateSum(project projectID, month, day uint32) (int, error) {
	i := slices.IndexFunc(p.records, func(r record) bool { return r.kind == recordSum && r.month == month && r.project == project })
	if i >= 0 {
		return i, nil
	}
	i, err := p.freeRecord()
	if err != nil {
		return 0, err
	}
	return i, p.write(i, record{kind: recordSum, project: project, month: month, day: day})
}
