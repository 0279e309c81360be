package runs

import (
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

func (s *sampler) interval() int64 {
	return firstInterval.Milliseconds() << min(s.written/samplesPerInterval, 40)
}

// add adds a sample. When an interval is over, and something has changed, it returns the sample to write; else ok is false.
func (s *sampler) add(n Sample) (out Sample, ok bool) {
	s.hold(n)
	first := s.written == 0
	if !first && n.AtMS-s.from < s.interval() || s.written >= MaxSamples-1 {
		return Sample{}, false
	}
	if !first && s.unchanged() { // nothing new to tell; the next one that differs draws the line from here
		s.from = n.AtMS
		return Sample{}, false
	}
	return s.take(), true
}

// hold combines a sample with those of the interval.
func (s *sampler) hold(n Sample) {
	if !s.some {
		s.held, s.some = n, true
	} else {
		s.held.Working, s.held.Charged = max(s.held.Working, n.Working), max(s.held.Charged, n.Charged)
		s.held.Processes = max(s.held.Processes, n.Processes)
		s.held.CPUMS, s.held.AtMS = max(s.held.CPUMS, n.CPUMS), n.AtMS
	}
	s.addState()
}

// addState adds the state of the window and the disk to the sample that is held.
func (s *sampler) addState() {
	if s.limit > 0 || s.tokens > 0 {
		s.held.WindowTokens, s.held.WindowLimit = s.tokens, s.limit
	}
	s.held.DiskBytes = max(s.held.DiskBytes, s.now)
}

// take returns the sample of the present interval, and begins a new one.
func (s *sampler) take() Sample {
	s.addState()
	out := s.held
	s.last, s.from, s.some = out, out.AtMS, false
	s.tokens, s.limit = 0, 0
	s.written++
	return out
}

// rest returns the sample of the unfinished interval at the end of a run; false when there is none.
func (s *sampler) rest() (Sample, bool) {
	if !s.some {
		return Sample{}, false
	}
	return s.take(), true
}

// unchanged reports whether the sample held differs from the one written last by too little to be seen.
func (s *sampler) unchanged() bool {
	a, b := s.last, s.held
	near := func(x, y int64) bool { return max(x, y)-min(x, y) <= max(x, y)/64 }
	return near(a.Working, b.Working) && near(a.Charged, b.Charged) && b.CPUMS-a.CPUMS < (b.AtMS-a.AtMS)/100 &&
		a.Processes == b.Processes && b.WindowTokens == 0 && near(a.DiskBytes, b.DiskBytes)
}

// window adds the tokens of a request and the size of its window; the fullest of an interval is written.
func (s *sampler) window(tokens, limit int64) {
	if s.limit == 0 || float64(tokens)*float64(s.limit) > float64(s.tokens)*float64(limit) {
		s.tokens, s.limit = tokens, limit
	}
}

// diskName is the name of the limit on the bytes a run writes (write_max of package internal/process/disk).
const diskName = "write_max"

func (s *sampler) disk(e journal.LimitUsed) {
	if e.Name == diskName {
		s.now = max(s.now, e.Used)
	}
}
