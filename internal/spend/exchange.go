package spend

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// claim returns what this host claims of an account.
func (t *teamwork) claim(b *Book, a *account) Claim {
	c := Claim{
		Budget: a.name, Period: a.period, Host: fmt.Sprintf("%016x", b.id.Load()), Max: a.max, Spent: a.spent, Held: a.held, Told: a.share.told, Keep: a.share.keep(b.now()),
	}
	if a.ofProject { // two of this host may have one name
		c.Project = t.project
		c.Host += hex.EncodeToString(b.project[:4])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Want = t.want[a.name]
	return c
}

// alone calls f while no other process of this host asks the team.
func (t *teamwork) alone(ctx context.Context, b *Book, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, teamRest)
	defer cancel()
	lock, err := filelock.Open(ctx, b.path+".team.lock")
	if err != nil {
		return fmt.Errorf("another process of this host does not end asking: %w", err)
	}
	defer func() { _ = filelock.Release(lock) }()
	return f()
}

// exchange asks the team for what this host has too little of, and with whole also tells of all that has changed. Where nobody can be asked an
// advance stands in.
func (t *teamwork) exchange(ctx context.Context, b *Book, whole bool) error {
	rest := int64(t.every()/time.Second) - 1
	return t.alone(ctx, b, func() error {
		accounts, err := b.fresh()
		if err != nil {
			return err
		}
		var lost error
		for i := range accounts {
			a := &accounts[i]
			c, now := t.claim(b, a), b.now()
			short := a.spent+a.held+ahead*c.Want > a.share.granted && c.Want > 0 || a.total() >= a.max || a.share.max > a.max
			age := now.Unix() - int64(a.share.at)
			if !short && (!whole || age >= 0 && age < rest) {
				continue // another process of this host may just have told
			}
			if lost == nil {
				var part Part
				if part, lost = t.divide(ctx, c); lost == nil {
					a.share.take(part, a.max, a.spent, now)
				}
			}
			if lost != nil && !a.share.lend(a.max, a.spent) {
				continue
			}
			if err := b.keepShare(ctx, a); err != nil {
				return err
			}
		}
		return lost
	})
}

// leave gives back what is left, unless another process of this host spends. What the others may have is taken from this host first.
func (t *teamwork) leave(ctx context.Context, b *Book) error {
	return t.alone(ctx, b, func() error {
		accounts, err := b.fresh()
		if err != nil || len(accounts) == 0 {
			return err
		}
		first := t.claim(b, &accounts[0])
		first.Look = true
		if _, err := t.divide(ctx, first); err != nil {
			return err // the share stays with this host for its next process
		}
		accounts = nil
		b.mu.Lock()
		err = b.locked(ctx, func(p *page) error {
			if _, err := p.sweep(); err != nil {
				return err
			}
			for i := range p.records {
				if p.records[i].kind == recordOwn {
					return nil
				}
			}
			accounts = b.accounts(p.records)
			for i := range accounts {
				a := &accounts[i]
				if a.share.at == 0 {
					continue
				}
				a.share.granted, a.share.flags = a.spent+a.held, shareReturned
				if err := p.setShare(a); err != nil {
					return err
				}
			}
			return nil
		})
		b.mu.Unlock()
		if err != nil {
			return err
		}
		for i := range accounts {
			a := &accounts[i]
			if a.share.at == 0 || a.share.published == a.share.granted && a.share.told == a.spent {
				continue
			}
			c, now := t.claim(b, a), b.now()
			c.Last, c.Want, c.Keep = true, 0, a.share.granted
			part, err := t.divide(ctx, c)
			if err != nil {
				return err
			}
			a.share.take(part, a.max, a.spent, now)
			a.share.flags = shareReturned
			if err := b.keepShare(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *teamwork) divide(ctx context.Context, c Claim) (Part, error) {
	ctx, cancel := context.WithTimeout(ctx, teamTime)
	defer cancel()
	part, err := t.team.Divide(ctx, c)
	if err != nil {
		return part, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.top[c.Budget], t.hosts, t.denied[c.Budget] = part.Top, part.Hosts, 0
	if part.Granted < c.Spent+c.Held+c.Want {
		t.denied[c.Budget] = c.Want
	}
	return part, nil
}

// fresh returns the accounts as the book has them now.
func (b *Book) fresh() ([]account, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return nil, os.ErrClosed
	}
	records, err := b.read()
	if err != nil {
		return nil, err
	}
	return b.accounts(records), nil
}

// keepShare stores the share of an account.
func (b *Book) keepShare(ctx context.Context, a *account) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen.at = time.Time{}
	return b.locked(ctx, func(p *page) error { return p.setShare(a) })
}

func (p *page) setShare(a *account) error {
	project := ofAll
	if a.ofProject {
		project = p.b.project
	}
	period, _ := strconv.ParseUint(a.period, 10, 32)
	month, day := uint32(period), uint32(0)
	if a.ofDay {
		month, day = uint32(period)/100, uint32(period)
	}
	at := -1
	for i := range p.records {
		if r := &p.records[i]; r.kind == recordShare && r.project == project && r.month == month {
			at = i
		}
	}
	r := record{kind: recordShare, project: project, month: month}
	if at >= 0 {
		r = p.records[at]
	} else {
		var err error
		if at, err = p.free(); err != nil {
			return err
		}
	}
	if a.ofDay {
		r.day, r.shares[0] = day, a.share
	} else {
		r.shares[1] = a.share
	}
	return p.write(at, r)
}
