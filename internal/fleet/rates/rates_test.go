package rates_test

import (
	"context"
	"errors"
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
	team := rates.Of(bucket)
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

// clocked is a store with a clock of its own, and a conflict before each write that is one too many for a host that gives up.
type clocked struct {
	value       []byte
	now, stored time.Time
	conflicts   int
}

func (c *clocked) Get(context.Context, string) (fleet.Entry, error) {
	return fleet.Entry{Value: c.value, Time: c.stored}, nil
}

func (c *clocked) Write(_ context.Context, _ string, value []byte, _ uint64) (uint64, error) {
	if c.conflicts > 0 {
		c.conflicts--
		return 0, fleet.ErrConflict
	}
	c.value, c.stored = value, c.now
	return 1, nil
}

// A host that has said nothing for a while has no queue any more, by the server's clock whatever its own says.
func TestSilentHosts(t *testing.T) {
	c := &clocked{now: time.Unix(1e9, 0), conflicts: 2}
	team := rates.Of(c)
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
	c.conflicts = 10
	if _, err := team.Part(t.Context(), "k", "b", 3); !errors.Is(err, fleet.ErrConflict) {
		t.Error(err)
	}
}

func FuzzPart(f *testing.F) {
	f.Add([]byte(`{"hosts":{"a":{"runs":3,"at":5}}}`))
	f.Add([]byte(`{"hosts":{"a":{"runs":-3,"at":9223372036854775807}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := rates.Of(&clocked{value: text, stored: time.Unix(0, 0)}).Part(t.Context(), "k", "x", 2)
		if err != nil || !(got > 0 && got <= 1) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	})
}
