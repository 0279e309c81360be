// Package budgets divides budgets among the hosts of a fleet.
//
//	book.Join(budgets.NewTeam(f.Bucket(fleet.Budgets), hostname), project, warn)
//
// Each budget of a period has one key. It has how far each host may spend, and what it has spent; a host changes its own line there by a write
// that names the revision which it replaces. All that hosts may spend never comes to more than the budget, so whoever is cut off can go on
// with what it has. A host that died keeps its line until it is back or the period ends: what it has spent since it told last is not known.
//
// The tests let hosts that die, lag and see old values contend, and sum up what all of them spent.
package budgets

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/spend"
)

const (
	// maxLines bounds the lines of a key. Those of hosts that have given back their rest are added up before.
	maxLines = 1000
	// mostSpenders are named in a refusal.
	mostSpenders = 3
	// maxMoney bounds an amount, in US dollars: sums of a budget stay numbers.
	maxMoney = 1e12
	// maxName bounds the name of a host.
	maxName = 64
)

// Of what a host may spend in advance: room for some requests, a part of the budget, or of what it has spent already, whichever is most,
// and never more than its part of what is left, so that the steps shrink.
const (
	requestsAhead = 10
	partOfBudget  = 0.01
	partOfSpent   = 0.5
)

// Store keeps the values, as [fleet.Bucket] does.
type Store interface {
	Change(ctx context.Context, key string, change func(old fleet.Entry) ([]byte, error)) error
}

// Team is the division of budgets among the hosts of a fleet.
type Team struct {
	store Store
	name  string
}

// NewTeam returns the division that a store keeps, for a host of this name.
func NewTeam(s Store, name string) *Team { return &Team{s, name[:min(len(name), maxName)]} }

// A value keeps one budget in one period.
type value struct {
	Hosts map[string]line `json:"hosts"`
	// Gone sums up hosts whose lines were dropped.
	Gone float64 `json:"gone,omitempty"`
}

// A line is a host's own.
type line struct {
	Name string `json:"name"`
	// Granted bounds its spending, and Spent was spent when it told last, both of the whole period.
	Granted float64 `json:"granted"`
	Spent   float64 `json:"spent"`
	// Gone is the part of both that is in the value's.
	Gone float64 `json:"gone,omitempty"`
}

// heldFromOthers returns how much less of the budget the other hosts have because of this one.
func (l line) heldFromOthers() float64 { return max(l.Granted, l.Spent) - l.Gone }

// Key returns the key of a claim's budget.
func Key(c spend.Claim) string { return fleet.Key(c.Budget, c.Period, c.Project) }

// Divide implements [spend.Team]: it computes the host's share of a budget from the shares of all hosts, and writes it. With c.Look, or if nothing
// changes, it writes nothing.
func (t *Team) Divide(ctx context.Context, c spend.Claim) (part spend.Part, err error) {
	err = t.store.Change(ctx, Key(c), func(old fleet.Entry) ([]byte, error) {
		v, err := decode(old.Value)
		if err != nil {
			return nil, err
		}
		if _, known := v.Hosts[c.Host]; !c.Look && !known && !v.makeRoom() {
			return nil, fmt.Errorf("%w: more than %d hosts hold a share of %s", fleet.ErrRefused, maxLines, c.Budget)
		}
		part = v.divide(c, t.name)
		text, err := json.Marshal(v)
		if c.Look || bytes.Equal(text, old.Value) && part.Granted <= c.Keep {
			return nil, err
		}
		return text, err
	})
	return part, err
}

// decode parses the value of a budget; an empty text is one without hosts. Numbers that are out of bounds are an error, because a budget
// that was read wrong would be no limit.
func decode(text []byte) (*value, error) {
	v := &value{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, v); err != nil {
			return nil, fmt.Errorf("%w: what its budgets have is damaged: %w", fleet.ErrRefused, err)
		}
	}
	good := v.Gone >= 0 && v.Gone <= maxMoney
	for _, l := range v.Hosts {
		good = good && l.Granted >= 0 && l.Granted <= maxMoney && l.Spent >= 0 && l.Spent <= maxMoney && l.Gone >= 0 && l.Gone <= l.Spent
	}
	if !good || len(v.Hosts) > maxLines {
		return nil, fmt.Errorf("%w: what its budgets have is damaged", fleet.ErrRefused)
	}
	if v.Hosts == nil {
		v.Hosts = map[string]line{}
	}
	return v, nil
}

// divide computes the share of the host that makes the claim, sets the host's line in v accordingly, and returns the share: at least what
// it has spent, at most what the others leave.
func (v *value) divide(c spend.Claim, name string) spend.Part {
	mine, known := v.Hosts[c.Host]
	if !known && c.Told > 0 && c.Told <= v.Gone {
		mine.Gone = c.Told // its line was added up; else the server has lost it, and it is written anew
	}
	p := spend.Part{Others: v.Gone - mine.Gone}
	taken := p.Others
	for id, l := range v.Hosts {
		if id == c.Host {
			continue
		}
		p.Others += l.Spent - l.Gone
		taken += l.heldFromOthers()
		if l.Granted > l.Spent {
			p.Hosts++
		}
	}
	p.Others, taken = max(p.Others, 0), max(taken, 0)
	mine.Name, mine.Spent = name, max(mine.Spent, c.Spent)
	room := max(c.Max-taken, 0)
	needs := c.Spent + c.Held + c.Want
	left := max(room-needs, 0)
	if c.Last {
		p.Granted = c.Spent + c.Held
	} else {
		slack := max(requestsAhead*c.Want, partOfBudget*c.Max, partOfSpent*c.Spent)
		p.Granted = min(needs+min(slack, left/float64(p.Hosts+2)), room)
	}
	p.Granted = max(p.Granted, c.Spent)
	p.Published = max(p.Granted, c.Keep)
	p.Left = max(room-p.Published, 0)
	mine.Granted = p.Published
	v.Hosts[c.Host] = mine
	p.Top = v.topSpenders()
	return p
}

// topSpenders returns the mostSpenders hosts that have spent the most, largest first; hosts with the same name count as one.
func (v *value) topSpenders() []spend.HostSpent {
	byName := map[string]float64{}
	for _, l := range v.Hosts {
		if l.Spent > 0 {
			byName[l.Name] += l.Spent
		}
	}
	var all []spend.HostSpent
	for name, spent := range byName {
		all = append(all, spend.HostSpent{Host: name, Spent: spent})
	}
	sorting.By(all, func(a, b spend.HostSpent) int {
		return cmp.Or(cmp.Compare(b.Spent, a.Spent), cmp.Compare(a.Host, b.Host))
	})
	return slices.Clip(all[:min(len(all), mostSpenders)])
}

// makeRoom makes room for one more host, and returns false if that is not possible. If there are maxLines hosts, it removes those that hold
// nothing and adds what they spent to v.Gone.
func (v *value) makeRoom() bool {
	if len(v.Hosts) < maxLines {
		return true
	}
	for id, l := range v.Hosts {
		if l.Granted <= l.Spent {
			v.Gone += l.Spent - l.Gone
			delete(v.Hosts, id)
		}
	}
	return len(v.Hosts) < maxLines
}
