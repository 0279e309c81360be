package spend

import (
	"context"
	"sync"
	"time"
)

// Team divides budgets among the books of several hosts.
type Team interface {
	// Divide tells the others what the claim says, and returns what this host may spend. After an error it may or may not have been told.
	Divide(ctx context.Context, c Claim) (Part, error)
}

// Claim says how much a host has spent of a budget and wants of it.
type Claim struct {
	// Budget is the name of a budget, Project that of the project or "" for all, and Period is its day or month, as 20261129 or 202611.
	Budget, Project, Period string
	// Host identifies the book that has spent.
	Host string
	Max  float64
	// Spent and Held are this host's sums, and Want is what the largest request that waits will probably cost.
	Spent, Held, Want float64
	// Told of Spent is known to the others.
	Told float64
	// Keep is the least that the others have to be told that this host may spend.
	Keep float64
	// Last is true when nobody spends here any more, so that all of the rest is given back. Look asks and tells nothing.
	Last, Look bool
}

// Part is this host's part of a budget.
type Part struct {
	// Granted bounds the host's spending in the period, and Published is the bound that the others know.
	Granted, Published float64
	// Others is the sum that the other hosts have spent, Left was granted to nobody, and Hosts counts those that hold some.
	Others, Left float64
	Hosts        int
	// Top are the hosts that have spent the most.
	Top []HostSpent
}

// HostSpent is a host's spending of a budget, in US dollars.
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
	told     sync.Once
}

// Join makes the book one of several hosts' that share its budgets, before its first use. Projects of one name are one budget. away is told
// once when the others can't be asked: this host then goes on with the share that it has.
func (b *Book) Join(team Team, project string, away func(error)) {
	b.team = &teamwork{
		team: team, project: project, away: away, kick: make(chan struct{}, 1), ended: make(chan struct{}), want: map[string]float64{}, denied: map[string]float64{}, top: map[string][]HostSpent{},
		answered: make(chan struct{}),
	}
}

// teamState returns a channel that is closed at the next answer of the team, and the error if it could not be asked the last time. Both are nil
// without a team.
func (b *Book) teamState() (next <-chan struct{}, lost error) {
	if b == nil || b.team == nil {
		return nil, nil
	}
	b.team.mu.Lock()
	defer b.team.mu.Unlock()
	return b.team.answered, b.team.failed
}

// askFor asks the team, in the background, for a share with room for an amount, and reports whether an answer will come. It returns false,
// and asks for nothing, if the team did not answer a moment ago, or has just denied as little.
func (t *teamwork) askFor(budget string, money float64) bool {
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

// mustAskTeam reports whether a request has to wait for the team's answer. It also asks the team early, before the share is used up. Of a budget
// that seems to be used up the team is asked once more, so that it is known who has spent it.
func (b *Book) mustAskTeam(a *account, money float64) bool {
	switch {
	case a.total() >= a.max:
		return b.topSpenders(a.name) == nil && b.team.askFor(a.name, money)
	case a.spent+a.held+money > a.share.Granted, a.share.Max > a.max: // or of a larger budget
		return b.team.askFor(a.name, money)
	case a.spent+a.held+ahead*money > a.share.Granted:
		b.team.askFor(a.name, money)
	}
	return false
}

// topSpenders returns the hosts that have spent the most of a budget, as far as they were told to this process.
func (b *Book) topSpenders(budget string) []HostSpent {
	if b.team == nil {
		return nil
	}
	b.team.mu.Lock()
	defer b.team.mu.Unlock()
	return b.team.top[budget]
}

// refreshOthers asks how much the other hosts have spent of an account, and claims nothing. If they cannot be asked, the account stays as it is.
func (t *teamwork) refreshOthers(ctx context.Context, b *Book, a *account) {
	c := t.claim(b, a)
	c.Look = true
	t.wakeWaiting(ctx, t.divide(ctx, a, c, b.now()))
}

// startOnce starts exchangeUntil in the background, at the first call.
func (t *teamwork) startOnce(b *Book) {
	t.start.Do(func() {
		ctx, stop := context.WithCancel(context.Background())
		t.stop = stop
		go t.exchangeUntil(ctx, b)
	})
}

// exchangeUntil asks the team whenever somebody needs a share, and publishes what is spent at regular intervals, until ctx ends.
func (t *teamwork) exchangeUntil(ctx context.Context, b *Book) {
	defer close(t.ended)
	report := time.NewTicker(tellEvery)
	defer report.Stop()
	for {
		whole := false
		select {
		case <-ctx.Done():
			return
		case <-t.kick:
		case <-report.C:
			whole = true
		}
		if asked, err := t.exchange(ctx, b, whole); asked || !whole {
			t.wakeWaiting(ctx, err)
		}
	}
}

// wakeWaiting records the outcome of asking the team and wakes those that wait for it. The first failure is reported once. If ctx has ended it
// does nothing.
func (t *teamwork) wakeWaiting(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	t.tried, t.failed = time.Now(), err
	close(t.answered)
	t.answered = make(chan struct{})
	t.mu.Unlock()
	if err != nil && t.away != nil {
		t.told.Do(func() { t.away(err) })
	}
}

// shutDown ends the exchange in the background and waits for that. If this process had a record and the team answers, it gives the rest of the
// shares back, unless another process of the host spends.
func (t *teamwork) shutDown(b *Book, entered bool) {
	t.start.Do(func() { close(t.ended) }) // nobody has asked, and nobody will
	if t.stop != nil {
		t.stop()
	}
	<-t.ended
	if _, lost := b.teamState(); entered && lost == nil {
		ctx, cancel := context.WithTimeout(context.Background(), teamTime)
		defer cancel()
		_ = t.returnShares(ctx, b)
	}
}
