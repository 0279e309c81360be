package agent

import (
	"cmp"
	"fmt"
	"sync"
	"time"
)

// givenUp counts the calls whose tools did not return in time. A tool may run on for ever:
// nothing in Go ends it. So their number is bounded, for each tool and for all.
type givenUp struct {
	leaked func(tool string, still int) // a tool still runs leakGrace after it was given up

	mu    sync.Mutex
	still map[string]int // by tool; none has 0
	total int
	late  int64
}

// fate is what became of a tool's goroutine; it is guarded by givenUp's lock.
type fate struct {
	tool          string
	ended, gaveUp bool
	grace         *time.Timer
}

// admits says why no further call of a tool is begun; "" when it may be.
func (g *givenUp) admits(tool string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.still[tool]; n >= maxGivenUpTool {
		return fmt.Sprintf("Not run: %d earlier calls of %s never came to an end and still run. It can be called again when they end. Go on without it.", n, tool)
	}
	if g.total >= maxGivenUp {
		return fmt.Sprintf("Not run: %d earlier calls never came to an end and still run. Tools can be called again when they end. Answer with what is there.", g.total)
	}
	return ""
}

// giveUp gives a call up, unless its tool has returned.
func (g *givenUp) giveUp(f *fate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.ended || f.gaveUp {
		return
	}
	f.gaveUp = true
	if g.still == nil {
		g.still = map[string]int{}
	}
	g.still[f.tool]++
	g.total++
	f.grace = time.AfterFunc(leakGrace, func() {
		g.mu.Lock()
		ended, still := f.ended, g.total
		g.mu.Unlock()
		if !ended {
			g.leaked(cmp.Or(f.tool, "(model)"), still)
		}
	})
}

// returned takes in that a tool returned, and tells whether that was in time.
func (g *givenUp) returned(f *fate) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	f.ended = true
	if !f.gaveUp {
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

func (g *givenUp) counts() (late, leaked int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.late, int64(g.total)
}
