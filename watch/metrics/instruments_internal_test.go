package metrics

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// One instrument with ever new labels must not fill the memory.
func TestSeriesAreBounded(t *testing.T) {
	var all instruments
	c := all.counter("plimsoll.test", "By", "A test.")
	for n := range 3 * maxSeries {
		c.add(2, with(label{"n", fmt.Sprint(n)}))
	}
	c.add(-5, with(label{"n", "1"})) // a counter never goes back
	if n := len(c.series); n != maxSeries+1 {
		t.Errorf("%d series", n)
	}
	if got := c.of(overflow).sum; got != 4*maxSeries {
		t.Errorf("%v are counted as overflow, want %d", got, 4*maxSeries)
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(&all); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || len(families[0].GetMetric()) != maxSeries+1 || families[0].GetName() != "plimsoll_test_bytes_total" {
		t.Errorf("gathered are %d families, %v", len(families), err)
	}
}
