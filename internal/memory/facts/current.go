package facts

import (
	"cmp"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// factKey identifies what a fact states a value of. Facts with equal keys are about the same thing.
type factKey struct{ namespace, scope, subject, attribute string }

func keyOf(r memory.Record) factKey {
	return factKey{r.Namespace, r.Scope, normalName(r.Fact.Subject), normalName(r.Fact.Attribute)}
}

// compareValidity orders facts by ValidFrom, then by when they were recorded.
func compareValidity(a, b memory.Record) int {
	return cmp.Or(a.Fact.ValidFrom.Compare(b.Fact.ValidFrom), a.Recorded.Compare(b.Recorded), cmp.Compare(a.ID, b.ID))
}

// Current divides facts into those that are valid at asOf and those that were valid earlier, each in the order of ValidFrom. The zero asOf
// means now. Of an attribute that has one value at a time, only the newest fact is current. Records that are not facts, and facts that
// begin after asOf, are left out.
func Current(records []memory.Record, asOf time.Time) (current, past []memory.Record) {
	newest := map[factKey]int{} // place in sorted
	var sorted []memory.Record
	for _, r := range records {
		if r.Fact != nil && (asOf.IsZero() || !r.Fact.ValidFrom.After(asOf)) {
			sorted = append(sorted, r)
		}
	}
	sorting.StableBy(sorted, compareValidity)
	for i, r := range sorted {
		if SingleValued(r.Fact.Attribute) {
			newest[keyOf(r)] = i
		}
	}
	for i, r := range sorted {
		last, single := newest[keyOf(r)]
		ended := !r.Fact.ValidUntil.IsZero() && (asOf.IsZero() || !asOf.Before(r.Fact.ValidUntil))
		if single && last != i || ended || asOf.IsZero() && !r.Fact.Expired.IsZero() {
			past = append(past, r)
		} else {
			current = append(current, r)
		}
	}
	return current, past
}

// validityEnd is the time until which the fact id is valid.
type validityEnd struct {
	id    string
	until time.Time // from when it is true no longer
}

// resolveFact decides what a new fact means for those in have that are about the same thing. known reports that one of them has the same
// value and is still valid. ends are the facts that the new one ends, which happens only to attributes with one value at a time. until,
// when not zero, is the time when the new fact itself ended, because a later one is known already.
func resolveFact(fresh memory.Record, have []memory.Record) (known bool, ends []validityEnd, until time.Time) {
	single := SingleValued(fresh.Fact.Attribute)
	for _, old := range have {
		if old.Fact == nil || keyOf(old) != keyOf(fresh) {
			continue
		}
		same := normalName(old.Fact.Value) == normalName(fresh.Fact.Value)
		stands := old.Fact.ValidUntil.IsZero() && old.Fact.Expired.IsZero()
		switch {
		case same && stands && !old.Fact.ValidFrom.After(fresh.Fact.ValidFrom):
			known = true
		case same || !single:
		case old.Fact.ValidFrom.After(fresh.Fact.ValidFrom): // learned late: it was over by then
			if until.IsZero() || old.Fact.ValidFrom.Before(until) {
				until = old.Fact.ValidFrom
			}
		case stands:
			ends = append(ends, validityEnd{old.ID, fresh.Fact.ValidFrom})
		}
	}
	if known {
		return true, nil, time.Time{}
	}
	return false, ends, until
}
