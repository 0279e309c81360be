package rate

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// Rejected is the status of a window of a plan that is used up.
const Rejected = "rejected"

// A Plan is one window of a subscription, as its provider has told it in the headers of an answer.
type Plan struct {
	// Window names its length, and a model where it is of that only: "5h", "7d", "7d_opus".
	Window string
	// Utilization is the part that is used, 1 is all of it; it may be more where the provider lets a person pay for the rest.
	Utilization float64
	// Reset is the time at which it begins anew; zero where that was not told.
	Reset time.Time
	// Status is the provider's word: "allowed", "allowed_warning" or Rejected; "" where it has none.
	Status string
}

// Bounds of what is believed of a plan.
const (
	maxWindows     = 8
	maxUtilization = 100
	maxReset       = 400 * 24 * time.Hour
)

const unified = "Anthropic-Ratelimit-Unified-"

// claims are the words for a window in the header that says which one counts, and in some others.
var claims = map[string]string{"five_hour": "5h", "seven_day": "7d", "weekly": "7d"}

// PlanOf returns the windows of the plan that the headers of an answer tell of, sorted by their names; nil where they tell of none.
//
// Anthropic tells anthropic-ratelimit-unified-{5h,7d,…}-{utilization,status,reset} and, over all of them, anthropic-ratelimit-unified-status
// with the window that it speaks of; OpenAI tells ChatGPT logins x-codex-{primary,secondary}-{used-percent,window-minutes,reset-at}.
func PlanOf(h http.Header) []Plan {
	var plans []Plan
	for name := range h {
		if of, ok := strings.CutPrefix(name, unified); ok {
			if window, ok := strings.CutSuffix(of, "-Utilization"); ok && window != "" && len(window) <= 32 {
				plans = append(plans, anthropicWindow(h, window))
			}
		} else if name == "X-Codex-Primary-Used-Percent" || name == "X-Codex-Secondary-Used-Percent" {
			plans = append(plans, codexWindow(h, strings.TrimSuffix(name, "Used-Percent")))
		}
	}
	plans = slices.DeleteFunc(plans, func(p Plan) bool { return p.Utilization < 0 })
	sorting.By(plans, func(a, b Plan) int {
		return cmp.Or(cmp.Compare(a.Window, b.Window), cmp.Compare(b.Utilization, a.Utilization))
	})
	plans = slices.CompactFunc(plans, func(a, b Plan) bool { return a.Window == b.Window })
	if len(plans) > maxWindows {
		plans = plans[:maxWindows]
	}
	if worstStatus(h[unified+"Status"]) == Rejected {
		rejectClaimed(plans, h)
	}
	return plans
}

// rejectClaimed marks as used up the window that the provider names in the headers as the one that is.
func rejectClaimed(plans []Plan, h http.Header) {
	claim := strings.ToLower(h.Get(unified + "Representative-Claim"))
	for long, short := range claims {
		claim = strings.Replace(claim, long, short, 1)
	}
	for i := range plans {
		p := &plans[i]
		if p.Window != claim {
			continue
		}
		p.Status = Rejected
		if p.Reset.IsZero() {
			p.Reset = latestTime(h[unified+"Reset"])
		}
	}
}

// anthropicWindow returns one window of Anthropic's plan from the headers of an answer.
func anthropicWindow(h http.Header, window string) Plan {
	name := strings.ToLower(window)
	for long, short := range claims {
		name = strings.Replace(name, long, short, 1)
	}
	return Plan{
		Window: name, Utilization: fractionOf(h[unified+window+"-Utilization"], 1), Reset: latestTime(h[unified+window+"-Reset"]), Status: worstStatus(h[unified+window+"-Status"]),
	}
}

// codexWindow returns one window of a ChatGPT plan from the headers that begin with prefix.
func codexWindow(h http.Header, prefix string) Plan {
	p := Plan{Window: "primary", Utilization: fractionOf(h[prefix+"Used-Percent"], 100), Reset: latestTime(h[prefix+"Reset-At"])}
	if strings.Contains(prefix, "Secondary") {
		p.Window = "secondary"
	}
	if minutes, ok := greatestNumber(h[prefix+"Window-Minutes"]); ok && minutes >= 1 && minutes < 1e6 {
		p.Window = formatMinutes(int(minutes))
	}
	if p.Reset.IsZero() {
		if seconds, ok := greatestNumber(h[prefix+"Reset-After-Seconds"]); ok && seconds < maxReset.Seconds() {
			p.Reset = time.Now().Add(time.Duration(seconds * float64(time.Second))).Truncate(time.Second)
		}
	}
	if p.Utilization >= 1 {
		p.Status = Rejected
	}
	return p
}

// formatMinutes returns a number of minutes as "5h" or "7d".
func formatMinutes(minutes int) string {
	switch {
	case minutes%(24*60) == 0:
		return fmt.Sprintf("%dd", minutes/(24*60))
	case minutes%60 == 0:
		return fmt.Sprintf("%dh", minutes/60)
	}
	return fmt.Sprintf("%dm", minutes)
}

// greatestNumber returns the greatest of the values that are finite and not negative; false if there is none.
func greatestNumber(values []string) (greatest float64, ok bool) {
	for _, v := range values {
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err == nil && n >= 0 && !math.IsInf(n, 0) {
			greatest, ok = max(greatest, n), true
		}
	}
	return greatest, ok
}

// fractionOf returns the greatest of values divided by whole; -1 if there is none that can be believed.
func fractionOf(values []string, whole float64) float64 {
	n, ok := greatestNumber(values)
	if !ok || n/whole > maxUtilization {
		return -1
	}
	return n / whole
}

// latestTime returns the latest of some times, which are seconds or milliseconds since 1970, or RFC 3339. It is zero if none can be parsed
// or lies within a year of now.
func latestTime(values []string) time.Time {
	var latest time.Time
	for _, v := range values {
		v = strings.TrimSpace(v)
		at, err := time.Parse(time.RFC3339, v)
		if err != nil {
			n, err := strconv.ParseFloat(v, 64)
			switch {
			case err != nil || !(n > 0) || n > 1e14:
				continue
			case n > 1e11:
				n /= 1000
			}
			at = time.UnixMilli(int64(n * 1000))
		}
		if away := time.Until(at); away > maxReset || away < -maxReset {
			continue
		}
		if at.After(latest) {
			latest = at
		}
	}
	return latest
}

// worstStatus returns the most severe of a provider's words for a window's state; "" if none is known.
func worstStatus(values []string) string {
	words := []string{"", "allowed", "allowed_warning", Rejected}
	worst := 0
	for _, v := range values {
		worst = max(worst, slices.Index(words, strings.ToLower(strings.TrimSpace(v))))
	}
	return words[worst]
}
