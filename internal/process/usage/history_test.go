package usage_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

var web = usage.Project{Key: "web-1f3a", Path: "/src/web"}

// writerEnv makes the test binary a writer process: directory, name, number of records.
const writerEnv = "PLIMSOLL_USAGE_TEST_WRITER"

func TestMain(m *testing.M) {
	if job := os.Getenv(writerEnv); job != "" {
		os.Exit(write(strings.Split(job, "|")))
	}
	os.Exit(m.Run())
}

func write(job []string) int {
	h := usage.Open(job[0], usage.Options{LockWait: time.Minute})
	var n int
	if _, err := fmt.Sscan(job[2], &n); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for i := range n {
		if err := h.Append(web, "claude", usage.Run{Time: time.Now(), Peak: limit.Bytes(i+1) * limit.MiB, Method: job[1], Outcome: journal.OutcomeOK}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// warnings collects what a history tells.
type warnings struct {
	mu   sync.Mutex
	list []usage.Warning
}

func (w *warnings) add(warning usage.Warning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, warning)
}

func (w *warnings) kinds() []usage.WarningKind {
	w.mu.Lock()
	defer w.mu.Unlock()
	var kinds []usage.WarningKind
	for _, warning := range w.list {
		kinds = append(kinds, warning.Kind)
	}
	return kinds
}

func open(t *testing.T) (*usage.History, *warnings) {
	t.Helper()
	w := &warnings{}
	return usage.Open(t.TempDir(), usage.Options{Warn: w.add}), w
}

func mustAppend(t *testing.T, h *usage.History, p usage.Project, tool string, r usage.Run) {
	t.Helper()
	if err := h.Append(p, tool, r); err != nil {
		t.Fatal(err)
	}
}

func TestARunComesBackAsItWas(t *testing.T) {
	t.Parallel()
	h, w := open(t)
	want := usage.Run{
		Time: time.Date(2026, 11, 20, 15, 4, 5, 678e6, time.UTC), Peak: 300 * limit.MiB, PeakAnon: 250 * limit.MiB,
		Method: usage.MethodMemoryPeak, Exact: true, Outcome: journal.OutcomeOOM, OOMKills: 2, KilledChildren: 1,
		Limit: 4 * limit.GiB, Duration: 90 * time.Second, Layer: "cgroup2", ExitCode: 137,
	}
	mustAppend(t, h, web, "claude", want)
	got, err := h.Runs(web.Key, "claude")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]usage.Run{want}, got); diff != "" {
		t.Error(diff)
	}
	if others, err := h.Runs(web.Key, "codex"); err != nil || len(others) != 0 {
		t.Errorf("codex has %d runs, %v", len(others), err)
	}
	if kinds := w.kinds(); kinds != nil {
		t.Errorf("warnings %v", kinds)
	}
	if runtime.GOOS != "windows" {
		checkModes(t, h.Directory())
	}
}

func checkModes(t *testing.T, directory string) {
	t.Helper()
	status, err := os.Stat(directory)
	if err != nil || status.Mode().Perm() != 0o700 {
		t.Errorf("%s is %v, %v; want 0700", directory, status.Mode().Perm(), err)
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if status, err := e.Info(); err != nil || status.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v, %v; want 0600", e.Name(), status.Mode().Perm(), err)
		}
	}
}

func TestEightProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	const processes, records = 8, 50
	state := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for i := range processes {
		writers.Go(func() {
			c := exec.CommandContext(t.Context(), self)
			c.Env = append(os.Environ(), fmt.Sprintf("%s=%s|writer%d|%d", writerEnv, state, i, records))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("writer %d: %v: %s", i, err, out)
			}
		})
	}
	writers.Wait()
	w := &warnings{}
	h := usage.Open(state, usage.Options{Warn: w.add})
	list, err := h.Project(web.Key)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d summaries, %v", len(list), err)
	}
	if s := list[0]; s.Recorded != processes*records || len(s.Runs) != usage.KeptRuns {
		t.Errorf("recorded %d, kept %d; want %d and %d", s.Recorded, len(s.Runs), processes*records, usage.KeptRuns)
	}
	// Each writer's own records are in its order.
	last := map[string]limit.Bytes{}
	for _, r := range list[0].Runs {
		if r.Peak <= last[r.Method] {
			t.Fatalf("%s: %d after %d", r.Method, r.Peak, last[r.Method])
		}
		last[r.Method] = r.Peak
	}
	if kinds := w.kinds(); kinds != nil {
		t.Errorf("warnings %v", kinds)
	}
	left, err := filepath.Glob(filepath.Join(h.Directory(), "*.tmp-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files %v are left, %v", left, err)
	}
}

func TestOnlyTheNewestAreKeptInTheOrderOfAppending(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range usage.KeptRuns + 5 {
		at := now.Add(time.Duration(i) * time.Minute)
		switch i % 3 { // a clock that jumps a year back and ten ahead
		case 1:
			at = at.AddDate(-1, 0, 0)
		case 2:
			at = at.AddDate(10, 0, 0)
		}
		mustAppend(t, h, web, "claude", usage.Run{Time: at, Peak: limit.Bytes(i + 1), Outcome: journal.OutcomeOK, OOMKills: 1})
	}
	for name, read := range map[string]func() ([]usage.Run, error){
		"Runs":     func() ([]usage.Run, error) { return h.Runs(web.Key, "claude") },
		"ToolRuns": func() ([]usage.Run, error) { return h.ToolRuns("claude") },
	} {
		runs, err := read()
		if err != nil || len(runs) != usage.KeptRuns {
			t.Fatalf("%s: %d runs, %v", name, len(runs), err)
		}
		for i, r := range runs {
			if want := limit.Bytes(i + 6); r.Peak != want {
				t.Fatalf("%s: runs[%d] is number %d, want %d", name, i, r.Peak, want)
			}
		}
	}
	list, err := h.Project(web.Key)
	if err != nil || list[0].Recorded != usage.KeptRuns+5 || list[0].OOMKills != usage.KeptRuns+5 {
		t.Errorf("the counters forget: %d recorded, %d kills, %v", list[0].Recorded, list[0].OOMKills, err)
	}
}

func TestToolRunsMergeProjectsByTime(t *testing.T) {
	t.Parallel()
	h, _ := open(t)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	api := usage.Project{Key: "api-2", Path: "/src/api"}
	for i := range 6 {
		p := web
		if i%2 == 1 {
			p = api
		}
		mustAppend(t, h, p, "claude", usage.Run{Time: start.Add(time.Duration(i) * time.Hour), Peak: limit.Bytes(i + 1)})
	}
	runs, err := h.ToolRuns("claude")
	if err != nil {
		t.Fatal(err)
	}
	var peaks []limit.Bytes
	for _, r := range runs {
		peaks = append(peaks, r.Peak)
	}
	if diff := cmp.Diff([]limit.Bytes{1, 2, 3, 4, 5, 6}, peaks); diff != "" {
		t.Error(diff)
	}
	var listed []string
	for s, err := range h.Summaries() {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, fmt.Sprintf("%s %s %d %s", s.Project.Key, s.Tool, s.Recorded, s.Project.Path))
	}
	if diff := cmp.Diff([]string{"api-2 claude 3 /src/api", "web-1f3a claude 3 /src/web"}, listed); diff != "" {
		t.Error(diff)
	}
}

func TestAStuckWriterHangsNobody(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	mustAppend(t, usage.Open(state, usage.Options{}), web, "claude", usage.Run{Peak: 7})
	h := usage.Open(state, usage.Options{LockWait: 20 * time.Millisecond})
	stuck, err := filelock.Open(t.Context(), filepath.Join(h.Directory(), web.Key+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	err = h.Append(web, "claude", usage.Run{Peak: 1})
	if off, ok := errors.AsType[*usage.OffError](err); !ok || off.Reason != usage.OffLocked {
		t.Errorf("got %v, want OffLocked", err)
	}
	if runs, err := h.Runs(web.Key, "claude"); err != nil || len(runs) != 1 || runs[0].Peak != 7 {
		t.Errorf("reading beside a stuck writer: %v, %v", runs, err)
	}
}

func TestAStateDirectoryThatCannotBeWrittenTurnsHistoryOff(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := usage.Open(file, usage.Options{}) // a file where the directory should be: fails for root, too
	err := h.Append(web, "claude", usage.Run{Peak: 1})
	if _, ok := errors.AsType[*usage.OffError](err); !ok || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an OffError that names %s", err, file)
	}
	if os.Getuid() == 0 {
		return // root writes everywhere
	}
	state := t.TempDir()
	if err := os.Chmod(state, 0o500); err != nil {
		t.Fatal(err)
	}
	err = usage.Open(state, usage.Options{}).Append(web, "claude", usage.Run{Peak: 1})
	if off, ok := errors.AsType[*usage.OffError](err); !ok || off.Reason != usage.OffReadOnly {
		t.Errorf("got %v, want OffReadOnly", err)
	}
}

func TestWithoutHistoryThereIsNoError(t *testing.T) {
	t.Parallel()
	h := usage.Open(filepath.Join(t.TempDir(), "never", "made"), usage.Options{})
	if runs, err := h.Runs(web.Key, "claude"); err != nil || runs != nil {
		t.Errorf("Runs: %v, %v", runs, err)
	}
	if runs, err := h.ToolRuns("claude"); err != nil || runs != nil {
		t.Errorf("ToolRuns: %v, %v", runs, err)
	}
	for s, err := range h.Summaries() {
		t.Errorf("Summaries: %v, %v", s, err)
	}
}
