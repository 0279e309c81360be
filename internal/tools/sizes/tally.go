package sizes

import (
	"math"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// stepsPerDoubling of the histogram: 2^(1/16) is 1.044.
const stepsPerDoubling = 16

// maxStep is beyond the step of the largest int64.
const maxStep = 64 * stepsPerDoubling

// tally adds up the calls of one tool. It is stored as JSON.
type tally struct {
	Calls     int64     `json:"calls"`
	Spilled   int64     `json:"spilled,omitempty"`
	Failed    int64     `json:"failed,omitempty"`
	Upstream  int64     `json:"upstream_bytes"`
	Delivered int64     `json:"delivered_bytes"`
	Max       int64     `json:"max_bytes"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	// Definitions and Deferred are of the last list of tools.
	Definitions int `json:"definition_tokens,omitempty"`
	Deferred    int `json:"deferred,omitempty"`

	Steps map[int]int64 `json:"steps,omitempty"` // calls that a server answered, by size
}

// step returns the histogram's step of a size: the smallest n with size <= 2^(n/16).
func step(size int64) int {
	if size <= 1 {
		return 0
	}
	return int(math.Ceil(math.Log2(float64(size))*stepsPerDoubling - 1e-9))
}

// add counts one call that ended at now.
func (t *tally) add(e journal.ToolCalled, now time.Time) {
	t.Calls++
	t.Upstream += e.UpstreamBytes
	t.Delivered += e.DeliveredBytes
	if e.Spilled {
		t.Spilled++
	}
	if e.Failed {
		t.Failed++
	}
	if t.First.IsZero() {
		t.First = now
	}
	t.Last = now
	t.Max = max(t.Max, e.UpstreamBytes)
	if t.Steps == nil {
		t.Steps = map[int]int64{}
	}
	t.Steps[step(e.UpstreamBytes)]++
}

// merge adds the counts of o; the size of the definitions becomes that of the later one.
func (t *tally) merge(o *tally) {
	t.Calls += o.Calls
	t.Spilled += o.Spilled
	t.Failed += o.Failed
	t.Upstream += o.Upstream
	t.Delivered += o.Delivered
	t.Max = max(t.Max, o.Max)
	if o.Definitions > 0 && !o.Last.Before(t.Last) {
		t.Definitions, t.Deferred = o.Definitions, o.Deferred
	}
	if t.First.IsZero() || !o.First.IsZero() && o.First.Before(t.First) {
		t.First = o.First
	}
	if o.Last.After(t.Last) {
		t.Last = o.Last
	}
	for s, n := range o.Steps {
		if t.Steps == nil {
			t.Steps = map[int]int64{}
		}
		t.Steps[s] += n
	}
}

// isPlausible reports whether no number is negative and no step unknown.
func (t *tally) isPlausible() bool {
	if t.Calls < 0 || t.Upstream < 0 || t.Delivered < 0 || t.Max < 0 || t.Spilled < 0 || t.Failed < 0 || t.Definitions < 0 || t.Deferred < 0 {
		return false
	}
	for s, n := range t.Steps {
		if s < 0 || s >= maxStep || n < 0 {
			return false
		}
	}
	return true
}

// percentile returns the size that this part of all results, 0 to 1, does not exceed, in bytes. It is rounded up to a step; 0 without calls.
func (t *tally) percentile(part float64) int64 {
	var total int64
	for _, n := range t.Steps {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank := int64(math.Ceil(part * float64(total)))
	for s := range maxStep {
		if rank -= t.Steps[s]; rank <= 0 && t.Steps[s] > 0 {
			size := math.Exp2(float64(s) / stepsPerDoubling)
			if size >= float64(t.Max) {
				return t.Max
			}
			return int64(math.Ceil(size))
		}
	}
	return t.Max
}
