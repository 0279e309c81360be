package runs

import (
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

const (
	// MaxSamples bounds the samples in a run's file.
	MaxSamples = 4096
	// firstInterval is the interval of the first samples; it doubles after each samplesPerInterval of them, so that 4,096 last for 97 days.
	firstInterval      = 500 * time.Millisecond
	samplesPerInterval = 256
)

// sampler combines the samples of an interval into one.
type sampler struct {
	written int
	from    int64 // when the interval began, in ms
	held    Sample
	some    bool // held has something that is not written
	last    Sample
	tokens  int64 // of the window, since the last sample
	limit   int64
	now     int64 // bytes written to disks so far
}

// interval returns the present length of an interval in milliseconds. It doubles as samples are written.
func (s *sampler) interval() int64 {
	return firstInterval.Milliseconds() << min(s.written/samplesPerInterval, 40)
}

// add adds a sample. When an interval is over, and something has changed, it returns the sample to write; else, and when only one of MaxSamples is
// left, ok is false.
func (s *sampler) add(n Sample) (out Sample, ok bool) {
	s.merge(n)
	first := s.written == 0
	if !first && n.AtMS-s.from < s.interval() || s.written >= MaxSamples-1 {
		return Sample{}, false
	}
	if !first && s.unchanged() { // nothing new to tell; the next one that differs draws the line from here
		s.from = n.AtMS
		return Sample{}, false
	}
	return s.finish(), true
}

// merge adds a sample to those of the interval: it keeps the highest values and the newest time.
func (s *sampler) merge(n Sample) {
	if !s.some {
		s.held, s.some = n, true
	} else {
		s.held.Working, s.held.Charged = max(s.held.Working, n.Working), max(s.held.Charged, n.Charged)
		s.held.Processes = max(s.held.Processes, n.Processes)
		s.held.CPUMS, s.held.AtMS = max(s.held.CPUMS, n.CPUMS), n.AtMS
	}
	s.addState()
}

// addState adds to the held sample the fullest window since the last one, and the bytes written to disks so far.
func (s *sampler) addState() {
	if s.limit > 0 || s.tokens > 0 {
		s.held.WindowTokens, s.held.WindowLimit = s.tokens, s.limit
	}
	s.held.DiskBytes = max(s.held.DiskBytes, s.now)
}

// finish returns the sample of the present interval, and begins a new one. It counts towards MaxSamples.
func (s *sampler) finish() Sample {
	s.addState()
	out := s.held
	s.last, s.from, s.some = out, out.AtMS, false
	s.tokens, s.limit = 0, 0
	s.written++
	return out
}

// finishLast returns the sample of the unfinished interval at the end of a run; false when there is none.
func (s *sampler) finishLast() (Sample, bool) {
	if !s.some {
		return Sample{}, false
	}
	return s.finish(), true
}

// unchanged reports whether the sample held differs from the one written last by too little to be seen.
func (s *sampler) unchanged() bool {
	a, b := s.last, s.held
	near := func(x, y int64) bool { return max(x, y)-min(x, y) <= max(x, y)/64 }
	return near(a.Working, b.Working) && near(a.Charged, b.Charged) && b.CPUMS-a.CPUMS < (b.AtMS-a.AtMS)/100 &&
		a.Processes == b.Processes && b.WindowTokens == 0 && near(a.DiskBytes, b.DiskBytes)
}

// addRequest adds the tokens of a request and the size of its window; the fullest of an interval is written.
func (s *sampler) addRequest(tokens, limit int64) {
	if s.limit == 0 || float64(tokens)*float64(s.limit) > float64(s.tokens)*float64(limit) {
		s.tokens, s.limit = tokens, limit
	}
}

// diskName is the name of the limit on the bytes a run writes (write_max of package internal/process/disk).
const diskName = "write_max"

// setDisk takes the bytes written to disks from an event about that limit; other limits are ignored.
func (s *sampler) setDisk(e journal.LimitUsed) {
	if e.Name == diskName {
		s.now = max(s.now, e.Used)
	}
}

// MemorySeries returns the memory used over the run's duration, in n equal parts, each with its highest value in bytes. A part without a
// sample has the value of the part before: nothing had changed. It is nil without samples.
func (r *Run) MemorySeries(n int) []int64 {
	if len(r.Samples) == 0 || n <= 0 {
		return nil
	}
	total := max(r.DurationMS, r.Samples[len(r.Samples)-1].AtMS, 1)
	out, seen := make([]int64, n), make([]bool, n)
	for _, s := range r.Samples {
		i := partIndex(s.AtMS, total, n)
		out[i], seen[i] = max(out[i], s.Charged, s.Working), true
	}
	fillGaps(out, seen)
	return out
}

// WindowSeries returns the tokens in the window over the run's duration, in n equal parts, each with its largest request; nil without
// requests.
func (r *Run) WindowSeries(n int) []int64 {
	if len(r.Context) == 0 || n <= 0 {
		return nil
	}
	total := max(r.DurationMS, r.Context[len(r.Context)-1].Time.Sub(r.Started).Milliseconds(), 1)
	out, seen := make([]int64, n), make([]bool, n)
	for _, c := range r.Context {
		i := partIndex(c.Time.Sub(r.Started).Milliseconds(), total, n)
		out[i], seen[i] = max(out[i], c.Tokens), true
	}
	fillGaps(out, seen)
	return out
}

// partIndex returns the index of the one of n parts of total in which at lies; the first or last when a clock has jumped.
func partIndex(at, total int64, n int) int {
	at = max(0, min(at, total))
	return int(min(float64(at)/float64(total)*float64(n), float64(n-1)))
}

// fillGaps gives each part without a sample the value of the part before.
func fillGaps(out []int64, seen []bool) {
	for i := 1; i < len(out); i++ {
		if !seen[i] {
			out[i] = out[i-1]
		}
	}
}

var bars = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws values as bars, one character each, where most is the full height; 0 means the largest of them.
func Sparkline(values []int64, most int64) string {
	if most <= 0 {
		for _, v := range values {
			most = max(most, v)
		}
	}
	var b strings.Builder
	for _, v := range values {
		i := 0
		if most > 0 {
			i = int(float64(max(0, min(v, most))) / float64(most) * float64(len(bars)-1) * 1.0001)
		}
		b.WriteRune(bars[min(i, len(bars)-1)])
	}
	return b.String()
}

// Age returns for how long the run lasted, or has lasted when its entry was read.
func (e *Entry) Age() time.Duration { return time.Duration(e.DurationMS) * time.Millisecond }
