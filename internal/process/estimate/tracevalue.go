package estimate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	maxPeak    = limit.Bytes(1) << 50       // 1 PiB: damage, not a task
	maxRuntime = 100 * 365 * 24 * time.Hour // likewise
	maxMillis  = int64(253402300799) * 1000 // the end of the year 9999
)

// dateForms are the layouts of dates that Nextflow writes, and spreadsheets that a trace has passed through.
var dateForms = []string{"2006-01-02 15:04:05.999999999", time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05 -0700", "02-Jan-2006 15:04:05"}

// parseDate reads milliseconds since 1970 or a date and time, which is taken as UTC where it names no zone: only differences matter.
func parseDate(text string) (time.Time, error) {
	if ms, err := strconv.ParseFloat(text, 64); err == nil {
		if !(ms >= 0 && ms <= float64(maxMillis)) {
			return time.Time{}, fmt.Errorf("%.60q is not a date; it is milliseconds since 1970 or like 2024-02-09 14:44:43.053", text)
		}
		return time.UnixMilli(int64(ms)).UTC(), nil
	}
	for _, form := range dateForms {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.60q is not a date; it is milliseconds since 1970 or like 2024-02-09 14:44:43.053", text)
}

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

// parseDuration reads milliseconds or numbers with units, like "4h 56m 8s", "1.2s", "325ms".
func parseDuration(text string) (time.Duration, error) {
	fail := func() (time.Duration, error) {
		return 0, fmt.Errorf("%.60q is not a duration; it is milliseconds or like 1m 2s", text)
	}
	if ms, err := strconv.ParseFloat(text, 64); err == nil {
		if !(ms >= 0 && ms <= float64(maxRuntime/time.Millisecond)) {
			return fail()
		}
		return time.Duration(ms * float64(time.Millisecond)), nil
	}
	total := 0.0
	rest := strings.TrimSpace(text)
	if rest == "" {
		return fail()
	}
	for rest != "" {
		digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if digits <= 0 {
			return fail()
		}
		number, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return fail()
		}
		rest = strings.TrimLeft(rest[digits:], " ")
		end := strings.IndexFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })
		if end < 0 {
			end = len(rest)
		}
		unit, ok := durationUnits[rest[:end]]
		if !ok {
			return fail()
		}
		if total += number * float64(unit); total > float64(maxRuntime) {
			return fail()
		}
		rest = strings.TrimLeft(rest[end:], " ")
	}
	return time.Duration(total), nil
}

// cutText returns the beginning of s that is at most n bytes of valid UTF-8.
func cutText(s string, n int) string { return limit.Clip(s, n) }
