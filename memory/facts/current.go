package facts

import (
	"cmp"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/memory"
)

// factKey identifies the thing that a fact is about.
type factKey struct{ namespace, scope, subject, attribute string }

func keyOf(r memory.Record) factKey {
	return factKey{r.Namespace, r.Scope, normalName(r.Fact.Subject), normalName(r.Fact.Attribute)}
}

// compareValidity orders facts by when they came true, then by when they were recorded.
func compareValidity(a, b memory.Record) int {
	return cmp.Or(a.Fact.ValidFrom.Compare(b.Fact.ValidFrom), a.Recorded.Compare(b.Recorded), cmp.Compare(a.ID, b.ID))
}

// Current divides facts into those that count at a time and those that did before; the zero time means now. Of an attribute with one value at a time the
// newest counts that was valid by then. Records that are no facts are left out, and so are facts from later than the time.
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

// validityEnd is the end of a fact's validity.
type validityEnd struct {
	id    string
	until time.Time // from when it is true no longer
}

// resolveFact decides what a new fact means for those about the same thing. Of an attribute with several values nothing ends. known is true
// when the same value stands already; ends are the facts whose validity ends; until, when not zero, is when the new one's ended.
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
