package rate

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	date := "Date: " + now.Add(-time.Hour).Format(http.TimeFormat) // the provider's clock is an hour behind ours
	for name, c := range map[string]struct {
		h    http.Header
		want string
	}{
		"nothing": {header("Content-Type: application/json"), ""},
		"Anthropic's": {header(
			date, "anthropic-ratelimit-requests-limit: 50", "anthropic-ratelimit-requests-remaining: 49", "anthropic-ratelimit-requests-reset: 2026-11-29T11:00:01Z",
			"anthropic-ratelimit-input-tokens-limit: 30000", "anthropic-ratelimit-input-tokens-remaining: 0", "anthropic-ratelimit-input-tokens-reset: 2026-11-29T11:01:00Z", "retry-after: 12",
		), "49/50 requests in 1s; 0/30000 input tokens in 1m0s; after 12s"},
		"OpenAI's": {header(
			"x-ratelimit-limit-requests: 10000", "x-ratelimit-remaining-requests: 9999", "x-ratelimit-reset-requests: 6ms",
			"x-ratelimit-limit-tokens: 2000000", "x-ratelimit-remaining-tokens: 1", "x-ratelimit-reset-tokens: 1m30s", "retry-after-ms: 1500", "retry-after: 2",
		), "9999/10000 requests in 6ms; 1/2000000 tokens in 1m30s; after 1.5s"},
		"Azure's has no reset":      {header("x-ratelimit-limit-tokens: 1000", "x-ratelimit-remaining-tokens: 20"), "20/1000 tokens in -1ns"},
		"Cerebras'":                 {header("x-ratelimit-limit-tokens-minute: 60000", "x-ratelimit-remaining-tokens-minute: 59000", "x-ratelimit-reset-tokens-minute: 33.5"), "59000/60000 tokens in 33.5s"},
		"OpenRouter's":              {header("x-ratelimit-limit: 20", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 1795953630000"), "0/20 requests in 30s"},
		"a date to come again":      {header("retry-after: Sun, 29 Nov 2026 12:00:07 GMT"), "after 7s"},
		"a date that has passed":    {header("retry-after: Sun, 29 Nov 2020 12:00:07 GMT"), ""},
		"never":                     {header("retry-after: 1e300"), ""},
		"in a year":                 {header("retry-after: 31536000"), "after 24h0m0s"},
		"negative":                  {header("x-ratelimit-limit-tokens: 1000", "x-ratelimit-remaining-tokens: -1", "retry-after: -5"), ""},
		"more left than there is":   {header("x-ratelimit-limit-tokens: 1000", "x-ratelimit-remaining-tokens: 1001"), ""},
		"no limit":                  {header("x-ratelimit-remaining-tokens: 20"), ""},
		"a limit of nothing":        {header("x-ratelimit-limit-tokens: 0", "x-ratelimit-remaining-tokens: 0"), ""},
		"twice, not the same":       {header("x-ratelimit-limit-requests: 100, ", "x-ratelimit-limit-tokens: 9000", "x-ratelimit-limit-tokens: 1000", "x-ratelimit-remaining-tokens: 900", "x-ratelimit-remaining-tokens: 5", "x-ratelimit-reset-tokens: 1s", "x-ratelimit-reset-tokens: 9s"), "5/1000 tokens in 9s"},
		"two families":              {header("x-ratelimit-limit-requests: 100", "x-ratelimit-remaining-requests: 50", "anthropic-ratelimit-requests-limit: 9", "anthropic-ratelimit-requests-remaining: 2"), "2/9 requests in -1ns"},
		"begins anew in the past":   {header("x-ratelimit-limit-requests: 9", "x-ratelimit-remaining-requests: 0", "x-ratelimit-reset-requests: 2020-01-01T00:00:00Z"), "0/9 requests in 0s"},
		"words in place of numbers": {header("x-ratelimit-limit-requests: many", "x-ratelimit-remaining-requests: few", "retry-after: soon"), ""},
	} {
		s, told := readHeaders(c.h, now)
		var parts []string
		for u, r := range s.readings {
			if r.known {
				parts = append(parts, trimmed(r.left)+"/"+trimmed(r.limit)+" "+Unit(u).String()+" in "+r.full.String())
			}
		}
		if s.after > 0 {
			parts = append(parts, "after "+s.after.String())
		}
		if got := strings.Join(parts, "; "); got != c.want || told != (got != "") {
			t.Errorf("%s: %q (%v), want %q", name, got, told, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("x-ratelimit-limit-tokens: 1e9\nx-ratelimit-remaining-tokens: 7\nx-ratelimit-reset-tokens: 1h1s\nretry-after: 9e99\ndate: Sun, 29 Nov 2026 12:00:07 GMT")
	f.Add("anthropic-ratelimit-requests-limit: NaN\nanthropic-ratelimit-requests-remaining: -0\nanthropic-ratelimit-requests-reset: 9999-11-29T11:00:01Z\nretry-after-ms: inf")
	f.Fuzz(func(t *testing.T, lines string) {
		s, _ := readHeaders(header(strings.Split(lines, "\n")...), time.Now())
		if s.after < 0 || s.after > maxWait {
			t.Errorf("after %v", s.after)
		}
		for _, r := range s.readings {
			if r.known && !(r.limit >= 1 && r.limit <= maxAllowance && r.left >= 0 && r.left <= r.limit && r.full >= -1 && r.full <= maxWait) {
				t.Errorf("%+v", r)
			}
		}
	})
}

func trimmed(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
