package spend

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// Team divides budgets among the books of several hosts.
type Team interface {
	// Divide tells the others what the claim says, and returns what this host may spend. After an error it may or may not have been told.
	Divide(ctx context.Context, c Claim) (Part, error)
}

// Claim is what a host has spent of a budget and wants of it.
type Claim struct {
	// Budget is the name of a budget, Project that of the project or "" for all, and Period is its day or month, as 20261129 or 202611.
	Budget, Project, Period string
	// Host identifies the book that has spent.
	Host string
	Max  float64
	// Spent and Held are this host's sums, and Want is what the largest request that waits will probably cost.
	Spent, Held, Want float64
	// Told is what the others were told that was spent here.
	Told float64
	// Keep is the least that the others have to be told that this host may spend.
	Keep float64
	// Last is true when nobody spends here any more, so that all of the rest is given back. Look asks and tells nothing.
	Last, Look bool
}

// Part is this host's part of a budget.
type Part struct {
	// Granted is how far the host's spending in the period may go, and Published what the others were told of that.
	Granted, Published float64
	// Others is what the other hosts have spent, Left what nobody was granted, and Hosts the number of those that hold some.
	Others, Left float64
	Hosts        int
	// Top are the hosts that have spent the most.
	Top []HostSpent
}

// HostSpent is what a host has spent of a budget, in US dollars.
type HostSpent struct {
	Host  string  `json:"host"`
	Spent float64 `json:"spent_usd"`
}

const (
	bookIDSize = 8
	// teamTime bounds one question to the team, and teamRest is the time until it is asked again after one in vain.
	teamTime, teamRest = 2 * time.Second, 5 * time.Second
	// tellEvery is the time between two reports to a team of up to 100 hosts; one that spends nothing reports ten times less often.
	tellEvery = 3 * time.Second
	// answerRest is the time for which an answer stands that did not give enough.
	answerRest = time.Second
)

// teamwork is the share of a [Book] in budgets of several hosts.
type teamwork struct {
	team    Team
	project string
	away    func(error)

	start sync.Once
	stop  context.CancelFunc
	ended chan struct{}
	kick  chan struct{}

	mu       sync.Mutex
	want     map[string]float64     // by budget
	denied   map[string]float64     // the same, of what was asked for and not given
	top      map[string][]HostSpent // as the team told last
	answered chan struct{}          // closed when the team has answered, or could not be asked
	tried    time.Time
	failed   error // of the last try
	told     bool
	hosts    int
	active   bool // since the last report
}

// Join makes the book one of several hosts' that share its budgets, before its first use. Projects of one name are one budget. away is told
// once when the others can't be asked: this host then goes on with the share that it has.
func (b *Book) Join(team Team, project string, away func(error)) {
	b.team = &teamwork{
		team: team, project: project, away: away, kick: make(chan struct{}, 1), ended: make(chan struct{}), want: map[string]float64{}, denied: map[string]float64{}, top: map[string][]HostSpent{},
		answered: make(chan struct{}),
	}
}

// changed returns a channel that is closed at the next answer of the team; nil where there is none.
func (b *Book) changed() <-chan struct{} {
	if b == nil || b.team == nil {
		return nil
	}
	b.team.mu.Lock()
	defer b.team.mu.Unlock()
	return b.team.answered
}

// lost returns why the team could not be asked the last time.
func (b *Book) lost() error {
	if b == nil || b.team == nil {
		return nil
	}
	b.team.mu.Lock()
	defer b.team.mu.Unlock()
	return b.team.failed
}

// need asks for a share with room for an amount, and reports whether the answer is still to come. What was denied just now is not asked for
// again at once, unless nothing was told of who has spent the budget.
func (t *teamwork) need(budget string, money float64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := teamRest
	if t.failed == nil {
		rest = answerRest
	}
	fresh := !t.tried.IsZero() && time.Since(t.tried) < rest
	if fresh && (t.failed != nil || t.denied[budget] > 0 && t.denied[budget] <= money && t.top[budget] != nil) {
		return false
	}
	if !fresh {
		t.want[budget] = 0
	}
	t.want[budget] = max(t.want[budget], money)
	select {
	case t.kick <- struct{}{}:
	default:
	}
	return true
}

// asks reports whether a request waits for the team's answer, and has the team asked in time. What is over is looked at once more, and who
// has spent it.
func (b *Book) asks(a *account, money float64) bool {
	switch {
	case a.total() >= a.max:
		return b.spenders(a.name) == nil && b.team.need(a.name, money)
	case a.spent+a.held+money > a.share.granted, a.share.max > a.max: // or of a larger budget
		return b.team.need(a.name, money)
	case a.spent+a.held+ahead*money > a.share.granted:
		b.team.need(a.name, money)
	}
	return false
}

// spenders returns the hosts that have spent the most of a budget, as far as they were told to this process.
func (b *Book) spenders(budget string) []HostSpent {
	if b.team == nil {
		return nil
	}
	b.team.mu.Lock()
	defer b.team.mu.Unlock()
	return b.team.top[budget]
}

// look brings what the others have spent of an account up to now, if they can be asked, and claims nothing.
func (t *teamwork) look(ctx context.Context, b *Book, a *account) {
	c := t.claim(b, a)
	c.Look = true
	part, err := t.divide(ctx, c)
	if err == nil {
		a.share.others = part.Others
	}
	t.done(ctx, err)
}

// touch notes that something is spent, and starts the work.
func (t *teamwork) touch(b *Book) {
	t.start.Do(func() {
		ctx, stop := context.WithCancel(context.Background())
		t.stop = stop
		go t.run(ctx, b)
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = true
}

func (t *teamwork) run(ctx context.Context, b *Book) {
	defer close(t.ended)
	for {
		t.mu.Lock()
		every := tellEvery * time.Duration(1+t.hosts/100)
		if !t.active && t.failed == nil {
			every *= 10
		}
		t.active = false
		t.mu.Unlock()
		report := time.NewTimer(every)
		whole := false
		select {
		case <-ctx.Done():
			report.Stop()
			return
		case <-t.kick:
		case <-report.C:
			whole = true
		}
		report.Stop()
		t.done(ctx, t.exchange(ctx, b, whole))
	}
}

// done wakes those that wait for an answer.
func (t *teamwork) done(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	tell := err != nil && !t.told
	t.told = t.told || tell
	t.tried, t.failed = time.Now(), err
	close(t.answered)
	t.answered = make(chan struct{})
	t.mu.Unlock()
	if tell && t.away != nil {
		t.away(err)
	}
}

// close ends the work of a process. The last one of the host gives back what is left of its shares.
func (t *teamwork) close(b *Book, entered bool) {
	t.start.Do(func() { close(t.ended) }) // nobody has asked, and nobody will
	if t.stop != nil {
		t.stop()
	}
	<-t.ended
	if entered && b.lost() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), teamTime)
		defer cancel()
		_ = t.leave(ctx, b)
	}
}

// claim returns what this host claims of an account.
func (t *teamwork) claim(b *Book, a *account) Claim {
	c := Claim{
		Budget: a.name, Period: a.period, Host: hex.EncodeToString(b.id[:]), Max: a.max, Spent: a.spent, Held: a.held, Told: a.share.told, Keep: a.share.keep(b.now()),
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

// exchange asks the team for what this host has too little of, and with whole also tells of all that has changed.
func (t *teamwork) exchange(ctx context.Context, b *Book, whole bool) error {
	return t.alone(ctx, b, func() error {
		accounts, err := b.fresh()
		if err != nil {
			return err
		}
		for i := range accounts {
			a := &accounts[i]
			c, now := t.claim(b, a), b.now()
			short := a.spent+a.held+ahead*c.Want > a.share.granted && c.Want > 0 || a.total() >= a.max || a.share.max > a.max
			age := now.Unix() - int64(a.share.at)
			if !short && (!whole || age >= 0 && age < int64(tellEvery/time.Second)-1) {
				continue // another process of this host may just have told
			}
			part, err := t.divide(ctx, c)
			if err == nil {
				a.share.take(part, a.max, a.spent, now)
			} else if !a.share.lend(a.max, a.spent) {
				return err
			}
			if failed := b.keepShare(ctx, a); failed != nil {
				return failed
			}
			if err != nil {
				return err
			}
		}
		return nil
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
