package facts

import (
	"cmp"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

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
