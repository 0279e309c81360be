package spend

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/process/admission"
)

const (
	// maxRecords bounds a book: 1 MiB. A month of a project takes one record, a request under way one.
	maxRecords = 8191
	// firstRecords are made with the book, so that a full disk does not stop the next request.
	firstRecords = 255
	// lockPatience bounds the wait for other processes, each of which holds the lock for microseconds.
	lockPatience = 10 * time.Second
	// longestHold bounds the life of a hold whose process cannot be seen from here (another container). It then counts as spent.
	longestHold = time.Hour
)

// Budget bounds what all runs of a user spend, in US dollars; 0 sets no bound.
type Budget struct {
	Day, Month               float64
	ProjectDay, ProjectMonth float64
	// Plan counts what the tokens of a subscription would cost as money.
	Plan bool
}

// Any reports whether the budget bounds anything.
func (b Budget) Any() bool { return b.Day > 0 || b.Month > 0 || b.ProjectDay > 0 || b.ProjectMonth > 0 }

// Book keeps what was spent by day, month and project, for all processes of a user. It is safe for concurrent use.
type Book struct {
	path    string
	project projectID
	budget  Budget
	owner   admission.Owner
	boot    uint64
	now     func() time.Time
	fail    func() error // tests: called before each write
}

// ErrBook is wrapped where a book cannot be read or written. No budget is open then.
var ErrBook = errors.New("the budget can't be held")

// OpenBook returns the book in a directory for the runs of a project; nil where the budget bounds nothing. Nothing is read before the first
// request.
func OpenBook(dir, project string, b Budget) *Book {
	if !b.Any() {
		return nil
	}
	owner := admission.Self()
	return &Book{path: filepath.Join(dir, "book"), project: projectOf(project), budget: b, owner: owner, boot: hash(owner.Boot), now: time.Now}
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}

func dateOf(t time.Time) (month, day uint32) {
	y, m, d := t.Local().Date()
	month = uint32(100*y + int(m))
	return month, 100*month + uint32(d)
}

// page is an open, locked book.
type page struct {
	b       *Book
	file    *os.File
	records []record
}

// open locks the book, makes it if there is none, and finishes what others have left.
func (b *Book) open(ctx context.Context) (p *page, done func(), err error) {
	if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
		return nil, nil, b.fault(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	lock, err := filelock.Open(ctx, b.path+".lock")
	if err != nil {
		return nil, nil, b.fault(err)
	}
	p = &page{b: b}
	done = func() {
		if p.file != nil {
			_ = p.file.Close()
		}
		_ = filelock.Release(lock)
	}
	if err := p.read(); err != nil {
		done()
		return nil, nil, b.fault(err)
	}
	if err := p.finish(); err != nil {
		done()
		return nil, nil, b.fault(err)
	}
	return p, done, nil
}

func (p *page) read() error {
	f, err := statefile.Open(p.b.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return p.create()
	}
	if err != nil {
		return err
	}
	p.file = f
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > (maxRecords+1)*recordSize {
		return fmt.Errorf("%w: %d bytes", errDamaged, info.Size())
	}
	image := make([]byte, info.Size())
	if _, err := f.ReadAt(image, 0); err != nil {
		return err
	}
	p.records, err = decodeBook(image)
	return err
}

// create makes a book. It has its name only once it is whole.
func (p *page) create() error {
	image := make([]byte, (firstRecords+1)*recordSize)
	copy(image, bookMagic)
	temporary := p.b.path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := statefile.Open(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	p.file = f
	if _, err := f.WriteAt(image, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	p.records = make([]record, firstRecords)
	return os.Rename(temporary, p.b.path)
}

// write stores record i.
func (p *page) write(i int, r record) error {
	var text [recordSize]byte
	r.encode(text[:])
	if p.b.fail != nil {
		if err := p.b.fail(); err != nil {
			return err
		}
	}
	if _, err := p.file.WriteAt(text[:], int64(i+1)*recordSize); err != nil {
		return err
	}
	p.records[i] = r
	return nil
}

// full reports whether no record is free.
func (p *page) full() bool {
	return !slices.ContainsFunc(p.records, func(r record) bool { return r.kind == recordFree })
}

// free returns the index of a free record, of a new one, or, in a full book, of the sum of the oldest month.
func (p *page) free() (int, error) {
	oldest, month := -1, uint32(0)
	for i := range p.records {
		switch r := &p.records[i]; {
		case r.kind == recordFree:
			return i, nil
		case r.kind == recordSum && (oldest < 0 || r.month < month):
			oldest, month = i, r.month
		}
	}
	if len(p.records) < maxRecords {
		more := min(maxRecords-len(p.records), firstRecords+1)
		if _, err := p.file.WriteAt(make([]byte, more*recordSize), int64(len(p.records)+1)*recordSize); err != nil {
			return 0, err
		}
		p.records = append(p.records, make([]record, more)...)
		return len(p.records) - more, nil
	}
	if now, _ := dateOf(p.b.now()); oldest >= 0 && month < now {
		return oldest, nil
	}
	return 0, fmt.Errorf("more than %d requests under way and projects", maxRecords)
}

// finish finishes payments that somebody died over.
func (p *page) finish() error {
	for i := range p.records {
		if r := p.records[i]; r.kind == recordPayment {
			if err := p.pay(i, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweep counts as spent what dead processes hold, and reports whether there was any. It looks at each process that holds.
func (p *page) sweep() (found bool, err error) {
	for i := range p.records {
		if r := p.records[i]; r.kind == recordHold && p.b.abandoned(&r) {
			found = true
			if err := p.settle(i, r.amount); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// abandoned reports whether the process that holds is known to have ended, or has held for too long.
func (b *Book) abandoned(r *record) bool {
	if r.boot != b.boot {
		return true
	}
	if age := b.now().Unix() - int64(r.since); age > int64(longestHold/time.Second) {
		return true
	}
	o := b.owner
	o.PID, o.Start = int(r.pid), r.start
	return r.pid != uint32(b.owner.PID) && o.Gone()
}

// settle replaces hold i by a payment of a and pays it.
func (p *page) settle(i int, a Amount) error {
	r := p.records[i]
	month, day := dateOf(p.b.now())
	s, err := p.sum(r.project, month, day)
	if err != nil {
		return err
	}
	r.kind, r.amount, r.month, r.day, r.number = recordPayment, a, month, day, p.records[s].number
	if err := p.write(i, r); err != nil {
		return err
	}
	return p.pay(i, r)
}

// pay adds payment i to its sum, unless that was done, and frees it.
func (p *page) pay(i int, r record) error {
	s, err := p.sum(r.project, r.month, r.day)
	if err != nil {
		return err
	}
	if sum := p.records[s]; sum.number == r.number {
		if r.day > sum.day {
			sum.day, sum.today, sum.told = r.day, Amount{}, sum.told&^toldToday
		}
		// A clock that was set back counts on the later day: too much rather than too little.
		sum.today.add(r.amount)
		sum.amount.add(r.amount)
		sum.number++
		if err := p.write(s, sum); err != nil {
			return err
		}
	}
	return p.write(i, record{})
}

// sum returns the index of the sum of a project's month, which it makes if there is none.
func (p *page) sum(project projectID, month, day uint32) (int, error) {
	for i := range p.records {
		if r := &p.records[i]; r.kind == recordSum && r.month == month && r.project == project {
			return i, nil
		}
	}
	i, err := p.free()
	if err != nil {
		return 0, err
	}
	return i, p.write(i, record{kind: recordSum, project: project, month: month, day: day})
}

// fault says that the book could not be read or written, and what to do.
func (b *Book) fault(err error) error {
	way := "mend that, or take the budget out of the configuration"
	if errors.Is(err, errDamaged) {
		way = "to begin with nothing spent, move it away; plimsoll spend tells what was"
	}
	return fmt.Errorf("%w: %s: %w; %s", ErrBook, b.path, err, way)
}

// numbers tells the holds of a process apart.
var numbers atomic.Uint32

func nextNumber() uint32 { return numbers.Add(1) }
