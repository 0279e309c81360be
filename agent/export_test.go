package agent

// What the tests look at from outside of the package.
var (
	CutHistory = cutHistory
	CapText    = capText
	Legible    = legible
	SizeOf     = sizeOf
	Backoff    = backoff
)

const (
	CutMarker      = cutMarker
	NoOutput       = noOutput
	LastNote       = lastNote
	GoOn           = goOn
	MaxGivenUpTool = maxGivenUpTool
	LeakGrace      = leakGrace
	MaxResults     = maxResults
	MemorySessions = memorySessions
	MemoryBytes    = memoryBytes
)

// Recount counts what the query holds anew.
func (r *Run) Recount() MemoryUsage { return r.held.recount() }

// Lines tells how many sessions have queries.
func (a *Agent) Lines() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.lines)
}
