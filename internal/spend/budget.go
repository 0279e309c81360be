package spend

import (
	"context"
	"errors"
	"time"
)

// account is one budget with what was spent and is held of it.
type account struct {
	name        string
	max         float64
	spent, held float64
	reset       time.Time
	soft, hard  uint32 // bits of record.told

	project    projectID // ofAll for the budgets over all projects
	month, day uint32    // as 202611 and 20261129; of a month day is 0
	share      share     // without a [Team] all of it
}

// total returns what all hosts have spent, as far as this one knows.
func (a *account) total() float64 { return a.spent + a.share.Others }

// The bits of record.told. Those of the budgets over all projects may stand in any sum of the month, since there is none of all.
const (
	toldDay uint32 = 1 << iota
	toldDayHard
	toldMonth
	toldMonthHard
	toldProjectDay
	toldProjectDayHard
	toldProjectMonth
	toldProjectMonthHard

	toldToday = toldDay | toldDayHard | toldProjectDay | toldProjectDayHard
	toldOfAll = toldDay | toldDayHard | toldMonth | toldMonthHard
)

// others holds the sums of the processes beside this one, as they were read last.
type others struct {
	at       time.Time
	day      uint32
	accounts []account
}

const (
	// restOfOthers is the age up to which that does while no budget is near its line, which is while a fifth of each is left.
	restOfOthers = time.Second
	nearLine     = 0.2
)

// costOf returns how much of an amount counts against the budget, in dollars.
func (b *Book) costOf(a Amount) float64 {
	if b.budget.Plan {
		return a.Cost + a.Plan
	}
	return a.Cost
}

// needsPrice reports whether a request counts against the budget and has no price.
func (b *Book) needsPrice(r Request) bool { return !r.Priced && (!r.Plan || b.budget.Plan) }

// firstBudget returns the name of the first budget that is set.
func (b *Book) firstBudget() string { return b.accounts(nil)[0].name }

// accounts returns the budgets that are set, with what is spent and held of them according to these records. A day that has not come yet,
// after a clock was set back, counts as today: too much rather than too little.
func (b *Book) accounts(records []record) []account {
	month, day := splitDate(b.now())
	y, m, d := b.now().Local().Date()
	tomorrow, next := time.Date(y, m, d+1, 0, 0, 0, 0, time.Local), time.Date(y, m+1, 1, 0, 0, 0, 0, time.Local)
	all := []account{
		{name: BudgetDay, max: b.budget.Day, day: day, reset: tomorrow, soft: toldDay, hard: toldDayHard},
		{name: BudgetMonth, max: b.budget.Month, reset: next, soft: toldMonth, hard: toldMonthHard},
		{name: BudgetProjectDay, max: b.budget.ProjectDay, project: b.project, day: day, reset: tomorrow, soft: toldProjectDay, hard: toldProjectDayHard},
		{name: BudgetProjectMonth, max: b.budget.ProjectMonth, project: b.project, reset: next, soft: toldProjectMonth, hard: toldProjectMonthHard},
	}
	for j := range all {
		if all[j].month = month; b.team == nil {
			all[j].share.Granted = all[j].max
		}
	}
	numbers := map[projectID]uint32{} // of the sums of this month
	for i := range records {
		if r := &records[i]; r.kind == recordSum && r.month == month {
			numbers[r.project] = r.number
		}
	}
	for i := range records {
		r := &records[i]
		for j := range all {
			a := &all[j]
			if r.kind == recordShare && r.month == month && b.team != nil && r.project == a.project && (a.day == 0 || r.day == day) {
				a.share = r.shares[j%2]
			}
		}
		if r.kind == recordFree || r.kind == recordShare || r.month != month && r.held == (Amount{}) {
			continue
		}
		if n, ok := numbers[r.project]; r.kind == recordPayment && ok && n != r.number {
			continue // its sum has it
		}
		today, whole, held := 0.0, b.costOf(r.amount), b.costOf(r.held)
		if r.day >= day {
			today = b.costOf(r.today)
		}
		if r.month != month {
			today, whole = 0, 0
		}
		for j := range all {
			a := &all[j]
			if a.project != ofAll && r.project != b.project {
				continue
			}
			if a.held += held; a.day != 0 {
				a.spent += today
			} else {
				a.spent += whole
			}
		}
	}
	set := all[:0]
	for _, a := range all {
		if a.max > 0 {
			set = append(set, a)
		}
	}
	return set
}

// currentAccounts returns the budgets with what all processes have spent and hold. The records of others are read again if exact is set, if they were
// read too long ago, or if a budget is near its limit.
func (b *Book) currentAccounts(want float64, exact bool) ([]account, error) {
	_, day := splitDate(b.now())
	own := b.accounts([]record{b.row})
	if !exact && b.seen.day == day && b.now().Sub(b.seen.at) < restOfOthers && b.now().After(b.seen.at.Add(-restOfOthers)) {
		far := true
		b.seen.addSums(own)
		for i := range own {
			a := &own[i]
			far = far && a.total()+a.held+want < a.max*(1-nearLine) && (b.team == nil || a.spent+a.held+ahead*want <= a.share.Granted)
		}
		if far {
			return own, nil
		}
		own = b.accounts([]record{b.row})
	}
	records, err := b.readRecords()
	if err != nil {
		return nil, err
	}
	if b.own < len(records) {
		records[b.own] = record{}
	}
	b.seen = others{b.now(), day, b.accounts(records)}
	b.seen.addSums(own)
	return own, nil
}

// addSums adds the sums of the other processes to the accounts of this one, and sets their shares. Both lists are of the same budgets.
func (o *others) addSums(own []account) {
	for i, a := range o.accounts {
		own[i].spent, own[i].held, own[i].share = own[i].spent+a.spent, own[i].held+a.held, a.share
	}
}

// bookHold is a hold in a book.
type bookHold struct {
	book *Book
	want Amount
}

// holdAmount adds want to what this process holds, and writes that. If the budgets do not allow it, nothing is held and the error is an [*Over],
// or errWait with the name of the budget to wait for. Any other error wraps [ErrBook].
func (b *Book) holdAmount(ctx context.Context, want Amount) (h *bookHold, name string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	month, day := splitDate(b.now())
	if err := b.ensureRecord(ctx, month, day); err != nil {
		return nil, "", b.bookError(err)
	}
	if b.team != nil {
		b.team.startOnce(b)
	}
	name, err = b.checkBudgets(want, false)
	if errors.Is(err, errWait) { // for the living only
		found := false
		if err := b.whileLocked(ctx, func(p *page) (err error) { found, err = p.addUpEnded(); return err }); err != nil {
			return nil, "", b.bookError(err)
		}
		if found {
			name, err = b.checkBudgets(want, true)
		}
	}
	if _, over := errors.AsType[*Over](err); over || errors.Is(err, errWait) {
		return nil, name, err
	}
	if err != nil {
		return nil, "", b.bookError(err)
	}
	before := b.row
	b.row.held.add(want)
	if err := b.storeRecord(day); err != nil {
		b.row = before
		return nil, "", b.bookError(err)
	}
	return &bookHold{b, want}, "", nil
}

// storeRecord writes this process's record, with this as its day.
func (b *Book) storeRecord(day uint32) error {
	if day > b.row.day {
		b.row.day, b.row.today = day, Amount{}
	}
	b.row.since = uint64(b.now().Unix())
	return b.writeRecord(b.own, b.row)
}

// checkBudgets returns nil if want fits into all budgets, the [*Over] of a budget that is used up, or errWait with the name of a budget whose rest is
// held by others or has to be asked of the team.
func (b *Book) checkBudgets(want Amount, exact bool) (name string, err error) {
	money := b.costOf(want)
	if money <= 0 {
		return "", nil
	}
	accounts, err := b.currentAccounts(money, exact)
	if err != nil {
		return "", err
	}
	for i := range accounts {
		a := &accounts[i]
		switch {
		case b.team != nil && b.mustAskTeam(a, money):
			name, err = a.name, errWait
		case a.total() >= a.max:
			return a.name, &Over{Name: a.name, Used: a.total(), Max: a.max, Reset: a.reset, Hosts: b.topSpenders(a.name)}
		case a.held > 0 && a.spent+a.held+money > a.share.Granted, a.spent >= a.share.Granted:
			name, err = a.name, errWait
		}
	}
	return name, err
}

// settle releases a hold and, if a is not nil, adds a as spent. It returns the lines of budgets that were reached by that and not told of
// before, by any process. If the book cannot be written, the record is written with the next request, or counts with what it holds once
// this process has ended.
func (h *bookHold) settle(a *Amount) []Line {
	b := h.book
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.own < 0 {
		return nil
	}
	_, day := splitDate(b.now())
	if day > b.row.day {
		b.row.day, b.row.today = day, Amount{}
	}
	b.row.held.subtract(h.want)
	if a != nil {
		b.row.amount.add(*a)
		b.row.today.add(*a)
	}
	if b.storeRecord(day) != nil || a == nil {
		return nil
	}
	accounts, err := b.currentAccounts(0, false)
	if err != nil {
		return nil
	}
	for _, a := range accounts {
		if a.total() >= SoftLine*a.max {
			var lines []Line
			_ = b.whileLocked(context.Background(), func(p *page) (err error) { lines, err = p.takeReachedLines(); return err })
			return lines
		}
	}
	return nil
}

// takeReachedLines returns the lines of the budgets that were reached and not told of yet, and records in the book that they are told, so that no
// other process tells of them.
func (p *page) takeReachedLines() (lines []Line, err error) {
	month, day := splitDate(p.b.now())
	own, err := p.findOrCreateSum(p.b.project, month, day)
	if err != nil {
		return nil, err
	}
	told := uint32(0)
	for i := range p.records {
		r := &p.records[i]
		if r.kind != recordSum || r.month != month {
			continue
		}
		bits := r.told
		if i != own {
			bits &= toldOfAll
		}
		if r.day < day {
			bits &^= toldToday
		}
		told |= bits
	}
	before := told
	for _, a := range p.b.accounts(p.records) {
		l := Line{Name: a.name, Hard: a.total() >= a.max, Used: a.total(), Max: a.max}
		bit := a.soft
		if l.Hard {
			bit = a.hard
		}
		if a.total() < SoftLine*a.max || told&bit != 0 {
			continue
		}
		told |= a.soft | bit
		lines = append(lines, l)
	}
	if told == before {
		return nil, nil
	}
	r := p.records[own]
	if day > r.day {
		r.day, r.today = day, Amount{}
	}
	r.told = told
	return lines, p.write(own, r)
}

// Accounts returns the budgets that are set, with what was spent and is held. It first adds up the records of ended processes, and asks the
// team for what other hosts have spent.
func (b *Book) Accounts(ctx context.Context) ([]Account, error) {
	b.mu.Lock()
	var accounts []account
	err := b.whileLocked(ctx, func(p *page) error {
		_, err := p.addUpEnded()
		accounts = b.accounts(p.records)
		return err
	})
	b.mu.Unlock()
	if err != nil {
		return nil, b.bookError(err)
	}
	var out []Account
	for i := range accounts {
		a := &accounts[i]
		if b.team != nil {
			b.team.refreshOthers(ctx, b, a)
		}
		out = append(out, Account{a.name, a.max, a.total(), a.held, a.reset, b.topSpenders(a.name)})
	}
	return out, nil
}

// Account is a budget as people are shown it. Amounts are in US dollars.
type Account struct {
	Name  string    `json:"name"`
	Max   float64   `json:"max_usd"`
	Spent float64   `json:"spent_usd"`
	Held  float64   `json:"held_usd"`
	Reset time.Time `json:"reset"`
	// Hosts are those that have spent the most of a budget that several share.
	Hosts []HostSpent `json:"hosts,omitempty"`
}
