package metrics

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// One instrument with ever new labels must not fill the memory.
func TestSeriesAreBounded(t *testing.T) {
	var all instruments
	c := all.counter("plimsoll.test", "By", "A test.")
	for n := range 3 * maxSeries {
		c.add(2, makeLabels(label{"n", fmt.Sprint(n)}))
	}
	c.add(-5, makeLabels(label{"n", "1"})) // a counter never goes back
	if n := len(c.series); n != maxSeries+1 {
		t.Errorf("%d series", n)
	}
	if got := c.seriesOf(overflow).sum; got != 4*maxSeries {
		t.Errorf("%v are counted as overflow, want %d", got, 4*maxSeries)
	}
	var text bytes.Buffer
	if err := newExposition(&all).write(&text, nil); err != nil {
		t.Fatal(err)
	}
	families := parse(t, text.String())
	if family := families["plimsoll_test_bytes_total"]; len(families) != 1 || len(family.GetMetric()) != maxSeries+1 {
		t.Errorf("shown are %d families, %d series", len(families), len(family.GetMetric()))
	}
	if line := fmt.Sprintf("plimsoll_test_bytes_total{otel_metric_overflow=%q} %d\n", "true", 4*maxSeries); !strings.Contains(text.String(), line) {
		t.Errorf("no %s", line)
	}
}

// counted is a reader that is never waited for.
type counted struct{ bytes int }

func (c *counted) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}

// A scrape of instruments that all have their most series holds those of one at a time, and none of the text.
func TestScrapeAtTheMostSeriesIsBounded(t *testing.T) {
	const histograms = 8
	var all instruments
	for i := range histograms {
		h := all.histogram(fmt.Sprint("plimsoll.test.", i), "s", "A test.", durationBuckets)
		for n := range maxSeries + 10 {
			h.observe(float64(n), makeLabels(label{"model", fmt.Sprint(strings.Repeat("m", maxLabel-5), n)}))
		}
	}
	e := newExposition(&all)
	out := &counted{}
	held := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			out.bytes = 0
			if err := e.write(out, nil); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	// 2,001 lines for each of 14 buckets, +Inf, the sum and the count; of each series, 100 bytes beside its buckets.
	if least := histograms * (maxSeries + 1) * 17 * 100; out.bytes < least {
		t.Errorf("only %d bytes of text", out.bytes)
	}
	if most := int64(histograms*(maxSeries+1)*(len(durationBuckets)*8+200) + 2*lineBuffer); held > most {
		t.Errorf("a scrape takes %d bytes, more than %d", held, most)
	}
	t.Logf("%d bytes of text, %d of memory over all", out.bytes, held)
}
