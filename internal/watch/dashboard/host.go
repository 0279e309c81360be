package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// memoryStep is the time between two points of the host's memory, memoryParts the number of points.
	memoryStep  = 15 * time.Second
	memoryParts = 120
	// maxBands bounds the runs that have a band of their own; the others share one.
	maxBands = 7
	// maxPast bounds the ended runs that are read for the bands, and maxKept what is kept of them.
	maxPast, maxKept = 48, 256
)

// hostMemory is the memory of the host over the last half hour, by run.
type hostMemory struct {
	From   time.Time `json:"from"`
	StepMS int64     `json:"step_ms"`
	// Total is the memory that there is, Used what all processes used of it, -1 where nobody looked.
	Total int64   `json:"total_bytes"`
	Used  []int64 `json:"used_bytes"`
	Bands []band  `json:"bands"`
}

// band is the memory of one run, or of several small ones, at each point.
type band struct {
	Run     string  `json:"run,omitempty"`
	Tool    string  `json:"tool"`
	Project string  `json:"project,omitempty"`
	Bytes   []int64 `json:"bytes"`
	peak    int64
	started time.Time
}

// past holds what does not change any more of runs that have ended: it is read once, for all viewers.
type past struct {
	help func(*runs.Run) (command string, next []string)

	mu       sync.Mutex
	samples  map[string][]runs.Sample
	commands map[string]string
	used     map[int64]int64 // by the number of the step
	total    int64
}

// addReading adds a reading of the host's memory, and drops the readings that are too old to be shown.
func (p *past) addReading(h Host, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used == nil {
		p.used = map[int64]int64{}
	}
	at := now.UnixNano() / int64(memoryStep)
	p.total, p.used[at] = h.TotalBytes, max(p.used[at], h.TotalBytes-h.AvailableBytes)
	maps.DeleteFunc(p.used, func(n, _ int64) bool { return n <= at-memoryParts })
}

// memoryBands returns the bands of the runs that are in no other run, the earliest first: their order stays while their sizes change. The maxBands
// largest have one each, all others one together, behind them.
func (p *past) memoryBands(store *runs.Store, now time.Time) hostMemory {
	last := now.UnixNano() / int64(memoryStep)
	first := last - memoryParts + 1
	m := hostMemory{From: time.Unix(0, first*int64(memoryStep)), StepMS: memoryStep.Milliseconds(), Used: make([]int64, memoryParts), Bands: []band{}}
	p.mu.Lock()
	m.Total = p.total
	for i := range m.Used {
		m.Used[i] = cmp.Or(p.used[first+int64(i)], -1)
	}
	p.mu.Unlock()
	var list []band
	add := func(e *runs.Entry, samples []runs.Sample, until time.Time) {
		b := band{Run: e.ID, Tool: e.Tool, Project: e.Project, Bytes: memoryPerStep(samples, e.Started, until, m.From), started: e.Started}
		if b.peak = slices.Max(b.Bytes); b.peak > 0 {
			list = append(list, b)
		}
	}
	for _, r := range store.Live() {
		if r.Parent == "" {
			add(&r.Entry, r.Samples, now)
		}
	}
	read := 0
	for _, e := range store.Ended(m.From) {
		if e.Parent == "" && e.PeakBytes > 0 && read < maxPast {
			read++
			add(&e, p.loadSamples(store, &e), *e.Ended)
		}
	}
	sorting.StableBy(list, func(a, b band) int { return cmp.Compare(b.peak, a.peak) })
	var others []band
	if len(list) > maxBands+1 {
		rest := band{Tool: fmt.Sprintf("%d other runs", len(list)-maxBands), Bytes: make([]int64, memoryParts)}
		for _, b := range list[maxBands:] {
			for i, n := range b.Bytes {
				rest.Bytes[i] += n
			}
		}
		list, others = list[:maxBands], []band{rest}
	}
	sorting.StableBy(list, func(a, b band) int { return a.started.Compare(b.started) })
	m.Bands = append(append(m.Bands, list...), others...)
	return m
}

// memoryPerStep returns the memory that a run used in each step: the highest sample in it, or else the one before it.
func memoryPerStep(samples []runs.Sample, started, until, from time.Time) []int64 {
	out := make([]int64, memoryParts)
	at := func(t time.Time) int { return int(t.Sub(from) / memoryStep) }
	end := min(at(until), memoryParts-1)
	for i, s := range samples {
		value := s.Memory()
		begin, stop := started.Add(time.Duration(s.AtMS)*time.Millisecond), end
		if i+1 < len(samples) {
			stop = min(end, at(started.Add(time.Duration(samples[i+1].AtMS)*time.Millisecond)))
		}
		for n := max(0, at(begin)); n <= stop && !until.Before(from); n++ {
			if n == at(begin) || n < stop || stop == end {
				out[n] = max(out[n], value)
			}
		}
	}
	return out
}

// loadSamples returns the samples of a run that has ended, and keeps them for the next time; nil if its file is gone.
func (p *past) loadSamples(store *runs.Store, e *runs.Entry) []runs.Sample {
	p.mu.Lock()
	kept, ok := p.samples[e.ID]
	p.mu.Unlock()
	if ok {
		return kept
	}
	run, err := store.Run(e.ID)
	if err != nil {
		return nil // its file has gone; only the line in the index is left
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.samples == nil || len(p.samples) >= maxKept {
		p.samples = map[string][]runs.Sample{}
	}
	p.samples[e.ID] = run.Samples
	return run.Samples
}

// commandFor returns the command to type about an alert. The command line of a run is repeated only if nothing in it was masked.
func (p *past) commandFor(store *runs.Store, e *runs.Entry, what string) string {
	look := "plimsoll runs " + e.ID
	switch {
	case what == "waiting", what == "refused":
		return "plimsoll top"
	case what == "idle":
		return fmt.Sprintf("kill %d", e.PID)
	case e.Live() && (what == "memory" || what == "oom") && e.LimitBytes > 0:
		return raiseCommand(e)
	case what != "oom" || p.help == nil:
		return look
	}
	p.mu.Lock()
	kept, ok := p.commands[e.ID]
	p.mu.Unlock()
	if ok {
		return kept
	}
	command := look
	if run, err := store.Run(e.ID); err == nil {
		again, _ := p.help(run)
		command = cmp.Or(again, look)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.commands == nil || len(p.commands) >= maxKept {
		p.commands = map[string]string{}
	}
	p.commands[e.ID] = command
	return command
}

// raiseCommand returns the command that gives a run which lives half as much memory again, in steps of 64 MiB.
func raiseCommand(e *runs.Entry) string {
	const step = 64 << 20
	return fmt.Sprintf("plimsoll raise %s --memory %s", e.ID, limit.Bytes((e.LimitBytes+e.LimitBytes/2+step-1)/step*step))
}
