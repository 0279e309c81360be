package runs

import (
	"strings"
	"time"
)

// MemorySeries returns the memory used over the run's duration, in n equal parts, each with its highest value in bytes. A part without a
// sample has the value of the part before: nothing had changed. It is nil without samples.
func (r *Run) MemorySeries(n int) []int64 {
	if len(r.Samples) == 0 || n <= 0 {
		return nil
	}
	total := max(r.DurationMS, r.Samples[len(r.Samples)-1].AtMS, 1)
	out, seen := make([]int64, n), make([]bool, n)
	for _, s := range r.Samples {
		i := part(s.AtMS, total, n)
		out[i], seen[i] = max(out[i], s.Charged, s.Working), true
	}
	hold(out, seen)
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
		i := part(c.Time.Sub(r.Started).Milliseconds(), total, n)
		out[i], seen[i] = max(out[i], c.Tokens), true
	}
	hold(out, seen)
	return out
}

// part returns the index of the one of n parts of total in which at lies; the first or last when a clock has jumped.
func part(at, total int64, n int) int {
	at = max(0, min(at, total))
	return int(min(float64(at)/float64(total)*float64(n), float64(n-1)))
}

func hold(out []int64, seen []bool) {
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

// Age returns for how long the run has lasted, or lasted.
func (e *Entry) Age() time.Duration { return time.Duration(e.DurationMS) * time.Millisecond }
