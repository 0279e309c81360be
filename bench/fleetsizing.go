package main

import (
	"math"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/limit"
)

// sizer sets the request and the limit of an agent, and learns from how a run of it ended.
type sizer interface {
	decide(a *agent) (request, most limit.Bytes)
	learn(a *agent, now time.Duration)
}

// fleetSizings are the ways to size that are compared. "held" is for an engine that enforces the request itself, as Slurm may.
var fleetSizings = []struct {
	name string
	make func(cluster) sizer
}{
	{"requested", func(cluster) sizer { return requested{} }},
	{"VPA", func(cluster) sizer { return vpa{} }},
	{"learned", func(f cluster) sizer { return learned{cluster: f, samples: map[process][]estimate.Sample{}} }},
	{"learned, held", func(f cluster) sizer {
		return learned{cluster: f, samples: map[process][]estimate.Sample{}, held: true}
	}},
}

// process names a history: a process of a team's workflow.
type process struct {
	team int
	name string
}

func (a *agent) process() process { return process{a.team, a.task.Process} }

// requested sizes by what the trace says was requested, which is the limit too: Nextflow gives Kubernetes one figure for both.
type requested struct{}

func (requested) decide(a *agent) (request, most limit.Bytes) {
	return a.task.Requested, a.task.Requested
}
func (requested) learn(*agent, time.Duration) {}

// learned sizes as a run of plimsoll is sized: by the estimator in force over what the team's runs have shown.
type learned struct {
	cluster
	samples map[process][]estimate.Sample
	held    bool // at the request
}

// decide returns the request and the limit for an agent, as plimsoll decides them from the runs of the same process so far.
func (l learned) decide(a *agent) (request, most limit.Bytes) {
	settings := config.Settings{MemoryMax: config.Auto, MinFree: config.Auto, InitialEstimate: a.task.Requested}
	n, err := sizing.Decide(settings, estimate.Input{Project: l.samples[a.process()]}, l.host())
	if err != nil {
		panic(err) // the estimator in force is there
	}
	if l.held {
		return n.Reservation, n.Reservation
	}
	return n.Reservation, n.Memory
}

// learn adds the run of an agent to those of its process, of which the newest are kept.
func (l learned) learn(a *agent, now time.Duration) {
	sample, ok := estimate.FromRun(a.asRun(now))
	if !ok {
		return
	}
	known := append(l.samples[a.process()], sample)
	l.samples[a.process()] = known[max(0, len(known)-usage.KeptRuns):]
}

// vpa sizes as the recommender of the Kubernetes vertical pod autoscaler does with its defaults (1.5): of a histogram of peaks whose
// weights halve each day, the 90th percentile and 15 % more, at least 250 MiB; out of memory counts as a peak of 20 % or 100 MiB more than
// was requested. The limit keeps its proportion to the request, and Nextflow sets both alike.
type vpa map[process]*vpaHistogram

// decide returns the request of an agent, which is also its limit, as the Vertical Pod Autoscaler recommends it.
func (v vpa) decide(a *agent) (request, most limit.Bytes) {
	h := v[a.process()]
	if h == nil {
		return a.task.Requested, a.task.Requested
	}
	request = limit.Bytes(max(1.15*h.percentile(0.9), 250*float64(limit.MiB)))
	return request, request
}

// learn adds the peak of an agent to the histogram of its process; after a kill somewhat more than it had.
func (v vpa) learn(a *agent, now time.Duration) {
	h := v[a.process()]
	if h == nil {
		h = &vpaHistogram{}
		v[a.process()] = h
	}
	peak := float64(a.claim.Current)
	if a.killed {
		had := max(peak, float64(a.claim.Reservation))
		peak = max(1.2*had, had+100*float64(limit.MiB))
	}
	h.add(peak, now)
}

// The buckets of VPA's histogram of memory: the first ends at 10 MB, each next is 5 % wider, and the last begins near 1 TB.
const (
	vpaFirst   = 1e7
	vpaGrowth  = 1.05
	vpaLargest = 1e12
	vpaHalf    = 24 * time.Hour
)

// vpaHistogram has the weight of the peaks in each bucket.
type vpaHistogram struct{ weights []float64 }

// vpaStart returns the peak at which a bucket begins.
func vpaStart(bucket int) float64 {
	return vpaFirst * (math.Pow(vpaGrowth, float64(bucket)) - 1) / (vpaGrowth - 1)
}

// vpaBucket returns the bucket of a peak.
func vpaBucket(peak float64) int {
	return int(math.Log(min(peak, vpaLargest)*(vpaGrowth-1)/vpaFirst+1) / math.Log(vpaGrowth))
}

// add counts a peak. A later one weighs more, so that earlier ones need no change.
func (h *vpaHistogram) add(peak float64, at time.Duration) {
	bucket := vpaBucket(peak)
	for len(h.weights) <= bucket {
		h.weights = append(h.weights, 0)
	}
	h.weights[bucket] += math.Exp2(float64(at) / float64(vpaHalf))
}

// percentile returns the end of the bucket up to which a share of the weight lies.
func (h *vpaHistogram) percentile(share float64) float64 {
	total, sum := 0.0, 0.0
	for _, w := range h.weights {
		total += w
	}
	for bucket, w := range h.weights {
		if sum += w; sum >= share*total {
			return vpaStart(bucket + 1)
		}
	}
	return vpaStart(len(h.weights))
}
