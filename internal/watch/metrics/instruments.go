package metrics

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// maxSeries bounds the series of one instrument. What comes later counts in one series with the label of overflow.
const maxSeries = 2000

// overflow marks what is counted together because an instrument had its most series; the name is OpenTelemetry's.
var overflow = labels{{"otel.metric.overflow", "true"}}

// label is one of a measurement, named by the semantic conventions: dots become underscores.
type label struct{ key, value string }

type labels []label

// makeLabels returns labels as a list.
func makeLabels(list ...label) labels { return list }

// textLabel returns a label whose value is cut and cleaned.
func textLabel(key, value string) label { return label{key, cleanLabel(value)} }

// boolLabel returns a label with the value "true" or "false".
func boolLabel(key string, yes bool) label {
	if yes {
		return label{key, "true"}
	}
	return label{key, "false"}
}

// instruments are counted with and shown together. One may have series with different labels: error.type is there where something
// went wrong.
type instruments struct {
	mu   sync.Mutex
	list []*instrument
}

type kind uint8

const (
	counting kind = iota
	gauging
	bucketing
	summing
)

// String returns the name of the kind in the text format.
func (k kind) String() string { return [...]string{"counter", "gauge", "histogram", "summary"}[k] }

type instrument struct {
	all        *instruments
	kind       kind
	name, help string
	buckets    []float64 // upper bounds; of a summary, its quantiles
	series     map[string]*series
}

// series holds the values measured under one set of labels.
type series struct {
	labels labels  // as they are shown, by key
	sum    float64 // or the value, of what is no histogram
	count  uint64
	within []uint64  // by bucket, not summed up
	at     []float64 // by quantile, of a summary
}

// add adds an instrument and returns it. Its name gets the unit as a suffix, as the exporter of OpenTelemetry gives it.
func (all *instruments) add(kind kind, name, unit, help string, buckets []float64) *instrument {
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
	return all.addNamed(kind, name, help, buckets)
}

// addNamed adds an instrument whose name is given as it is shown, and returns it.
func (all *instruments) addNamed(kind kind, name, help string, buckets []float64) *instrument {
	i := &instrument{all: all, kind: kind, name: name, help: help, buckets: buckets, series: map[string]*series{}}
	all.list = append(all.list, i)
	return i
}

// counter, gauge and histogram add an instrument of their kind and return it.
func (all *instruments) counter(name, unit, help string) *instrument {
	return all.add(counting, name, unit, help, nil)
}

func (all *instruments) gauge(name, unit, help string) *instrument {
	return all.add(gauging, name, unit, help, nil)
}

func (all *instruments) histogram(name, unit, help string, buckets []float64) *instrument {
	return all.add(bucketing, name, unit, help, buckets)
}

// underscored returns a name with underscores for its dots.
func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// add counts n of something; what would count backwards is left out.
func (i *instrument) add(n int64, l labels) { i.addFloat(float64(n), l) }

// addFloat adds v to a counter of something that does not come in whole numbers. Negative values and NaN are ignored.
func (i *instrument) addFloat(v float64, l labels) {
	if !(v >= 0) { // also for no number
		return
	}
	i.all.mu.Lock()
	defer i.all.mu.Unlock()
	i.seriesOf(l).sum += v
}

// set sets a gauge.
func (i *instrument) set(n int64, l labels) { i.setFloat(float64(n), l) }

// setFloat sets a gauge, or a counter that somebody else counts.
func (i *instrument) setFloat(v float64, l labels) {
	i.all.mu.Lock()
	defer i.all.mu.Unlock()
	i.seriesOf(l).sum = v
}

// observe adds a value to a histogram.
func (i *instrument) observe(v float64, l labels) {
	i.all.mu.Lock()
	defer i.all.mu.Unlock()
	s := i.seriesOf(l)
	if s.within == nil {
		s.within = make([]uint64, len(i.buckets))
	}
	if at, _ := slices.BinarySearch(i.buckets, v); at < len(i.buckets) {
		s.within[at]++
	}
	s.sum += v
	s.count++
}

// setSummary sets the values of a summary without labels: the value at each of its quantiles, and the sum and number of all values.
func (i *instrument) setSummary(at []time.Duration, sum time.Duration, count uint64) {
	i.all.mu.Lock()
	defer i.all.mu.Unlock()
	s := i.seriesOf(nil)
	s.at = make([]float64, len(at))
	for q, v := range at {
		s.at[q] = v.Seconds()
	}
	s.sum, s.count = sum.Seconds(), count
}

// seriesOf returns the series with these labels, which it adds if there is none. If there are maxSeries already, it returns the one that
// stands for all others. The caller holds the lock.
func (i *instrument) seriesOf(l labels) *series {
	shown := make(labels, len(l))
	for n, one := range l {
		shown[n] = label{underscored(one.key), strings.ToValidUTF8(one.value, "\uFFFD")}
	}
	sorting.By(shown, func(a, b label) int { return strings.Compare(a.key, b.key) })
	var text strings.Builder
	for _, one := range shown {
		text.WriteString(one.key + "\x00" + one.value + "\x00")
	}
	key := text.String()
	s := i.series[key]
	if s != nil {
		return s
	}
	if len(i.series) >= maxSeries && !slices.Equal(l, overflow) {
		return i.seriesOf(overflow)
	}
	s = &series{labels: shown}
	i.series[key] = s
	return s
}

// snapshot returns copies of all series, in the order of their labels: those with fewer come first. The lock is not held afterwards, because
// the reader may be slow.
func (i *instrument) snapshot() []series {
	i.all.mu.Lock()
	list := make([]series, 0, len(i.series))
	for _, s := range i.series {
		copied := *s
		copied.within = slices.Clone(s.within)
		list = append(list, copied)
	}
	i.all.mu.Unlock()
	sorting.By(list, func(a, b series) int {
		if n := len(a.labels) - len(b.labels); n != 0 {
			return n
		}
		byValue := slices.CompareFunc(a.labels, b.labels, func(a, b label) int { return strings.Compare(a.value, b.value) })
		return cmp.Or(byValue, slices.CompareFunc(a.labels, b.labels, func(a, b label) int { return strings.Compare(a.key, b.key) }))
	})
	return list
}

// write writes all series of the instrument, and nothing if it has none.
func (i *instrument) write(w textWriter) {
	list := i.snapshot()
	if len(list) == 0 {
		return
	}
	w.writeHead(i.name, i.help, i.kind.String())
	for _, s := range list {
		switch i.kind {
		case bucketing:
			upTo := uint64(0)
			for b, bound := range i.buckets {
				upTo += s.within[b]
				w.writeSample(i.name, "_bucket", s.labels, "le", bound, float64(upTo))
			}
			w.writeSample(i.name, "_bucket", s.labels, "le", math.Inf(1), float64(s.count))
		case summing:
			for q, quantile := range i.buckets {
				w.writeSample(i.name, "", s.labels, "quantile", quantile, s.at[q])
			}
		default:
			w.writeSample(i.name, "", s.labels, "", 0, s.sum)
			continue
		}
		w.writeSample(i.name, "_sum", s.labels, "", 0, s.sum)
		w.writeSample(i.name, "_count", s.labels, "", 0, float64(s.count))
	}
}
