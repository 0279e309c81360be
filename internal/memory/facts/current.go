package facts

import (
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// factKey identifies what a fact states a value of. Facts with equal keys are about the same thing.
type factKey struct{ namespace, scope, subject, attribute string }

func keyOf(r memory.Record) factKey {
	return factKey{r.Namespace, r.Scope, normalName(r.Fact.Subject), normalName(r.Fact.Attribute)}
}

// validityEnd is the time until which the fact id is valid.
type validityEnd struct {
	id    string
	until time.Time // from when it is true no longer
}

// resolveFact decides what a new fact means for those in have that are about the same thing. known reports that one of them has the same
// value and is still valid. ends are the facts that the new one ends, which happens only to attributes with one value at a time. until,
// when not zero, is the time when the new fact itself ended, because a later one is known already. What is drawn from words has no say about what a
// person typed or vouched for.
func resolveFact(fresh memory.Record, have []memory.Record) (known bool, ends []validityEnd, until time.Time) {
	single := SingleValued(fresh.Fact.Attribute)
	for _, old := range have {
		if old.Fact == nil || old.Standing() || keyOf(old) != keyOf(fresh) {
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
		case stands && (old.Origin != memory.OriginUser || fresh.Origin == memory.OriginUser):
			ends = append(ends, validityEnd{old.ID, fresh.Fact.ValidFrom})
		}
	}
	if known {
		return true, nil, time.Time{}
	}
	return false, ends, until
}
