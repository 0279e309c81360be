package spend

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// claim returns what this host claims of an account.
func (t *teamwork) claim(b *Book, a *account) Claim {
	c := Claim{
		Budget: a.name, Period: fmt.Sprint(cmp.Or(a.day, a.month)), Host: fmt.Sprintf("%016x", b.id.Load()),
		Max: a.max, Spent: a.spent, Held: a.held, Told: a.share.Told, Keep: a.share.keep(b.now()),
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

// exchange asks the team for what this host has too little of, and with whole also tells of what has changed, and now and then that nothing
// has. Where nobody can be asked an advance stands in.
func (t *teamwork) exchange(ctx context.Context, b *Book, whole bool) (asked bool, err error) {
	err = t.alone(ctx, b, func() error {
		accounts, err := b.fresh()
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
			// Another process of this host may just have told.
			if !short && (!whole || !since(a.share.At, every-time.Second, now) && now.Unix() >= int64(a.share.At)) {
				continue
			}
			asked = true
			if lost == nil {
				lost = t.divide(ctx, a, c, now)
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
	return asked || err != nil, err
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
		if err := t.divide(ctx, &accounts[0], first, b.now()); err != nil {
			return err // the share stays with this host for its next process
		}
		accounts = nil
		b.mu.Lock()
		err = b.locked(ctx, func(p *page) error {
			_, err := p.sweep()
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
				err = b.keepShare(ctx, a)
			}
		}
		return err
	})
}

// divide asks the team, and has the account's share be what it answers.
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
		a.share.take(part, a.max, a.spent, now)
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

func (p *page) setShare(a *account) (err error) {
	r := record{kind: recordShare, project: a.project, month: a.month}
	at := slices.IndexFunc(p.records, func(o record) bool { return o.kind == r.kind && o.project == r.project && o.month == r.month })
	if at >= 0 {
		r = p.records[at]
	} else if at, err = p.free(); err != nil {
		return err
	}
	if a.day != 0 {
		r.day, r.shares[0] = a.day, a.share
	} else {
		r.shares[1] = a.share
	}
	return p.write(at, r)
}
