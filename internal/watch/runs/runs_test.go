package runs

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
)

const asWriter = "PLIMSOLL_TEST_RUNS_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asWriter); dir != "" {
		writeForParent(dir, os.Getenv(asWriter+"_ID"), os.Getenv(asWriter+"_HOW"))
		return
	}
	os.Exit(m.Run())
}

// writeForParent is a process that writes a run.
func writeForParent(dir, id, how string) {
	w, j, reporter := begin(dir, id)
	if how == "limited" {
		limitFiles(20 << 10)
	}
	play(j, 10)
	switch how {
	case "hang":
		fmt.Println("written")
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
	case "limited":
		play(j, 400)
	}
	if err := w.End(reporter.Report()); err != nil {
		fmt.Println(err)
	}
}

func begin(dir, id string) (*Writer, *journal.Journal, *journal.Reporter) {
	start := journal.Report{Tool: "claude", Project: "shop", Command: []string{"claude", "--token", "abc"}, LimitBytes: 4 << 30, Outcome: "failed"}
	w := Begin(Options{Dir: dir, Environ: []string{"MY_API_KEY=pl4nted-value"}}, Header{ID: id, Kind: KindRun, Report: start})
	reporter := journal.NewReporter(start)
	return w, journal.New(journal.Options{Observers: []journal.Observer{reporter, w}}), reporter
}

// play is a run of n requests.
func play(j *journal.Journal, n int) {
	j.Append(journal.Admitted{ReservationBytes: 2 << 30, AvailableBytes: 8 << 30})
	j.Append(journal.LayerChosen{Layer: "group2", Memory: "kernel", Swap: "kernel", Pids: "kernel"})
	j.Append(journal.RunStarted{PID: 4711, LimitBytes: 4 << 30})
	for i := range n {
		j.Append(journal.WindowRequest{
			Upstream: "anthropic", Dialect: "anthropic.messages", Model: "claude-opus-5-5-20261001", Conversation: "0123456789ab", Messages: 120 + i,
			Tokens: 123456 + int64(i), Low: 120000, High: 130000, Counted: "usage", LimitTokens: 200000, LimitSource: "catalogue", ReceivedBytes: 500_000, ForwardedBytes: 480_000, Overhead: 1_234_567,
		})
		j.Append(journal.WindowResponse{
			Upstream: "anthropic", Dialect: "anthropic.messages", Model: "claude-opus-5-5-20261001", Status: 200, Stream: true, TokensIn: 123400, TokensOut: 800,
			CacheRead: 110000, Estimated: 123456, FirstByte: 812_345_678, Duration: 12_345_678_901, Bytes: 54321, Ended: "complete",
		})
	}
	j.Append(journal.WindowCompacted{Model: "claude-opus-5-5-20261001", Reason: "trigger", Rungs: []string{"results", "summary"}, Before: 160000, After: 99000, CutBytes: 200000})
	j.Append(journal.ToolCalled{Server: "argocd", Tool: "list_applications", UpstreamBytes: 900_000, DeliveredBytes: 6000, Spilled: true})
	j.Append(journal.ChildKilled{PID: 12, Name: "jest", Bytes: 3 << 30, By: "kernel"})
	j.Append(journal.Warned{About: "x", Text: "the key is pl4nted-value, or sk-aaaaaaaaaaaaaaaaaaaaaaaa"})
	j.Append(journal.RunEnded{Outcome: journal.OutcomeOK, Duration: 1500 * time.Millisecond, PeakBytes: 1 << 30, PeakMethod: "memory.peak"})
}

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err == nil {
		err = s.Poll()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestARunIsReadAsItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, j, reporter := begin(dir, "aaaa1111")
	for i := range 40 {
		w.Sample(Sample{Working: int64(i) << 20, Charged: int64(i) << 21, Processes: 3, CPUMS: int64(i)})
	}
	play(j, 5)
	want := reporter.Report()
	if err := w.End(want); err != nil {
		t.Fatal(err)
	}
	if err := w.End(want); err != nil {
		t.Fatal("a second end:", err)
	}
	s := open(t, dir)
	r, err := s.Run("aaaa")
	if err != nil {
		t.Fatal(err)
	}
	want.Command = []string{"claude", "--token", "********"}
	want.Warnings = []string{"the key is ********, or ********"}
	if got, _ := json.Marshal(r.Report); string(got) != marshal(t, want) {
		t.Errorf("the report is\n%s, was\n%s", got, marshal(t, want))
	}
	if got := r.reporter.Report(); marshal(t, got) != marshal(t, want) {
		t.Errorf("the records add up to\n%s, not\n%s", marshal(t, got), marshal(t, want))
	}
	if len(r.Context) != 5 || len(r.Compactions) != 1 || len(r.Kills) != 1 || len(r.Largest) != 1 || r.Tools[0].MaxBytes != 900_000 {
		t.Errorf("%d requests, %d compactions, %d kills, %v", len(r.Context), len(r.Compactions), len(r.Kills), r.Tools)
	}
	if n := len(r.Samples); n == 0 || r.Samples[n-1].Working != 39<<20 || r.Samples[n-1].WindowTokens != 123460 {
		t.Errorf("samples: %+v", r.Samples)
	}
	e := s.Entries()
	if len(e) != 1 || e[0].Outcome != "ok" || e[0].LargestTool != "argocd/list_applications" || e[0].Reason != "jest was killed for memory at 3 GiB" || e[0].Dropped != 0 {
		t.Errorf("%+v", e)
	}
	text, err := os.ReadFile(filepath.Join(dir, Dir, e[0].Day, "aaaa1111.jsonl"))
	if err != nil || strings.Contains(string(text), "pl4nted") || strings.Contains(string(text), "sk-aaaa") || strings.Contains(string(text), `"abc"`) {
		t.Errorf("%s, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(dir, Dir, e[0].Day, "aaaa1111.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writer(dir, id, how string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asWriter+"="+dir, asWriter+"_ID="+id, asWriter+"_HOW="+how)
	return cmd
}

// startHanging starts a writer that has noted its events, and goes on until it is killed.
func startHanging(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
}

// untilWritten waits until the store has all that its one writer, which hangs, has noted: a kill may lose what is not written yet.
func untilWritten(t *testing.T, dir string) *Store {
	t.Helper()
	s := open(t, dir)
	wait.Until(t, "the ten requests are written", func() bool {
		if err := s.Poll(); err != nil {
			t.Fatal(err)
		}
		live := s.Live()
		return len(live) == 1 && live[0].Window.Requests == 10 && live[0].PeakBytes > 0
	})
	return s
}

func TestTwoHundredWritersLeaveTwoHundredRuns(t *testing.T) {
	t.Parallel()
	const n = 200
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if out, err := writer(dir, fmt.Sprintf("run-%03d", i), "").CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
	all.Wait()
	s := open(t, dir)
	list := s.Entries()
	if len(list) != n || s.Damaged() != 0 {
		t.Fatalf("%d runs in the index, %d lines damaged", len(list), s.Damaged())
	}
	var last sums
	for _, e := range list {
		r, err := s.Run(e.ID)
		if err != nil || !r.ended || r.Damaged != 0 || r.Window.Requests != 10 || r.Dropped != 0 {
			t.Errorf("%s: %v, %+v", e.ID, err, r.Entry)
		}
		last = last.add(&e)
	}
	f, err := os.Open(filepath.Join(dir, Dir, indexName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, whole, err := lastSums(f); got != last || !whole || err != nil {
		t.Errorf("the sums are %+v, not %+v", got, last)
	}
}

func TestAWriterThatIsKilledShowsAsDied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := writer(dir, "killed", "hang")
	startHanging(t, cmd)
	s := untilWritten(t, dir)
	if e := s.Entries(); len(e) != 1 || e[0].Outcome != Running || e[0].Ended != nil {
		t.Fatalf("while it lives: %+v", e)
	}
	if live := s.Live(); len(live) != 1 || live[0].Window.Requests != 10 {
		t.Fatalf("%+v", live)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for range 2 {
		if err := s.Poll(); err != nil {
			t.Fatal(err)
		}
		e := s.Entries()
		if len(e) != 1 || e[0].Outcome != Died || e[0].Ended == nil || e[0].Window.Requests != 10 || e[0].PeakBytes == 0 {
			t.Fatalf("after the kill: %+v", e)
		}
		if err := Adopt(dir, time.Now()); err != nil { // the second round reads it from the index
			t.Fatal(err)
		}
		if err := Adopt(dir, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if list, _, damaged, err := openIndex(s.root); len(list) != 1 || damaged != 0 || err != nil {
		t.Errorf("%+v, %d, %v", list, damaged, err)
	}
	if r, err := s.Run("killed"); err != nil || r.Outcome != Died || r.Damaged != 0 || len(r.Kills) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// 2,000 requests of a model, each with its answer, fit into 2 MiB.
func TestTwoThousandRequestsFit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, j, reporter := begin(dir, "many")
	for range 40 {
		play(j, 50)
		w.flush() // as time would
	}
	if err := w.End(reporter.Report()); err != nil {
		t.Fatal(err)
	}
	e := open(t, dir).Entries()[0]
	if e.Window.Requests != 2000 || e.Dropped != 0 || e.Bytes > 2<<20 {
		t.Errorf("%d requests in %d bytes, %d dropped", e.Window.Requests, e.Bytes, e.Dropped)
	}
	t.Logf("2,000 requests take %d bytes", e.Bytes)
}

func TestAFileHasItsBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, j, reporter := begin(dir, "full")
	for i := range 200 {
		play(j, 50)
		w.flush()
		if i%10 == 0 {
			w.Sample(Sample{Working: int64(i)})
		}
	}
	want := reporter.Report()
	if err := w.End(want); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	r, err := s.Run("full")
	if err != nil {
		t.Fatal(err)
	}
	if r.Bytes > MaxFile || r.Dropped == 0 || r.Report.Window.Requests != 10_000 || len(r.Kills) != 200 || len(r.Compactions) != 200 {
		t.Errorf("%d bytes, %d dropped, %d requests, %d kills, %d compactions", r.Bytes, r.Dropped, r.Report.Window.Requests, len(r.Kills), len(r.Compactions))
	}
}

func TestSamplesAreBounded(t *testing.T) {
	t.Parallel()
	var s sampler
	n, highest := 0, int64(0)
	const ms = 100 * 24 * 3600 * 1000
	for at := int64(0); at < ms; at += 10_000 {
		working := at % 77_777_777
		if out, ok := s.add(Sample{AtMS: at, Working: working, CPUMS: at / 2}); ok {
			n++
			highest = max(highest, out.Working)
		}
	}
	if out, ok := s.finishLast(); ok {
		n++
		highest = max(highest, out.Working)
	}
	if n > MaxSamples || n < MaxSamples/8 || highest < 77_760_000 {
		t.Errorf("%d samples, the highest %d", n, highest)
	}
}

func TestIdleRunsWriteNoSamples(t *testing.T) {
	t.Parallel()
	var s sampler
	n := 0
	for at := int64(0); at < 3600_000; at += 500 {
		if _, ok := s.add(Sample{AtMS: at, Working: 100 << 20, CPUMS: 100, Processes: 2}); ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d samples of a run that does nothing", n)
	}
}

func TestPruneKeepsWithinItsBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begun := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	for i := range 40 {
		o := Options{Dir: dir, now: func() time.Time { return begun.Add(time.Duration(i) * 24 * time.Hour) }, Keep: Keep{Runs: 1 << 20}}
		w := Begin(o, Header{ID: fmt.Sprintf("run-%02d", i), Kind: KindRun})
		if err := w.End(journal.Report{Outcome: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
	live := Begin(Options{Dir: dir, now: func() time.Time { return begun }}, Header{ID: "lives", Kind: KindServe})
	live.flush()
	now := begun.Add(40 * 24 * time.Hour)
	dry, err := Prune(dir, Keep{}, now, true)
	if err != nil || len(dry) != 10 || dry[0].Why != "age" {
		t.Fatalf("%+v, %v", dry, err)
	}
	removed, err := Prune(dir, Keep{}, now, false)
	if err != nil || len(removed) != 10 {
		t.Fatalf("%+v, %v", removed, err)
	}
	s := open(t, dir)
	list := s.Entries()
	if len(list) != 31 || list[30].ID != "lives" || !list[30].Live() || list[29].ID != "run-10" {
		t.Fatalf("%d, %+v", len(list), list[len(list)-2:])
	}
	if days, err := dayFolders(s.root); err != nil || len(days) != 31 { // that of the one that lives stays
		t.Errorf("%d folders, %v", len(days), err)
	}
	if err := live.End(journal.Report{Outcome: "ok"}); err != nil {
		t.Fatal(err)
	}
	if removed, err = Prune(dir, Keep{Runs: 5}, now, false); err != nil || len(removed) != 26 || removed[0].Why != "count" {
		t.Fatalf("%d, %v", len(removed), err)
	}
	one := removed[0].Bytes
	if removed, err = Prune(dir, Keep{Bytes: 2*one + 50}, now, false); err != nil || len(removed) != 3 || removed[0].Why != "bytes" {
		t.Fatalf("%+v, %v", removed, err)
	}
	if err := s.Poll(); err != nil || len(s.Entries()) != 2 {
		t.Errorf("%+v, %v", s.Entries(), err)
	}
}

func TestAWriterPrunesWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 60 {
		w := Begin(Options{Dir: dir, Keep: Keep{Runs: 20}}, Header{ID: fmt.Sprintf("run-%02d", i), Kind: KindRun})
		if err := w.End(journal.Report{Outcome: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(open(t, dir).Entries()); n < 20 || n > 20+20/16+16 {
		t.Errorf("%d runs are kept", n)
	}
}

// A bound that is not set is no bound of 0, at which every end of a run would read and write the whole index.
func TestAWriterWithoutABoundDoesNotPrune(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stray := filepath.Join(dir, Dir, "2001-01-01", "stray"+fileEnd) // what a clean-up removes
	for i := range 40 {
		w := Begin(Options{Dir: dir, Keep: Keep{Age: 24 * time.Hour}}, Header{ID: fmt.Sprintf("run-%02d", i), Kind: KindRun})
		if err := w.End(journal.Report{Outcome: "ok"}); err != nil {
			t.Fatal(err)
		}
		if i > 0 { // the first one of a day cleans up
			continue
		}
		if err := os.MkdirAll(filepath.Dir(stray), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(stray, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(stray); err != nil {
		t.Errorf("the end of a run has cleaned up: %v", err)
	}
	if removed, err := Prune(dir, Keep{Age: 24 * time.Hour}, time.Now(), false); err != nil || len(removed) > 0 {
		t.Errorf("%+v, %v", removed, err)
	}
	if _, err := os.Stat(stray); err == nil {
		t.Error("a clean-up leaves it, so the test tells nothing")
	}
}

func TestDailyBeginsAFileADay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var clock atomic.Pointer[time.Time]
	now := time.Date(2026, 11, 24, 23, 59, 0, 0, time.UTC)
	clock.Store(&now)
	n := 0
	d := BeginDaily(Options{Dir: dir, now: func() time.Time { return *clock.Load() }}, Header{ID: "serve-0", Kind: KindServe, Report: journal.Report{Tool: "serve"}},
		func() string { n++; return fmt.Sprintf("serve-%d", n) }, func(err error) { t.Error(err) })
	for i := range 3 {
		d.Observe(journal.Record{Seq: uint64(i + 1), Time: *clock.Load(), Event: journal.WindowRequest{Tokens: 1}})
		next := clock.Load().Add(24 * time.Hour)
		clock.Store(&next)
	}
	d.End(journal.OutcomeOK)
	d.Observe(journal.Record{Event: journal.WindowRequest{}})
	list := open(t, dir).Entries()
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	for _, e := range list {
		if e.Outcome != "ok" || e.Window.Requests != 1 {
			t.Errorf("%+v", e)
		}
	}
}

func TestMaskedChangesNothingElse(t *testing.T) {
	t.Parallel()
	in := journal.ToolServer{Server: "x", State: "ended", Reason: "exit: API_KEY=abcdef was refused"}
	if got := secrets.Masked[journal.Event](nil, in).(journal.ToolServer); got.Reason != "exit: API_KEY=******** was refused" || got.Server != "x" || in.Reason == got.Reason {
		t.Errorf("%+v", got)
	}
	same := journal.WindowCompacted{Rungs: []string{"a"}, Model: "plain"}
	if !reflect.DeepEqual(secrets.Masked[journal.Event](nil, same), journal.Event(same)) {
		t.Error("changed")
	}
}
