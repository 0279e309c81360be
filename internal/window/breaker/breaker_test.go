package breaker_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/breaker"
)

// short writes changes in the form that the tests compare.
func short(changes []breaker.Change) []string {
	var list []string
	for _, c := range changes {
		list = append(list, fmt.Sprintf("%s/%s %s %v", c.Upstream, c.Model, c.State, c.Factor))
	}
	return list
}

func expect(t *testing.T, what string, got []breaker.Change, want ...string) {
	t.Helper()
	if !slices.Equal(short(got), want) {
		t.Errorf("%s: %q, want %q", what, short(got), want)
	}
	for _, c := range got {
		if c.Reason == "" || c.At.IsZero() || c.At.After(time.Now()) {
			t.Errorf("%s: %+v has no reason or a wrong time", what, c)
		}
	}
}

func factor(t *testing.T, b *breaker.Breaker, upstream, model string) float64 {
	t.Helper()
	s, changes := b.State(upstream, model)
	if len(changes) != 0 {
		t.Errorf("unexpected changes %q", short(changes))
	}
	if s.Strict != (s.Factor < 1) {
		t.Errorf("%+v: strict is on exactly while the limit is reduced", s)
	}
	return s.Factor
}

func TestThreeOverflowsHalveAndTimeHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{})
		expect(t, "first", b.Overflow("u", "m"))
		time.Sleep(4 * time.Minute)
		expect(t, "second", b.Overflow("u", "m"))
		if f := factor(t, b, "u", "m"); f != 1 {
			t.Errorf("factor %v", f)
		}
		time.Sleep(5 * time.Minute)
		third := b.Overflow("u", "m")
		expect(t, "third", third, "u/m tripped 0.5")
		if want := "3 refusals for length in 9m0s"; third[0].Reason != want {
			t.Errorf("reason %q", third[0].Reason)
		}
		if f := factor(t, b, "u", "m"); f != 0.5 {
			t.Errorf("factor %v", f)
		}
		if f := factor(t, b, "u", "other") * factor(t, b, "other", "m"); f != 1 {
			t.Error("another model was tripped too")
		}
		time.Sleep(10*time.Minute - time.Second)
		if f := factor(t, b, "u", "m"); f != 0.5 {
			t.Errorf("factor %v before it was quiet long enough", f)
		}
		time.Sleep(time.Second)
		s, changes := b.State("u", "m")
		expect(t, "ten minutes", changes, "u/m recovering 0.75")
		if s != (breaker.State{Factor: 0.75, Strict: true}) {
			t.Errorf("%+v", s)
		}
		time.Sleep(10 * time.Minute)
		s, changes = b.State("u", "m")
		expect(t, "twenty minutes", changes, "u/m closed 1")
		if s != (breaker.State{Factor: 1}) {
			t.Errorf("%+v", s)
		}
	})
}

func TestASecondTripGoesToAQuarterAndNoFurther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{})
		var all []breaker.Change
		for range 12 {
			all = append(all, b.Overflow("u", "m")...)
			time.Sleep(time.Second)
		}
		expect(t, "twelve overflows", all, "u/m tripped 0.5", "u/m tripped 0.25")
		time.Sleep(time.Hour)
		s, changes := b.State("u", "m")
		expect(t, "an hour later", changes, "u/m recovering 0.5", "u/m recovering 0.75", "u/m closed 1")
		if s.Factor != 1 || !changes[0].At.Before(changes[1].At) || !changes[1].At.Before(changes[2].At) {
			t.Errorf("%+v, %+v: steps come into force one after the other", s, changes)
		}
	})
}

func TestAnOverflowDuringRecoveryDelaysIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Overflows: 1})
		expect(t, "trip", b.Overflow("u", "m"), "u/m tripped 0.5")
		time.Sleep(11 * time.Minute)
		expect(t, "again at 0.75", b.Overflow("u", "m"), "u/m recovering 0.75", "u/m tripped 0.5")
		time.Sleep(9 * time.Minute)
		expect(t, "again at 0.5", b.Overflow("u", "m"), "u/m tripped 0.25")
		time.Sleep(9 * time.Minute)
		expect(t, "at the bottom", b.Overflow("u", "m"))
		time.Sleep(9 * time.Minute)
		if f := factor(t, b, "u", "m"); f != 0.25 {
			t.Errorf("factor %v", f)
		}
		time.Sleep(time.Minute)
		expect(t, "quiet at last", b.Sweep(), "u/m recovering 0.5")
	})
}

func TestOverflowsFarApartDoNotTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{})
		for range 20 {
			expect(t, "one in six minutes", b.Overflow("u", "m"))
			time.Sleep(6 * time.Minute)
		}
	})
}

func TestAKilledAgentTripsAllModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Overflows: 1})
		b.Overflow("u", "m")
		b.Overflow("u", "m")
		expect(t, "killed", b.OutOfMemory(), "/ tripped 0.5")
		if f := factor(t, b, "u", "m"); f != 0.25 {
			t.Errorf("the smaller factor counts, not %v", f)
		}
		if f := factor(t, b, "never", "seen"); f != 0.5 {
			t.Errorf("factor %v", f)
		}
		expect(t, "killed again", b.OutOfMemory(), "/ tripped 0.25")
		expect(t, "and again", b.OutOfMemory())
		time.Sleep(10 * time.Minute)
		expect(t, "sweep", b.Sweep(), "/ recovering 0.5", "u/m recovering 0.5")
		time.Sleep(time.Hour)
		if changes := b.Sweep(); len(changes) != 4 {
			t.Errorf("%q", short(changes))
		}
		if f := factor(t, b, "never", "seen"); f != 1 {
			t.Errorf("factor %v", f)
		}
	})
}

func TestModelsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Models: 3, Overflows: 2})
		for range 2 {
			b.Overflow("u", "tripped")
		}
		time.Sleep(time.Second)
		b.OutOfMemory()
		for i := range 10 {
			time.Sleep(time.Second)
			expect(t, "whole ones go first", b.Overflow("u", fmt.Sprint(i)))
		}
		if s, _ := b.State("u", "tripped"); s.Factor != 0.5 {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Second)
		for _, m := range []string{"8", "9"} {
			expect(t, m, b.Overflow("u", m), "u/"+m+" tripped 0.5")
		}
		forgotten := b.Overflow("u", "new")
		expect(t, "the quietest of the tripped", forgotten, "u/tripped closed 1")
		if s, _ := b.State("x", "y"); s.Factor != 0.5 {
			t.Error("what counts for all models was forgotten")
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	b := breaker.New(breaker.Options{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	tripped := 0
	for range 6 {
		wg.Go(func() {
			changes := b.Overflow("u", "m")
			b.State("u", "m")
			b.Sweep()
			mu.Lock()
			defer mu.Unlock()
			tripped += len(changes)
		})
	}
	wg.Wait()
	if tripped != 2 {
		t.Errorf("%d trips of six overflows, want 2", tripped)
	}
}
