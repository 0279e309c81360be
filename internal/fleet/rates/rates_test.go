package rates_test

import (
	"context"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/rates"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
)

func TestPart(t *testing.T) {
	f := fleet.New(fleet.Options{URL: natsserver.Start(t).URL})
	defer f.Close()
	bucket := f.Bucket(fleet.Rates)
	team := rates.NewTeam(bucket)
	for _, ask := range []struct {
		allowance, host string
		runs            int
		want            float64
	}{
		{"k", "a", 3, 1}, {"k", "b", 1, 0.25}, {"k", "a", 3, 0.75}, {"other", "b", 2, 1}, {"k", "a", 1, 0.5},
	} {
		if got, err := team.Part(t.Context(), ask.allowance, ask.host, ask.runs); err != nil || got != ask.want {
			t.Errorf("%+v: %v, %v", ask, got, err)
		}
	}
	// What another program wrote is begun anew.
	if _, err := bucket.Put(t.Context(), "k", []byte("{")); err != nil {
		t.Fatal(err)
	}
	if got, err := team.Part(t.Context(), "k", "a", 1); err != nil || got != 1 {
		t.Error(got, err)
	}
}

// clocked is a store with a clock of its own, and a conflict before each write.
type clocked struct {
	value       []byte
	now, stored time.Time
}

func (c *clocked) Change(_ context.Context, _ string, change func(fleet.Entry) ([]byte, error)) (err error) {
	old := fleet.Entry{Value: c.value, Time: c.stored}
	if _, err = change(old); err == nil {
		c.value, err = change(old)
		c.stored = c.now
	}
	return err
}

// A host that has said nothing for a while has no queue any more, by the server's clock whatever its own says.
func TestSilentHosts(t *testing.T) {
	c := &clocked{now: time.Unix(1e9, 0)}
	team := rates.NewTeam(c)
	part := func(host string, runs int) float64 {
		t.Helper()
		p, err := team.Part(t.Context(), "k", host, runs)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	part("a", 1)
	c.now = c.now.Add(5 * time.Second)
	if got := part("b", 3); got != 0.75 {
		t.Error(got)
	}
	c.now = c.now.Add(6 * time.Second)
	part("b", 3) // by which the server tells how late it is
	if got := part("b", 3); got != 1 {
		t.Error(got)
	}
}

func FuzzPart(f *testing.F) {
	f.Add([]byte(`{"hosts":{"a":{"runs":3,"at":5}}}`))
	f.Add([]byte(`{"hosts":{"a":{"runs":-3,"at":9223372036854775807}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := rates.NewTeam(&clocked{value: text, stored: time.Unix(0, 0)}).Part(t.Context(), "k", "x", 2)
		if err != nil || !(got > 0 && got <= 1) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	})
}
