package metrics

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// parse reads what was written as Prometheus' own parser for Go does: it takes no family twice, no sample outside its family, and
// no line that the format does not have.
func parse(t testing.TB, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return families
}

// written is what a scrape of some instruments shows.
func written(t testing.TB, all *instruments) string {
	t.Helper()
	var text bytes.Buffer
	if err := newExposition(all).write(&text, nil); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// The text is the one of the format's guide: families by name, labels by name, what is special escaped, buckets summed up.
func TestText(t *testing.T) {
	var all instruments
	z := all.counter("z", "", `Back\slash "quotes"`+"\nand a second line.")
	z.add(3, nil)
	z.add(1<<20, makeLabels(label{"b", "\"\\\n"}, label{"a.b", "é"}))
	z.add(1<<53, makeLabels(label{"b", ""}, label{"a.b", "a\xffb"}))
	g := all.gauge("g", "1", "Values.")
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1.5, 1e-9} {
		g.setFloat(v, makeLabels(label{"n", string(rune('a' + i))}))
	}
	h := all.histogram("h", "s", "Buckets.", []float64{-0.5, 0, 1e6})
	for _, v := range []float64{-1, -0.5, 0, 3, 1e6, 2e6, math.Inf(1)} {
		h.observe(v, makeLabels(label{"x", "1"}))
	}
	all.counter("empty", "", "Nothing was counted.")
	all.addNamed(summing, "s", "Quantiles.", []float64{0, 0.5, 1}).setSummary([]time.Duration{1e6, 2e6, 3e9}, 4*time.Second, 7)
	const want = `# HELP g Values.
# TYPE g gauge
g{n="a"} NaN
g{n="b"} +Inf
g{n="c"} -Inf
g{n="d"} 0
g{n="e"} -1.5
g{n="f"} 1e-09
# HELP h_seconds Buckets.
# TYPE h_seconds histogram
h_seconds_bucket{x="1",le="-0.5"} 2
h_seconds_bucket{x="1",le="0"} 3
h_seconds_bucket{x="1",le="1e+06"} 5
h_seconds_bucket{x="1",le="+Inf"} 7
h_seconds_sum{x="1"} +Inf
h_seconds_count{x="1"} 7
# HELP s Quantiles.
# TYPE s summary
s{quantile="0"} 0.001
s{quantile="0.5"} 0.002
s{quantile="1"} 3
s_sum 4
s_count 7
# HELP z_total Back\\slash "quotes"\nand a second line.
# TYPE z_total counter
z_total 3
z_total{a_b="a` + "\uFFFD" + `b",b=""} 9.007199254740992e+15
z_total{a_b="é",b="\"\\\n"} 1.048576e+06
`
	text := written(t, &all)
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	parse(t, text)
}

// Values of a label that differ only in what is no UTF-8 are one series: as two they would be the same line twice.
func TestBrokenLabelsAreOneSeries(t *testing.T) {
	var all instruments
	c := all.counter("c", "", "A test.")
	c.add(1, makeLabels(label{"a", "x\xff"}))
	c.add(2, makeLabels(label{"a", "x\xfe"}))
	if text := written(t, &all); !strings.HasSuffix(text, "c_total{a=\"x\uFFFD\"} 3\n") {
		t.Error(text)
	}
}

// Whatever is in a label, a help text and a value, the parser finds it again, and nothing else.
func FuzzText(f *testing.F) {
	f.Add("", "", 0.0)
	f.Add("a help", `C:\dir\new "x"`, 1.5)
	f.Add("two\nlines\\n", "\n\\n\\\n\"}{,= 1\n# TYPE x counter\n", math.Inf(-1))
	f.Add("# HELP", "\xff\x00\r\u2028", math.NaN())
	f.Fuzz(func(t *testing.T, help, value string, number float64) {
		var all instruments
		all.addNamed(gauging, "g", help, nil).setFloat(number, makeLabels(label{"l", value}, label{"m", "last"}))
		families := parse(t, written(t, &all))
		family := families["g"]
		if len(families) != 1 || len(family.GetMetric()) != 1 {
			t.Fatalf("%v", families)
		}
		// The parser takes white space around a help text for the line's.
		if got, want := family.GetHelp(), strings.ToValidUTF8(help, "\uFFFD"); strings.TrimLeft(got, " \t") != strings.TrimLeft(want, " \t") {
			t.Errorf("help is %q, want %q", got, want)
		}
		m := family.GetMetric()[0]
		if len(m.GetLabel()) != 2 || m.GetLabel()[0].GetValue() != strings.ToValidUTF8(value, "\uFFFD") || m.GetLabel()[1].GetValue() != "last" {
			t.Errorf("labels are %v, want %q", m.GetLabel(), value)
		}
		if got := m.GetGauge().GetValue(); got != number && (!math.IsNaN(got) || !math.IsNaN(number)) {
			t.Errorf("the value is %v, want %v", got, number)
		}
	})
}

// full is a file on a disk that is full.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

// A file for node_exporter that could not be written whole is an error: the old one stays.
func TestWriteTellsOfErrors(t *testing.T) {
	if err := newExposition(nil, showGo).write(full{}, nil); !errors.Is(err, errFull) {
		t.Error(err)
	}
}
