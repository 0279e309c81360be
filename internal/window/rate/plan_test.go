package rate

import (
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

func header(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestPlanOf(t *testing.T) {
	soon := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	later := soon.Add(72 * time.Hour)
	at := func(x time.Time) string { return strconv.FormatInt(x.Unix(), 10) }
	for name, c := range map[string]struct {
		h    http.Header
		want []Plan
	}{
		"none": {header("anthropic-ratelimit-requests-limit: 50", "x-ratelimit-remaining-tokens: 7"), nil},
		"Anthropic's": {header(
			"anthropic-ratelimit-unified-5h-utilization: 0.42", "anthropic-ratelimit-unified-5h-status: allowed", "anthropic-ratelimit-unified-5h-reset: "+at(soon),
			"anthropic-ratelimit-unified-7d-utilization: 0.3", "anthropic-ratelimit-unified-7d-status: allowed_warning", "anthropic-ratelimit-unified-7d-reset: "+later.UTC().Format(time.RFC3339),
			"anthropic-ratelimit-unified-status: allowed", "anthropic-ratelimit-unified-overage-status: rejected",
		), []Plan{{"5h", 0.42, soon, "allowed"}, {"7d", 0.3, later, "allowed_warning"}}},
		"used up, by the word over all": {header(
			"anthropic-ratelimit-unified-5h-utilization: 1.02", "anthropic-ratelimit-unified-7d-utilization: 0.5", "anthropic-ratelimit-unified-status: rejected",
			"anthropic-ratelimit-unified-representative-claim: five_hour", "anthropic-ratelimit-unified-reset: "+at(soon),
		), []Plan{{"5h", 1.02, soon, Rejected}, {"7d", 0.5, time.Time{}, ""}}},
		"of one model": {header("anthropic-ratelimit-unified-seven_day_opus-utilization: 0.9"), []Plan{{Window: "7d_opus", Utilization: 0.9}}},
		"Codex's": {header(
			"x-codex-primary-used-percent: 48", "x-codex-primary-window-minutes: 300", "x-codex-primary-reset-at: "+at(soon),
			"x-codex-secondary-used-percent: 100", "x-codex-secondary-window-minutes: 10080", "x-codex-secondary-reset-at: "+at(later),
		), []Plan{{"5h", 0.48, soon, ""}, {"7d", 1, later, Rejected}}},
		"milliseconds":            {header("anthropic-ratelimit-unified-5h-utilization: 0", "anthropic-ratelimit-unified-5h-reset: "+at(soon)+"000"), []Plan{{"5h", 0, soon, ""}}},
		"twice: the worse":        {header("anthropic-ratelimit-unified-5h-utilization: 0.2", "anthropic-ratelimit-unified-5h-utilization: 0.8", "anthropic-ratelimit-unified-5h-status: rejected", "anthropic-ratelimit-unified-5h-status: allowed"), []Plan{{"5h", 0.8, time.Time{}, Rejected}}},
		"one window by two names": {header("x-codex-primary-used-percent: 3", "x-codex-primary-window-minutes: 300", "x-codex-secondary-used-percent: 5", "x-codex-secondary-window-minutes: 300"), []Plan{{"5h", 0.05, time.Time{}, ""}}},
		"no numbers":              {header("anthropic-ratelimit-unified-5h-utilization: NaN", "anthropic-ratelimit-unified-7d-utilization: -1", "x-codex-primary-used-percent: 1e300", "x-codex-secondary-used-percent: "), nil},
		"a time of nobody":        {header("anthropic-ratelimit-unified-5h-utilization: 0.5", "anthropic-ratelimit-unified-5h-reset: 99999999999", "x-codex-primary-used-percent: 5", "x-codex-primary-reset-at: -4"), []Plan{{Window: "5h", Utilization: 0.5}, {Window: "primary", Utilization: 0.05}}},
	} {
		got := PlanOf(c.h)
		for i := range got {
			if i < len(c.want) && got[i].Reset.Equal(c.want[i].Reset) {
				got[i].Reset = c.want[i].Reset
			}
		}
		if len(got)+len(c.want) > 0 && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Seconds from now are the only form that some answers have.
func TestPlanOfSecondsFromNow(t *testing.T) {
	got := PlanOf(header("x-codex-primary-used-percent: 1", "x-codex-primary-window-minutes: 90", "x-codex-primary-reset-after-seconds: 3600"))
	if len(got) != 1 || got[0].Window != "90m" || math.Abs(time.Until(got[0].Reset).Minutes()-60) > 1 {
		t.Errorf("%+v", got)
	}
}

func FuzzPlanOf(f *testing.F) {
	f.Add("anthropic-ratelimit-unified-5h-utilization: 0.5\nanthropic-ratelimit-unified-5h-reset: 1999999999\nanthropic-ratelimit-unified-status: rejected\nanthropic-ratelimit-unified-representative-claim: five_hour")
	f.Add("x-codex-primary-used-percent: 1e9\nx-codex-primary-window-minutes: 1e99\nx-codex-primary-reset-after-seconds: -1")
	f.Fuzz(func(t *testing.T, lines string) {
		plans := PlanOf(header(strings.Split(lines, "\n")...))
		if len(plans) > maxWindows {
			t.Errorf("%d windows", len(plans))
		}
		for i, p := range plans {
			if !(p.Utilization >= 0 && p.Utilization <= maxUtilization) || p.Window == "" || len(p.Window) > 40 || i > 0 && plans[i-1].Window == p.Window {
				t.Errorf("%+v", p)
			}
			if away := time.Until(p.Reset); !p.Reset.IsZero() && (away > maxReset || away < -maxReset-time.Minute) {
				t.Errorf("it begins anew at %v", p.Reset)
			}
		}
	})
}
