package runs

import (
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

func TestRateWaitWords(t *testing.T) {
	told := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		e     journal.WindowRateWaited
		later time.Duration
		want  string
	}{
		{journal.WindowRateWaited{Waiting: 2, Since: 11 * time.Second, Unit: "tokens", Left: 42, Limit: 40_000}, time.Second, "waits for the provider: 12 s (42 tokens/min left of 40k)"},
		{journal.WindowRateWaited{Waiting: 1, Since: time.Second, Unit: "requests", Limit: 50, Pause: 5 * time.Second}, 2 * time.Second, "waits for the provider: 3 s (it asks for a pause, another 4 s)"},
		{journal.WindowRateWaited{Waiting: 1, Since: time.Second}, 0, "waits for the provider: 1 s"},
		{journal.WindowRateWaited{Requests: 3, Waited: time.Minute}, 0, ""},
		{journal.WindowRateWaited{Waiting: 1, Since: time.Second}, time.Minute, ""}, // it was killed meanwhile, or its journal is full
		{journal.WindowRateWaited{Waiting: 1, Since: time.Second}, -time.Hour, ""},
	} {
		if got := rateWaitOf(told, &c.e).Words(told.Add(c.later)); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
	}
}
