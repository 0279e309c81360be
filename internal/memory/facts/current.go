package facts

import (
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// factKey identifies what a fact states a value of. Facts with equal keys are about the same thing.
type factKey struct{ namespace, scope, subject, attribute string }

// keyOf returns what the fact of a record states a value of.
func keyOf(r memory.Record) factKey {
	return factKey{r.Namespace, r.Scope, normalName(r.Fact.Subject), normalName(r.Fact.Attribute)}
}

// validityEnd is the time until which the fact id is valid.
type validityEnd struct {
	id    string
	until time.Time // from when it is true no longer
}

// resolveFact compares a new fact with those in have that have the same subject and attribute. known means that one of them has the same
// value and is still valid. Otherwise, for an attribute with one value at a time, ends are the facts that the new one ends, and until,
// unless zero, is the time at which the new fact itself ended, because a later one is known already. A fact that was drawn from words never ends one
// that the user typed or confirmed.
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

// singles are attributes that have one value at a time. All others may have several, which then stand beside each other.
var singles = sync.OnceValue(func() map[string]bool {
	return parseNames(`
	name, full name, nickname, age, birthday, date of birth, email, e-mail, phone, phone number, address, home, city, country, location, residence,
	timezone, time zone, employer, company, job, job title, role, position, manager, spouse, partner, marital status, native language, salary, height, weight,
	status, state, phase, version, release, branch, default branch, base branch, license, licence, owner, maintainer, assignee, deadline, due date, priority,
	port, host, url, endpoint, region, environment, database, framework, runtime, build tool, package manager, test runner, editor, shell, operating system,
	theme, color scheme, indentation, line length, model, decision, budget, price`)
})

// Beginnings and ends of attributes that have one value at a time: "preferred editor", "default branch", "Go version".
var (
	singleBegins = []string{"preferred ", "favorite ", "favourite ", "current ", "default ", "primary ", "main ", "latest ", "chosen "}
	singleEnds   = []string{" version", " status", " owner", " deadline", " port", " name", " address", " email", " date", " language", " region", " url", " limit"}
)

// parseNames returns the names in a list with commas between them, as a set, each in its normal form.
func parseNames(list string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.SplitSeq(list, ",") {
		all[normalName(w)] = true
	}
	return all
}

// SingleValued reports whether an attribute has one value at a time, so that a newer value takes the place of an older one.
func SingleValued(attribute string) bool {
	a := normalName(attribute)
	if singles()[a] {
		return true
	}
	for _, p := range singleBegins {
		if strings.HasPrefix(a, p) {
			return true
		}
	}
	for _, p := range singleEnds {
		if strings.HasSuffix(a, p) {
			return true
		}
	}
	return false
}

// normalName returns a name in the form in which names are compared: lower case, without punctuation and without "the" at its beginning,
// and with single spaces, also for "_" and "-".
func normalName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r) || r == '+' || r == '#':
			return unicode.ToLower(r)
		case r == '\'' || r == '’':
			return -1
		}
		return ' '
	}, s)
	fields := strings.Fields(s)
	if len(fields) > 1 && fields[0] == "the" {
		fields = fields[1:]
	}
	return strings.Join(fields, " ")
}
