package metrics_test

import (
	"compress/gzip"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/watch/metrics"
)

// daemon shows all that there is, as plimsoll serve does.
func daemon(t *testing.T) *metrics.Metrics {
	t.Helper()
	m := metrics.New(metrics.Options{})
	all := metrics.NewRuns(used(t), host)
	t.Cleanup(func() { all.Close() })
	all.ShowTraces(func() metrics.Traces { return metrics.Traces{Sending: true, Sent: 5} })
	all.ShowFleet(func() hosts.Now { return hosts.Now{Hosts: []*hosts.Host{{Load: hosts.Load{Running: 7}}}} })
	m.Add(all)
	m.ShowAgents(func() []metrics.Agent { return []metrics.Agent{{Name: "argocd", Memory: 20_000, Window: 0.5}} })
	m.ShowMemory(func() metrics.Memory { return metrics.Memory{Records: 9, Facts: true} })
	return m
}

func ask(t *testing.T, h http.Handler, target string, header http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequest("GET", target, nil)
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func families(t *testing.T, from io.Reader) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(from)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// No two sources of a daemon show the same family, which would be a scrape that no parser takes; and promtool, where it is there, has
// nothing against the text.
func TestAScrapeOfEverythingIsValid(t *testing.T) {
	t.Parallel()
	answer := ask(t, daemon(t).Handler(), "/metrics", nil)
	if got := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || got != "text/plain; version=0.0.4; charset=utf-8" || answer.Header.Get("Content-Encoding") != "" {
		t.Errorf("%s, %v", answer.Status, answer.Header)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := families(t, strings.NewReader(string(body)))
	for _, name := range []string{"go_info", "process_cpu_seconds_total", "plimsoll_runs", "plimsoll_traces_sending", "plimsoll_memory_captured_total"} {
		if runtime.GOOS == "linux" && found[name] == nil {
			t.Errorf("no %s", name)
		}
	}
	var names []string
	for line := range strings.Lines(string(body)) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			names = append(names, strings.Fields(name)[0])
		}
	}
	if !slices.IsSorted(names) || len(names) != len(found) {
		t.Errorf("the families are not in order: %v", names)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		return
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(string(body))
	// 3 is that the names are not to its taste, which are those of the semantic conventions.
	if out, err := check.CombinedOutput(); err != nil && check.ProcessState.ExitCode() != 3 || strings.Contains(string(out), "error while") {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// A scraper that asks for gzip gets it, as Prometheus does; the text is the same.
func TestScrapeIsCompressedWhereAskedFor(t *testing.T) {
	t.Parallel()
	h := daemon(t).Handler()
	for accept, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "deflate, gzip;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0, br": false, "gzip;q=x": false,
		"identity": false, "br": false, "*": false, "x-gzip-not": false,
	} {
		answer := ask(t, h, "/metrics", http.Header{"Accept-Encoding": {accept}})
		if got := answer.Header.Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("with %q: gzip is %v", accept, got)
			continue
		}
		if answer.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("a cache would not know: %v", answer.Header)
		}
		body := answer.Body.(io.Reader)
		if want {
			zip, err := gzip.NewReader(body)
			if err != nil {
				t.Fatal(err)
			}
			body = zip // its checksum shows an answer without an end
		}
		if found := families(t, body); found["plimsoll_runs"] == nil || found["plimsoll_runs_readable"] == nil {
			t.Errorf("with %q: the families are %v", accept, slices.Sorted(maps.Keys(found)))
		}
	}
}

// name[] names the families that are wanted.
func TestScrapeOfSomeFamilies(t *testing.T) {
	t.Parallel()
	answer := ask(t, daemon(t).Handler(), "/metrics?name[]=plimsoll_runs&name[]=go_info&name[]=unknown", nil)
	if got := slices.Sorted(maps.Keys(families(t, answer.Body))); !slices.Equal(got, []string{"go_info", "plimsoll_runs"}) {
		t.Errorf("the families are %v", got)
	}
}

// held is a scraper that does not read.
type held struct {
	http.ResponseWriter
	once    sync.Once
	writing chan<- struct{} // told when something is written to it
	proceed <-chan struct{}
}

func (h *held) Write(p []byte) (int, error) {
	h.once.Do(func() { h.writing <- struct{}{} })
	<-h.proceed
	return len(p), nil
}

// Scrapers that do not read are 8 at most: the next one is told so, and is answered when they have gone.
func TestScrapesAreBounded(t *testing.T) {
	t.Parallel()
	h := metrics.New(metrics.Options{}).Handler()
	writing, proceed := make(chan struct{}), make(chan struct{})
	var scrapes sync.WaitGroup
	for range 8 {
		scrapes.Go(func() {
			h.ServeHTTP(&held{ResponseWriter: httptest.NewRecorder(), writing: writing, proceed: proceed}, httptest.NewRequest("GET", "/metrics", nil))
		})
	}
	for range 8 {
		<-writing
	}
	refused := func() bool { return ask(t, h, "/metrics", nil).StatusCode == http.StatusServiceUnavailable }
	if !refused() {
		t.Error("a ninth scrape is answered")
	}
	close(proceed)
	scrapes.Wait()
	if refused() {
		t.Error("they have gone, and nobody is answered")
	}
}

// What Go and the process say of themselves is there under the names of Prometheus' library for Go, and is right.
func TestGoAndProcess(t *testing.T) {
	runtime.GC()
	h := metrics.New(metrics.Options{}).Handler()
	first := families(t, ask(t, h, "/metrics", nil).Body)
	value := func(from map[string]*dto.MetricFamily, name string) float64 {
		m := from[name].GetMetric()
		if len(m) != 1 {
			t.Errorf("%s has %d samples", name, len(m))
			return math.NaN()
		}
		return m[0].GetCounter().GetValue() + m[0].GetGauge().GetValue()
	}
	within := func(name string, least, most float64) {
		t.Helper()
		if v := value(first, name); !(v >= least && v <= most) {
			t.Errorf("%s is %v, not in %v…%v", name, v, least, most)
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	total := float64(memory.Sys)
	within("go_goroutines", 2, 1000)
	within("go_threads", 1, 1000)
	within("go_sched_gomaxprocs_threads", float64(runtime.GOMAXPROCS(0)), float64(runtime.GOMAXPROCS(0)))
	within("go_gc_gogc_percent", 1, 1000)
	within("go_gc_gomemlimit_bytes", 1<<30, math.MaxInt64)
	within("go_memstats_sys_bytes", total/2, total)
	within("go_memstats_last_gc_time_seconds", float64(time.Now().Add(-time.Minute).Unix()), float64(time.Now().Unix()+1))
	for _, name := range []string{"alloc", "heap_alloc", "heap_sys", "heap_inuse", "stack_inuse", "stack_sys", "mspan_inuse", "mspan_sys", "mcache_inuse", "mcache_sys", "buck_hash_sys", "gc_sys", "other_sys"} {
		within("go_memstats_"+name+"_bytes", 1, total)
	}
	for _, name := range []string{"heap_idle_bytes", "heap_released_bytes"} {
		within("go_memstats_"+name, 0, total)
	}
	within("go_memstats_next_gc_bytes", 1<<20, 1<<40)
	within("go_memstats_heap_objects", 100, float64(memory.Mallocs))
	within("go_memstats_mallocs_total", 100, float64(memory.Mallocs))
	within("go_memstats_frees_total", 0, float64(memory.Mallocs))
	within("go_memstats_alloc_bytes_total", 1000, float64(memory.TotalAlloc))
	if info := first["go_info"].GetMetric(); len(info) != 1 || info[0].GetLabel()[0].GetValue() != runtime.Version() {
		t.Errorf("go_info is %v", info)
	}
	if pauses := first["go_gc_duration_seconds"].GetMetric(); len(pauses) != 1 || pauses[0].GetSummary().GetSampleCount() < 1 || len(pauses[0].GetSummary().GetQuantile()) != 5 {
		t.Errorf("go_gc_duration_seconds is %v", pauses)
	}
	if runtime.GOOS != "linux" {
		return
	}
	within("process_start_time_seconds", float64(time.Now().Add(-time.Hour).Unix()), float64(time.Now().Unix()+1))
	within("process_resident_memory_bytes", 1<<20, 1<<40)
	within("process_virtual_memory_bytes", value(first, "process_resident_memory_bytes"), 1<<50)
	within("process_virtual_memory_max_bytes", value(first, "process_virtual_memory_bytes"), math.MaxUint64)
	within("process_max_fds", 10, 1<<40)
	within("process_network_receive_bytes_total", 0, math.MaxUint64)
	within("process_network_transmit_bytes_total", 0, math.MaxUint64)

	// They follow what the process does.
	var files []*os.File
	for range 20 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		_, _ = io.Copy(io.Discard, iotest.OneByteReader(strings.NewReader("busy")))
	}
	second := families(t, ask(t, h, "/metrics", nil).Body)
	if before, after := value(first, "process_open_fds"), value(second, "process_open_fds"); after-before < float64(len(files))-5 || after-before > float64(len(files))+5 {
		t.Errorf("%v open files became %v with %d more", before, after, len(files))
	}
	if before, after := value(first, "process_cpu_seconds_total"), value(second, "process_cpu_seconds_total"); after <= before {
		t.Errorf("%v seconds of CPU became %v", before, after)
	}
	if before, after := value(first, "process_start_time_seconds"), value(second, "process_start_time_seconds"); after != before {
		t.Errorf("the process started at %v and at %v", before, after)
	}
}
