package facts

import (
	"strings"
	"sync"
	"unicode"
)

// singles are attributes that have one value at a time. All others may have several, which then stand beside each other.
var singles = sync.OnceValue(func() map[string]bool {
	return words(`
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

func words(list string) map[string]bool {
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
