// Package breaker makes the working limit of a model smaller for a while, when its window keeps turning out wrong or the agent itself ran
// out of memory. Package fit asks it before each request.
//
// Three refusals for length ([Breaker.Overflow]) of one model within ten minutes trip it: the factor is 0.5, and 0.25 when three more come.
// [Breaker.OutOfMemory] trips all models at once: a conversation half as long makes the agent smaller. While the factor is below 1 the state is
// strict: cut harder. After every ten minutes without a refusal one step is taken back, 0.25, 0.5, 0.75, 1, when somebody asks: [Breaker.State]
// for one model, [Breaker.Sweep] for all. Each move is returned once as a [Change], to be journalled by the one who asked.
//
// The number of models is bounded; the one that was quiet for longest is forgotten. Nothing outlives the process. A Breaker may be used
// from any goroutine.
package breaker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// Defaults of [Options].
const (
	// DefaultOverflows in DefaultWithin trip: two may be one request and its retry.
	DefaultOverflows = 3
	DefaultWithin    = 10 * time.Minute
	// DefaultQuiet is the time in which nothing may happen before a step of recovery.
	DefaultQuiet = 10 * time.Minute
	// DefaultModels bounds the models that are watched.
	DefaultModels = 256
)

// Options of a [Breaker]; zero values mean the defaults.
type Options struct {
	Overflows int           // that trip
	Within    time.Duration // of each other
	Quiet     time.Duration // before each step of recovery
	Models    int           // that are watched
	// Until is until when somebody else wants every limit halved; nil is never. It is asked for each [Breaker.State].
	Until func() time.Time
}

// Half is the factor of a limit that is halved.
const Half = 0.5

// Names of states in a [Change].
const (
	Tripped    = "tripped"
	Recovering = "recovering"
	Closed     = "closed" // the full limit counts again
)

// A Change is one move of a model's working limit.
type Change struct {
	// Upstream and Model are as they were given; both are "" for all models at once.
	Upstream, Model string
	State           string // Tripped, Recovering or Closed
	Factor          float64
	Reason          string    // one clause in English
	At              time.Time // when it came into force, which may be before it was noticed
}

// State is the state of one model's breaker.
type State struct {
	Factor float64 // of the limit: 1, 0.75, 0.5 or 0.25
	Strict bool    // Factor is below 1
}

// steps of recovery. A trip goes to half, or to a quarter from there.
var steps = [...]float64{0.25, 0.5, 0.75, 1}

type key struct{ upstream, model string }

// everything is the key of what counts for all models.
var everything key

// cell is one model's breaker.
type cell struct {
	overflows []time.Time // recent ones that did not trip, at most Options.Overflows
	step      int         // index in steps
	since     time.Time   // last overflow or step: quiet is counted from here
}

const full = len(steps) - 1

// A Breaker watches models. Make one with [New].
type Breaker struct {
	o     Options
	mu    sync.Mutex
	cells map[key]*cell
}

// New returns a Breaker for which all limits are whole.
func New(o Options) *Breaker {
	o.Overflows = cmp.Or(max(0, o.Overflows), DefaultOverflows)
	o.Within = cmp.Or(max(0, o.Within), DefaultWithin)
	o.Quiet = cmp.Or(max(0, o.Quiet), DefaultQuiet)
	o.Models = cmp.Or(max(0, o.Models), DefaultModels)
	return &Breaker{o: o, cells: map[key]*cell{}}
}

// Overflow counts a provider's refusal of a request for its length, which may lower the model's working limit. It returns the changes that
// it made, with steps of recovery that were due; mostly none.
func (b *Breaker) Overflow(upstream, model string) []Change {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	k := key{strings.Clone(upstream), strings.Clone(model)}
	changes := b.takeSteps(k, b.cells[k], now)
	c := b.cells[k]
	if c == nil {
		changes = append(changes, b.makeRoom(now)...)
		c = &cell{step: full}
		b.cells[k] = c
	}
	c.since = now
	c.overflows = slices.DeleteFunc(c.overflows, func(t time.Time) bool { return now.Sub(t) > b.o.Within })
	if c.overflows = append(c.overflows, now); len(c.overflows) < b.o.Overflows {
		return changes
	}
	first := c.overflows[0]
	c.overflows = nil
	return append(changes, c.lower(k, now, fmt.Sprintf("%d refusals for length in %v", b.o.Overflows, now.Sub(first).Round(time.Second)))...)
}

// OutOfMemory lowers the limits of all models at once, because the agent was killed for lack of memory, and returns the changes.
func (b *Breaker) OutOfMemory() []Change {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	changes := b.takeSteps(everything, b.cells[everything], now)
	c := b.cells[everything]
	if c == nil {
		c = &cell{step: full}
		b.cells[everything] = c
	}
	c.since = now
	return append(changes, c.lower(everything, now, "the agent was killed for lack of memory")...)
}

// lower lowers the limit by one level and returns the change; nil if it is at the lowest.
func (c *cell) lower(k key, now time.Time, reason string) []Change {
	next := 1
	if c.step <= 1 {
		next = 0
	}
	if next == c.step {
		return nil // at the bottom already; quiet begins anew
	}
	c.step = next
	return []Change{{Upstream: k.upstream, Model: k.model, State: Tripped, Factor: steps[next], Reason: reason, At: now}}
}

// State returns the present state of a model, and the steps of recovery that were due since the last call.
func (b *Breaker) State(upstream, model string) (State, []Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	k := key{upstream, model}
	changes := b.takeSteps(k, b.cells[k], now)
	changes = append(changes, b.takeSteps(everything, b.cells[everything], now)...)
	factor := min(b.cells[k].factor(), b.cells[everything].factor())
	if b.o.Until != nil && now.Before(b.o.Until()) {
		factor = min(factor, Half)
	}
	return State{Factor: factor, Strict: factor < 1}, changes
}

// Sweep takes all steps of recovery that are due, returns them, and forgets models with full limits and no recent overflow.
func (b *Breaker) Sweep() []Change {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	var changes []Change
	for k, c := range b.cells {
		changes = append(changes, b.takeSteps(k, c, now)...)
	}
	sorting.By(changes, func(x, y Change) int {
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Upstream, y.Upstream), cmp.Compare(x.Model, y.Model))
	})
	return changes
}

// factor returns the factor of the limit; 1 for a nil cell.
func (c *cell) factor() float64 {
	if c == nil {
		return 1
	}
	return steps[c.step]
}

// takeSteps takes the steps of recovery of one cell that are due, and returns them. It forgets a cell that is at the full limit again and
// has no recent overflow. The caller holds the lock.
func (b *Breaker) takeSteps(k key, c *cell, now time.Time) []Change {
	if c == nil {
		return nil
	}
	var changes []Change
	for c.step < full && now.Sub(c.since) >= b.o.Quiet {
		c.step++
		c.since = c.since.Add(b.o.Quiet)
		state := Recovering
		if c.step == full {
			state = Closed
		}
		changes = append(changes, Change{
			Upstream: k.upstream, Model: k.model, State: state, Factor: steps[c.step],
			Reason: fmt.Sprintf("quiet for %v", b.o.Quiet), At: c.since,
		})
	}
	if c.step == full && (len(c.overflows) == 0 || now.Sub(c.overflows[len(c.overflows)-1]) > b.o.Within) {
		delete(b.cells, k)
	}
	return changes
}

// makeRoom makes room for one more model: it forgets the one that was quiet for longest, one with the full limit before one with a lowered
// limit. The state of all models together stays. The caller holds the lock.
func (b *Breaker) makeRoom(now time.Time) []Change {
	var changes []Change
	for {
		var gone key
		count := 0
		for k, c := range b.cells {
			if k == everything {
				continue
			}
			if count++; count == 1 || c.before(b.cells[gone]) {
				gone = k
			}
		}
		if count < b.o.Models {
			return changes
		}
		if b.cells[gone].step < full {
			changes = append(changes, Change{
				Upstream: gone.upstream, Model: gone.model, State: Closed, Factor: 1,
				Reason: fmt.Sprintf("forgotten: more than %d models overflowed", b.o.Models), At: now,
			})
		}
		delete(b.cells, gone)
	}
}

// before reports whether c is to be forgotten before o: one with the full limit before one without, then the one that was quiet for longer.
func (c *cell) before(o *cell) bool {
	if (c.step == full) != (o.step == full) {
		return c.step == full
	}
	return c.since.Before(o.since)
}
