package metrics

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// maxSeries bounds the series of one instrument. What comes later counts in one series with the label of overflow.
const maxSeries = 2000

// overflow marks what is counted together because an instrument had its most series; the name is OpenTelemetry's.
var overflow = labels{{"otel.metric.overflow", "true"}}

// label is one of a measurement, named by the semantic conventions: dots become underscores.
type label struct{ key, value string }

type labels []label

func with(list ...label) labels { return list }

// text is a label whose value is cut and cleaned.
func text(key, value string) label { return label{key, clip(value)} }

func truth(key string, yes bool) label {
	if yes {
		return label{key, "true"}
	}
	return label{key, "false"}
}

// instruments are all of them, in one collector. Unlike a vector of client_golang's, one of these may have series with different
// labels: error.type is there where something went wrong.
type instruments struct {
	mu   sync.Mutex
	list []*instrument
}

type kind uint8

const (
	counting kind = iota
	gauging
	sorting
)

type instrument struct {
	all        *instruments
	kind       kind
	name, help string
	buckets    []float64
	series     map[string]*series
}

// series is what was measured under one set of labels.
type series struct {
	desc   *prometheus.Desc
	values []string
	sum    float64 // or the value, of what is no histogram
	count  uint64
	within []uint64 // by bucket, not summed up
}

// make adds an instrument. Its name gets the unit as a suffix, as the exporter of OpenTelemetry gives it.
func (all *instruments) make(kind kind, name, unit, help string, buckets []float64) *instrument {
	name = underscored(name)
	switch unit {
	case "s":
		name += "_seconds"
	case "By":
		name += "_bytes"
	}
	if kind == counting {
		name += "_total"
	}
	i := &instrument{all: all, kind: kind, name: name, help: help, buckets: buckets, series: map[string]*series{}}
	all.list = append(all.list, i)
	return i
}

func (all *instruments) counter(name, unit, help string) *instrument {
	return all.make(counting, name, unit, help, nil)
}

func (all *instruments) gauge(name, unit, help string) *instrument {
	return all.make(gauging, name, unit, help, nil)
}

func (all *instruments) histogram(name, unit, help string, buckets []float64) *instrument {
	return all.make(sorting, name, unit, help, buckets)
}

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// add counts n of something; what would count backwards is left out.
func (i *instrument) add(n int64, l labels) {
	if n < 0 {
		return
	}
	i.all.mu.Lock()
	defer i.all.mu.Unlock()
	i.of(l).sum += float64(n)
}

// set is the value of a gauge from now on.
func (i *instrument) set(n int64, l labels) { i.put(float64(n), l) }

// put is the value of a gauge, or of a counter that somebody else counts, from now on.
func (i *instrument) put(v float64, l labels) {
	i.all.mu.Lock()
	defer i.all.mu.Unlock()
	i.of(l).sum = v
}

// record sorts a value into its bucket.
func (i *instrument) record(v float64, l labels) {
	i.all.mu.Lock()
	defer i.all.mu.Unlock()
	s := i.of(l)
	if s.within == nil {
		s.within = make([]uint64, len(i.buckets))
	}
	if at, _ := slices.BinarySearch(i.buckets, v); at < len(i.buckets) {
		s.within[at]++
	}
	s.sum += v
	s.count++
}

// of finds the series of some labels.
func (i *instrument) of(l labels) *series {
	sorted := slices.Clone(l)
	slices.SortFunc(sorted, func(a, b label) int { return strings.Compare(a.key, b.key) })
	var key strings.Builder
	for _, one := range sorted {
		key.WriteString(one.key + "\x00" + one.value + "\x00")
	}
	s := i.series[key.String()]
	if s != nil {
		return s
	}
	if len(i.series) >= maxSeries && !slices.Equal(l, overflow) {
		return i.of(overflow)
	}
	s = &series{}
	var names []string
	for _, one := range sorted {
		names = append(names, underscored(one.key))
		s.values = append(s.values, one.value)
	}
	s.desc = prometheus.NewDesc(i.name, i.help, names, nil)
	i.series[key.String()] = s
	return s
}

// Describe tells nothing: the series have labels of their own.
func (all *instruments) Describe(chan<- *prometheus.Desc) {}

// Collect shows every series.
func (all *instruments) Collect(to chan<- prometheus.Metric) {
	all.mu.Lock()
	var out []prometheus.Metric
	for _, i := range all.list {
		for _, s := range i.series {
			out = append(out, i.metric(s))
		}
	}
	all.mu.Unlock() // who takes them may be slow
	for _, m := range out {
		to <- m
	}
}

func (i *instrument) metric(s *series) prometheus.Metric {
	switch i.kind {
	case counting:
		return prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, s.sum, s.values...)
	case gauging:
		return prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, s.sum, s.values...)
	}
	upTo := make(map[float64]uint64, len(i.buckets))
	sum := uint64(0)
	for b, bound := range i.buckets {
		sum += s.within[b]
		upTo[bound] = sum
	}
	return prometheus.MustNewConstHistogram(s.desc, s.count, s.sum, upTo, s.values...)
}
