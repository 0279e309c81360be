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
}

// The bits of record.told. Those of the budgets over all projects stand in every sum of the month, since there is none of all.
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

// money returns what of an amount counts against the budget.
func (b *Book) money(a Amount) float64 {
	if b.budget.Plan {
		return a.Cost + a.Plan
	}
	return a.Cost
}

// needsPrice reports whether a request counts against the budget and has no price.
func (b *Book) needsPrice(r Request) bool { return !r.Priced && (!r.Plan || b.budget.Plan) }

// first returns the name of the first budget that is set.
func (b *Book) first() string {
	for _, a := range b.accounts(nil, 0, 0) {
		return a.name
	}
	return ""
}

// accounts returns the budgets that are set, with what the records have of them. A day that has not come yet, after a clock was set back,
// counts as today.
func (b *Book) accounts(records []record, month, day uint32) []account {
	y, m, d := b.now().Local().Date()
	tomorrow, next := time.Date(y, m, d+1, 0, 0, 0, 0, time.Local), time.Date(y, m+1, 1, 0, 0, 0, 0, time.Local)
	all := []account{
		{name: BudgetDay, max: b.budget.Day, reset: tomorrow, soft: toldDay, hard: toldDayHard},
		{name: BudgetMonth, max: b.budget.Month, reset: next, soft: toldMonth, hard: toldMonthHard},
		{name: BudgetProjectDay, max: b.budget.ProjectDay, reset: tomorrow, soft: toldProjectDay, hard: toldProjectDayHard},
		{name: BudgetProjectMonth, max: b.budget.ProjectMonth, reset: next, soft: toldProjectMonth, hard: toldProjectMonthHard},
	}
	for i := range records {
		r := &records[i]
		var today, whole, held float64
		switch {
		case r.kind == recordSum && r.month == month:
			whole = b.money(r.amount)
			if r.day >= day {
				today = b.money(r.today)
			}
		case r.kind == recordHold:
			held = b.money(r.amount)
		default:
			continue
		}
		for j := range all {
			if j >= 2 && r.project != b.project {
				continue
			}
			all[j].held += held
			if j%2 == 0 {
				all[j].spent += today
			} else {
				all[j].spent += whole
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

// bookHold is a hold in a book.
type bookHold struct {
	book   *Book
	at     int
	number uint32 // tells the record from another hold in its place
}

// hold holds want in the budgets. The error is an [*Over], errWait with the name of the budget to wait for, or wraps [ErrBook].
func (b *Book) hold(ctx context.Context, want Amount) (h *bookHold, name string, err error) {
	p, done, err := b.open(ctx)
	if err != nil {
		return nil, "", err
	}
	defer done()
	name, err = b.allows(p, want)
	if errors.Is(err, errWait) {
		var found bool
		if found, err = p.sweep(); err == nil && found {
			name, err = b.allows(p, want)
		} else if err == nil {
			err = errWait
		}
	}
	if _, over := errors.AsType[*Over](err); over || errors.Is(err, errWait) {
		return nil, name, err
	}
	if err != nil {
		return nil, "", b.fault(err)
	}
	if p.full() {
		_, _ = p.sweep()
	}
	_, day := dateOf(b.now())
	i, err := p.free()
	if err == nil {
		h = &bookHold{book: b, at: i, number: nextNumber()}
		err = p.write(i, record{
			kind: recordHold, project: b.project, day: day, number: h.number, amount: want,
			pid: uint32(b.owner.PID), start: b.owner.Start, boot: b.boot, since: uint64(b.now().Unix()),
		})
	}
	if err != nil {
		return nil, "", b.fault(err)
	}
	return h, "", nil
}

// allows returns the [*Over] of a budget that is used up, or errWait with the name of one whose rest is held.
func (b *Book) allows(p *page, want Amount) (name string, err error) {
	money := b.money(want)
	if money <= 0 {
		return "", nil
	}
	month, day := dateOf(b.now())
	for _, a := range b.accounts(p.records, month, day) {
		switch {
		case a.spent >= a.max:
			return a.name, &Over{Name: a.name, Used: a.spent, Max: a.max, Reset: a.reset}
		case a.held > 0 && a.spent+a.held+money > a.max:
			name, err = a.name, errWait
		}
	}
	return name, err
}

// end settles a hold, or releases it where a is nil, and returns the lines that were reached and not told of before. Where the book cannot be
// written the hold stays in it, and counts as spent once this process has ended.
func (h *bookHold) end(a *Amount) []Line {
	b := h.book
	p, done, err := b.open(context.Background())
	if err != nil {
		return nil
	}
	defer done()
	if h.at >= len(p.records) {
		return nil
	}
	if r := &p.records[h.at]; r.kind != recordHold || r.number != h.number || r.pid != uint32(b.owner.PID) {
		return nil // it was too old and counts as spent
	}
	if a == nil {
		_ = p.write(h.at, record{})
		return nil
	}
	if p.settle(h.at, *a) != nil {
		return nil
	}
	return p.reached()
}

// reached returns the lines of the budgets that are reached and were not told of, and notes that they are.
func (p *page) reached() (lines []Line) {
	month, day := dateOf(p.b.now())
	own, err := p.sum(p.b.project, month, day)
	if err != nil {
		return nil
	}
	told := p.records[own].told
	for i := range p.records {
		if r := &p.records[i]; r.kind == recordSum && r.month == month {
			bits := r.told & toldOfAll
			if r.day < day {
				bits &^= toldToday
			}
			told |= bits
		}
	}
	before := told
	for _, a := range p.b.accounts(p.records, month, day) {
		l := Line{Name: a.name, Hard: a.spent >= a.max, Used: a.spent, Max: a.max}
		bit := a.soft
		if l.Hard {
			bit = a.hard
		}
		if a.spent < SoftLine*a.max || told&bit != 0 {
			continue
		}
		told |= a.soft | bit
		lines = append(lines, l)
	}
	if told != before {
		r := p.records[own]
		r.told = told
		_ = p.write(own, r)
	}
	return lines
}

// Accounts returns the budgets that are set, with what was spent and is held.
func (b *Book) Accounts(ctx context.Context) ([]Account, error) {
	p, done, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	month, day := dateOf(b.now())
	var out []Account
	for _, a := range b.accounts(p.records, month, day) {
		out = append(out, Account{a.name, a.max, a.spent, a.held, a.reset})
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
}
