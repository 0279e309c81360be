package runs

import (
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// A RateWait tells of requests that wait until their provider lets them through, as a run told it last ([journal.WindowRateWaited]).
type RateWait struct {
	Told     time.Time `json:"told"`
	Upstream string    `json:"upstream"`
	Waiting  int       `json:"waiting"`
	// SinceMS is the time that the first of them had waited then.
	SinceMS int64  `json:"since_ms"`
	Unit    string `json:"unit,omitempty"`
	Left    int64  `json:"left,omitempty"`
	Limit   int64  `json:"limit,omitempty"`
	PauseMS int64  `json:"pause_ms,omitempty"` // for which the provider asks, from Told on
}

func rateWaitOf(at time.Time, e *journal.WindowRateWaited) RateWait {
	return RateWait{Told: at, Upstream: e.Upstream, Waiting: e.Waiting, SinceMS: e.Since.Milliseconds(), Unit: e.Unit, Left: e.Left, Limit: e.Limit, PauseMS: e.Pause.Milliseconds()}
}

// toldFor bounds the time for which a run is believed to wait: while it does it tells so every two seconds.
const toldFor = 10 * time.Second

// Words says what the requests wait for: "waits for the provider: 12 s (42 tokens/min left of 40,000)"; "" where none waits.
func (w RateWait) Words(now time.Time) string {
	since := now.Sub(w.Told)
	if w.Waiting == 0 || since > toldFor || since < -toldFor {
		return ""
	}
	waited := max(time.Duration(w.SinceMS)*time.Millisecond+since, 0)
	text := fmt.Sprintf("waits for the provider: %d s", int(waited.Seconds()))
	if pause := time.Duration(w.PauseMS)*time.Millisecond - since; pause > 0 {
		text += fmt.Sprintf(" (it asks for a pause, another %d s)", int(pause.Seconds())+1)
	} else if w.Limit > 0 {
		text += fmt.Sprintf(" (%s %s/min left of %s)", limit.Tokens(w.Left), w.Unit, limit.Tokens(w.Limit))
	}
	return text
}
