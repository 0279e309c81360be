package agent

import (
	"cmp"
	"fmt"
	"sync"
	"time"
)

// abandonedCalls counts the calls whose tools did not return in time. A tool may run for ever, because nothing in Go ends a goroutine from
// outside, so their number is bounded for each tool and for all.
type abandonedCalls struct {
	leaked func(tool string, still int) // called when a tool still runs leakGrace after its call was abandoned

	mu    sync.Mutex
	still map[string]int // abandoned calls that still run, by tool; no entry is 0
	total int            // of still
	late  int64          // abandoned calls whose tools returned later
}

// goroutineState is the state of the goroutine in which a tool or a model runs. It is guarded by the lock of abandonedCalls.
type goroutineState struct {
	tool                string
	returned, abandoned bool
	grace               *time.Timer
}

// refusal returns the text for the model that says why no further call of a tool is begun, because too many abandoned ones still run; "" if
// one may be begun.
func (g *abandonedCalls) refusal(tool string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.still[tool]; n >= maxAbandonedTool {
		return fmt.Sprintf("Not run: %d earlier calls of %s never came to an end and still run. It can be called again when they end. Go on without it.", n, tool)
	}
	if g.total >= maxAbandoned {
		return fmt.Sprintf("Not run: %d earlier calls never came to an end and still run. Tools can be called again when they end. Answer with what is there.", g.total)
	}
	return ""
}

// abandon counts a call as abandoned, unless its tool has returned.
func (g *abandonedCalls) abandon(f *goroutineState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.returned || f.abandoned {
		return
	}
	f.abandoned = true
	if g.still == nil {
		g.still = map[string]int{}
	}
	g.still[f.tool]++
	g.total++
	f.grace = time.AfterFunc(leakGrace, func() {
		g.mu.Lock()
		ended, still := f.returned, g.total
		g.mu.Unlock()
		if !ended {
			g.leaked(cmp.Or(f.tool, "(model)"), still)
		}
	})
}

// returned records that a tool has returned, and reports whether that was before its call was abandoned.
func (g *abandonedCalls) returned(f *goroutineState) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	f.returned = true
	if !f.abandoned {
		return true
	}
	f.grace.Stop()
	g.late++
	g.total--
	if g.still[f.tool]--; g.still[f.tool] == 0 {
		delete(g.still, f.tool)
	}
	return false
}

func (g *abandonedCalls) counts() (late, leaked int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.late, int64(g.total)
}
