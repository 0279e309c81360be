package memory

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// A question that names a time looks for what was said then, or soon after: the words of the time themselves hardly ever stand in the answer. So what was said
// in that time counts more; nothing is left out, because a time may also be what the question is about. Narrowing by the time that a question names is the
// time-aware query expansion of LongMemEval (Wu et al., ICLR 2025), with a few rules in the place of its model. Both constants were chosen on LoCoMo's
// conversations 1 to 5.
const (
	// timeWeight is the factor of the score of what was said at the time that a question names.
	timeWeight = 2
	// toldWithin is the time in milliseconds within which an event may be told afterwards.
	toldWithin = 3 * 24 * 60 * 60 * 1000
)

// maxTimes bounds the times that are taken from one question; the first ones count.
const maxTimes = 4

// span is a stretch of time in milliseconds since 1970, from inclusive and until exclusive.
type span struct{ from, until int64 }

// saidIn returns a function that reports whether a document was said within one of the times or up to toldWithin later; nil without times.
func (h *shelf) saidIn(times []span) func(doc int) bool {
	if len(times) == 0 {
		return nil
	}
	return func(doc int) bool {
		said := h.slots[doc].said
		return slices.ContainsFunc(times, func(t span) bool { return t.from <= said && said < t.until+toldWithin })
	}
}

// parseTimes returns the times that a question names in English: days (25 May 2022, May 25th, 2022-05-25), months (May 2022, in May) and years (in
// 2022), or if there is none of these, yesterday and the last week, month and year; nil for none. A day or month without a year is the last one that
// has begun by now; days begin and end in the time zone of now.
func parseTimes(text string, now time.Time) (times []span) {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:()[]?!\"'’", r) })
	for i, w := range words {
		words[i] = strings.ToLower(strings.Trim(w, "."))
	}
	at := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	date := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	}
	add := func(from time.Time, years, months, days int) {
		if len(times) < maxTimes {
			times = append(times, span{from.UnixMilli(), from.AddDate(years, months, days).UnixMilli()})
		}
	}
	for i := 0; i < len(words); i++ {
		if len(words[i]) == len(time.DateOnly) {
			if d, err := time.ParseInLocation(time.DateOnly, words[i], now.Location()); err == nil {
				add(d, 0, 0, 1)
				continue
			}
		}
		introduced := introducesTime(at(i - 1))
		if year := parseYear(words[i]); year > 0 && introduced {
			add(date(year, time.January, 1), 1, 0, 0)
			continue
		}
		month := parseMonth(words[i])
		if month == 0 {
			continue
		}
		day := parseDay(at(i - 1))
		if day == 0 && at(i-1) == "of" { // the 25th of May
			day = parseDay(at(i - 2))
		}
		if next := parseDay(at(i + 1)); day == 0 && next > 0 {
			i, day = i+1, next
			words[i] = "" // it is not that of a month behind it too
		}
		year := parseYear(at(i + 1))
		switch {
		case year > 0:
			i++
		case day == 0 && !introduced: // may I ask, we march on
			continue
		default:
			if year = now.Year(); date(year, month, max(day, 1)).After(now) {
				year--
			}
		}
		if day > 0 {
			add(date(year, month, day), 0, 0, 1)
		} else {
			add(date(year, month, 1), 0, 1, 0)
		}
	}
	if len(times) > 0 {
		return times
	}
	today := date(now.Year(), now.Month(), now.Day())
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	for i, w := range words {
		switch last := at(i-1) == "last"; {
		case w == "yesterday":
			add(today.AddDate(0, 0, -1), 0, 0, 1)
		case last && w == "week":
			add(monday.AddDate(0, 0, -7), 0, 0, 7)
		case last && w == "month":
			add(date(now.Year(), now.Month()-1, 1), 0, 1, 0)
		case last && w == "year":
			add(date(now.Year()-1, time.January, 1), 1, 0, 0)
		}
	}
	return times
}

// introducesTime reports whether a month or a year without a day may follow a word: elsewhere "may" and "march" are mostly something else.
func introducesTime(word string) bool {
	switch word {
	case "in", "of", "during", "since", "until", "till", "by", "from", "before", "after", "last", "this", "early", "late", "mid":
		return true
	}
	return false
}

// parseMonth returns the month that a word in lower case names, 0 for none.
func parseMonth(word string) time.Month {
	switch word {
	case "january", "jan":
		return time.January
	case "february", "feb":
		return time.February
	case "march", "mar":
		return time.March
	case "april", "apr":
		return time.April
	case "may":
		return time.May
	case "june", "jun":
		return time.June
	case "july", "jul":
		return time.July
	case "august", "aug":
		return time.August
	case "september", "sept", "sep":
		return time.September
	case "october", "oct":
		return time.October
	case "november", "nov":
		return time.November
	case "december", "dec":
		return time.December
	}
	return 0
}

// parseDay returns the day of the month that a word means (25, 25th), 0 for any other word.
func parseDay(word string) int {
	if n := len(word); n > 2 {
		switch word[n-2:] {
		case "st", "nd", "rd", "th":
			word = word[:n-2]
		}
	}
	if n := parseDigits(word); len(word) <= 2 && n <= 31 {
		return n
	}
	return 0
}

// parseYear returns the year from 1970 to 2199 that a word of four digits means, 0 for any other word.
func parseYear(word string) int {
	if n := parseDigits(word); len(word) == 4 && 1970 <= n && n < 2200 {
		return n
	}
	return 0
}

// parseDigits returns a word of at most four digits as a number, 0 for any other word.
func parseDigits(word string) (n int) {
	if len(word) > 4 {
		return 0
	}
	for _, c := range []byte(word) {
		if c < '0' || '9' < c {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}
