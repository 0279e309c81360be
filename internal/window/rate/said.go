package rate

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Unit is one thing that a provider counts.
type Unit uint8

// The units. Tokens are those of input and output together.
const (
	Requests Unit = iota
	Tokens
	Input
	Output
	units
)

func (u Unit) String() string {
	return [units]string{"requests", "tokens", "input tokens", "output tokens"}[u]
}

// Bounds of what is believed of a header.
const (
	maxAllowance = 1e12
	maxWait      = 24 * time.Hour
)

// A reading holds the numbers of one answer about one allowance.
type reading struct {
	known       bool
	limit, left float64
	full        time.Duration // until all of it is there again; negative where that was not told
}

// said holds the numbers of one answer about all allowances.
type said struct {
	readings [units]reading
	after    time.Duration // when to come again; 0 where that was not told
}

// names are the headers of the allowances, as net/http spells them. Where two families tell of one unit, the one with less left counts.
var names = []struct {
	unit               Unit
	limit, left, reset string
}{
	{Requests, "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{Tokens, "Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{Input, "Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	{Output, "Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
	{Requests, "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{Tokens, "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{Requests, "X-Ratelimit-Limit-Requests-Minute", "X-Ratelimit-Remaining-Requests-Minute", "X-Ratelimit-Reset-Requests-Minute"}, // Cerebras
	{Tokens, "X-Ratelimit-Limit-Tokens-Minute", "X-Ratelimit-Remaining-Tokens-Minute", "X-Ratelimit-Reset-Tokens-Minute"},
	{Requests, "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}, // OpenRouter
}

// readHeaders returns what the headers of an answer say about the allowances; told is false if they say nothing. Times are taken relative
// to the provider's own Date, where the answer has it, because this host's clock may be wrong.
func readHeaders(h http.Header, now time.Time) (s said, told bool) {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	for i := range names {
		n := &names[i]
		values := h[n.left]
		if len(values) == 0 {
			continue
		}
		r := reading{full: longestWait(h[n.reset], now)}
		var ok, bounded bool
		r.left, ok = smallestNumber(values)
		r.limit, bounded = smallestNumber(h[n.limit])
		if !ok || !bounded || r.limit < 1 || r.limit > maxAllowance || r.left > r.limit {
			continue
		}
		r.known = true
		if old := s.readings[n.unit]; !old.known || r.left < old.left {
			s.readings[n.unit], told = r, true
		}
	}
	if ms, ok := greatestNumber(h["Retry-After-Ms"]); ok && ms > 0 {
		s.after = atMost(ms / 1000)
	} else if d := longestWait(h["Retry-After"], now); d > 0 {
		s.after = d
	}
	return s, told || s.after > 0
}

// smallestNumber returns the smallest of some numbers; false if one of them is not a number or negative.
func smallestNumber(values []string) (smallest float64, ok bool) {
	smallest = math.Inf(1)
	for _, v := range values {
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil || !(n >= 0) || math.IsInf(n, 0) {
			return 0, false
		}
		smallest, ok = min(smallest, n), true
	}
	return smallest, ok
}

// longestWait returns the longest of some waits from now: "6ms", "1m30s", a number of seconds, or a point in time. It is negative without any.
func longestWait(values []string, now time.Time) time.Duration {
	longest := time.Duration(-1)
	for _, v := range values {
		if v = strings.TrimSpace(v); v == "" {
			continue
		}
		d := time.Duration(-1)
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			switch {
			case !(n >= 0) || n > 1e14:
			case n > 1e11: // milliseconds since 1970
				d = time.UnixMilli(int64(n)).Sub(now)
			case n > 1e9:
				d = time.Unix(int64(n), 0).Sub(now)
			default:
				d = atMost(n)
			}
		} else if last := v[len(v)-1]; last == 's' || last == 'm' || last == 'h' {
			if d, err = time.ParseDuration(v); err != nil {
				continue
			}
		} else if at, err := time.Parse(time.RFC3339, v); err == nil {
			d = max(at.Sub(now), 0)
		} else if at, err := http.ParseTime(v); err == nil {
			d = max(at.Sub(now), 0)
		}
		longest = max(longest, min(d, maxWait))
	}
	return longest
}

// atMost returns a number of seconds as a duration of at most maxWait.
func atMost(seconds float64) time.Duration {
	return time.Duration(min(seconds, maxWait.Seconds()) * float64(time.Second))
}
