package spend

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// share is the part of a budget that this host may spend, as a book has it. All amounts are sums since the period began.
type share struct {
	// Granted bounds this host's spending, and Published the same as the others were last told. It is never less than Granted
	// but for an advance: a share is made smaller here first, and for the others once no process goes by the old one.
	Granted, Published float64
	Told               float64 // this host's spending, as the others were last told
	Others             float64 // theirs
	Max                float64 // the budget then
	Left               float32 // of the budget, of what nobody was granted
	Hosts              uint16  // that hold some of it
	Returned           bool    // when the last process ended
	_                  byte
	At, Lowered        uint32 // when the others were last asked, and since when Granted is below Published, in seconds of the epoch
}

// shareSize is that of its encoding.
const shareSize = 56

// encode writes the share into to, in shareSize bytes.
func (s *share) encode(to []byte) { _, _ = binary.Encode(to, binary.LittleEndian, s) }

// decode reads a share from its bytes. It returns false if a number is negative, infinite or not a number.
func (s *share) decode(from []byte) bool {
	if _, err := binary.Decode(from, binary.LittleEndian, s); err != nil {
		return false
	}
	for _, v := range []float64{s.Granted, s.Published, s.Told, s.Others, s.Max, float64(s.Left)} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// lowerRest is the time after which no process goes by a share that was made smaller: longer than each keeps what it has read.
const lowerRest = 3 * time.Second

// hasPassed reports whether so much time has passed since a second of the epoch. A clock that was set back has passed nothing.
func hasPassed(second uint32, d time.Duration, now time.Time) bool {
	return now.Unix()-int64(second) >= int64(d/time.Second)
}

// leastPublished returns the least amount that the others have to be told that this host may spend. It is more than Granted for a while after the
// share was made smaller.
func (s *share) leastPublished(now time.Time) float64 {
	if s.Lowered != 0 && !hasPassed(s.Lowered, lowerRest, now) {
		return max(s.Published, s.Granted)
	}
	return s.Granted
}

// setAnswer sets the share to the team's answer. spent is what this host had told; Lowered becomes the time since when the host has published
// more than it was granted.
func (s *share) setAnswer(p Part, budget, spent float64, now time.Time) {
	lower := p.Granted < s.Granted
	s.Granted, s.Published, s.Told, s.Others = p.Granted, p.Published, spent, p.Others
	s.Left, s.Hosts, s.At = float32(min(max(p.Left, 0), math.MaxFloat32)), uint16(min(p.Hosts, math.MaxUint16)), uint32(now.Unix())
	s.Max = budget
	switch {
	case s.Granted >= s.Published:
		s.Lowered = 0
	case lower || s.Lowered == 0 || now.Unix() < int64(s.Lowered):
		s.Lowered = uint32(now.Unix())
	}
}

const (
	// advance is the part of a budget that a host may spend that has no share of it because nobody could be asked when it began.
	advance = 0.02
	// ahead is the number of requests like the one at hand for which a share is to have room, else more is asked for meanwhile.
	ahead = 4
)

// grantAdvance grants the host an advance if the team cannot be asked, and returns whether it changed the share. A host without a share gets one
// once: a fixed part of the budget, or at most half of the rest that was known, divided by the hosts. A host whose share is of a larger budget than
// today's may spend nothing more.
func (s *share) grantAdvance(budget, spent, held float64, now time.Time) bool {
	if s.At != 0 && !s.Returned {
		if s.Max <= budget {
			return false
		}
		s.Granted, s.Max, s.Lowered = min(s.Granted, spent+held), budget, uint32(now.Unix())
		return true
	}
	most := advance * budget
	if s.At != 0 {
		most = min(most, float64(s.Left)/2/float64(s.Hosts+1))
	}
	s.At, s.Returned, s.Max = max(s.At, 1), false, budget
	s.Granted = max(s.Granted, spent+most)
	return true
}

// claim returns the claim of this host for an account: what is spent, held and wanted of it.
func (t *teamwork) claim(b *Book, a *account) Claim {
	c := Claim{
		Budget: a.name, Period: fmt.Sprint(cmp.Or(a.day, a.month)), Host: fmt.Sprintf("%016x", b.id.Load()),
		Max: a.max, Spent: a.spent, Held: a.held, Told: a.share.Told, Keep: a.share.leastPublished(b.now()),
	}
	if a.project != ofAll { // two of this host may have one name
		c.Project = t.project
		c.Host += hex.EncodeToString(b.project[:4])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Want = t.want[a.name]
	return c
}

// whileAlone calls f while no other process of this host asks the team. It waits at most teamRest for that.
func (t *teamwork) whileAlone(ctx context.Context, b *Book, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, teamRest)
	defer cancel()
	lock, err := filelock.Open(ctx, b.path+".team.lock")
	if err != nil {
		return fmt.Errorf("another process of this host does not end asking: %w", err)
	}
	defer func() { _ = filelock.Release(lock) }()
	return f()
}

// exchange asks the team for a larger share of the budgets that have too little left, and writes the answers to the book. With report it also
// publishes what was spent since the last time. If the team cannot be asked, the share gets an advance. asked is false if there was nothing to ask or
// publish.
func (t *teamwork) exchange(ctx context.Context, b *Book, report bool) (asked bool, err error) {
	err = t.whileAlone(ctx, b, func() error {
		accounts, err := b.readAccounts()
		if err != nil {
			return err
		}
		var lost error
		for i := range accounts {
			a := &accounts[i]
			c, now := t.claim(b, a), b.now()
			short := a.spent+a.held+ahead*c.Want > a.share.Granted && c.Want > 0 || a.total() >= a.max || a.share.Max > a.max
			every := tellEvery * time.Duration(1+a.share.Hosts/100)
			if a.spent == a.share.Told {
				every *= 10
			}
			// Another process of this host may just have told, and who waits for more has asked by itself.
			if recent := !hasPassed(a.share.At, every-time.Second, now) && now.Unix() >= int64(a.share.At); report && recent || !report && !short {
				continue
			}
			asked = true
			if lost == nil {
				lost = t.divide(ctx, a, c, now)
			}
			if lost != nil && !a.share.grantAdvance(a.max, a.spent, a.held, now) {
				continue
			}
			if err := b.storeShare(ctx, a); err != nil {
				return err
			}
		}
		return lost
	})
	return asked || err != nil, err
}

// returnShares gives the rest of the shares back to the team, unless another process of this host still spends. It takes the rest from this host
// before it tells the team. If the team does not answer, the share stays for the next process.
func (t *teamwork) returnShares(ctx context.Context, b *Book) error {
	return t.whileAlone(ctx, b, func() error {
		accounts := b.accounts(nil)
		first := t.claim(b, &accounts[0])
		first.Look = true
		if err := t.divide(ctx, &accounts[0], first, b.now()); err != nil {
			return err // the share stays with this host for its next process
		}
		accounts = nil
		b.mu.Lock()
		err := b.whileLocked(ctx, func(p *page) error {
			_, err := p.addUpEnded()
			if err != nil || slices.ContainsFunc(p.records, func(r record) bool { return r.kind == recordOwn }) {
				return err
			}
			for _, a := range b.accounts(p.records) {
				if a.share.At == 0 {
					continue
				}
				a.share.Granted, a.share.Returned = a.spent+a.held, true
				if err := p.setShare(&a); err != nil {
					return err
				}
				if a.share.Published != a.share.Granted || a.share.Told != a.spent {
					accounts = append(accounts, a)
				}
			}
			return nil
		})
		b.mu.Unlock()
		for i := range accounts {
			a := &accounts[i]
			c := t.claim(b, a)
			c.Last, c.Want, c.Keep = true, 0, a.share.Granted
			if err == nil {
				err = t.divide(ctx, a, c, b.now())
			}
			if err == nil {
				err = b.storeShare(ctx, a)
			}
		}
		return err
	})
}

// divide asks the team for a share and stores it in a. With c.Look it only stores what the others have spent.
func (t *teamwork) divide(ctx context.Context, a *account, c Claim, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, teamTime)
	defer cancel()
	part, err := t.team.Divide(ctx, c)
	if err != nil {
		return err
	}
	if c.Look {
		a.share.Others = part.Others
	} else {
		a.share.setAnswer(part, a.max, a.spent, now)
		a.share.Returned = c.Last
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.top[c.Budget], t.denied[c.Budget] = part.Top, 0
	if part.Granted < c.Spent+c.Held+c.Want {
		t.denied[c.Budget] = c.Want
	}
	return nil
}

// readAccounts reads the book and returns the accounts; os.ErrClosed if the book is closed.
func (b *Book) readAccounts() ([]account, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return nil, os.ErrClosed
	}
	records, err := b.readRecords()
	if err != nil {
		return nil, err
	}
	return b.accounts(records), nil
}

// storeShare writes the share of an account to the book.
func (b *Book) storeShare(ctx context.Context, a *account) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen.at = time.Time{}
	return b.whileLocked(ctx, func(p *page) error { return p.setShare(a) })
}

// setShare writes the share of an account of a day or a month into its record, and takes a free record if there is none.
func (p *page) setShare(a *account) (err error) {
	r := record{kind: recordShare, project: a.project, month: a.month}
	at := slices.IndexFunc(p.records, func(o record) bool { return o.kind == r.kind && o.project == r.project && o.month == r.month })
	if at >= 0 {
		r = p.records[at]
	} else if at, err = p.freeRecord(); err != nil {
		return err
	}
	if a.day != 0 {
		r.day, r.shares[0] = a.day, a.share
	} else {
		r.shares[1] = a.share
	}
	return p.write(at, r)
}
