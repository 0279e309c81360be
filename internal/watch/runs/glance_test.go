package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// TestAGlanceIsWhatTheWholeRunSays holds a glance against the fold of every line.
func TestAGlanceIsWhatTheWholeRunSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, j, reporter := begin(dir, "aaaa1111")
	play(j, 40)
	j.Append(journal.WindowRequest{Model: "m", Tokens: 99_000, LimitTokens: 200_000})
	j.Append(journal.WindowRequest{Model: "a title", Tokens: 300, LimitTokens: 200_000})
	w.Sample(Sample{Working: 7 << 20, Charged: 9 << 20})
	w.flush()

	live, err := ReadGlance(dir, "aaaa1111")
	if err != nil {
		t.Fatal(err)
	}
	if live.Outcome != Running || live.Compactions != 1 || live.Kills != 1 || live.Sample.Working != 7<<20 || live.WindowTokens != 99_000 || live.WindowLimit != 200_000 || live.Damaged != 0 {
		t.Errorf("of the run that lives: %+v", live)
	}
	if err := w.End(reporter.Report()); err != nil {
		t.Fatal(err)
	}
	g, err := ReadGlance(dir, "aaaa1111")
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(t, dir).Run("aaaa1111")
	if err != nil {
		t.Fatal(err)
	}
	r.Observed, g.Observed, r.Bytes, g.Bytes = Observed{}, Observed{}, 0, 0 // a glance has none of these
	r.Window.PeakTokens, g.Window.PeakTokens = 0, 0
	if marshal(t, g.Entry) != marshal(t, r.Entry) {
		t.Errorf("the glance is\n%s, the run\n%s", marshal(t, g.Entry), marshal(t, r.Entry))
	}
	if g.Compactions != len(r.Compactions) || g.Kills != len(r.Kills) || g.Sample != r.NewestSample() {
		t.Errorf("%+v", g)
	}
	if e, ok := LastEnded(dir, "shop"); !ok || e.ID != "aaaa1111" {
		t.Errorf("the last of the project is %q, %v", e.ID, ok)
	}
	if e, ok := LastEnded(dir, "sho"); ok {
		t.Errorf("of a project without runs: %q", e.ID)
	}
}

func TestAGlanceAtWhatIsNoRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := func(id string) {
		t.Helper()
		if _, err := ReadGlance(dir, id); err == nil {
			t.Errorf("%q: there is a run", id)
		}
	}
	missing("aaaa1111") // no store
	day := filepath.Join(dir, Dir, "2026-11-24")
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := ReadGlance(dir, "aaaa1111")
	if _, unknown := errors.AsType[*UnknownError](err); !unknown {
		t.Errorf("of a run without a file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(day, "empty.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("empty.jsonl", filepath.Join(day, "link.jsonl")); err != nil {
		t.Skip(err)
	}
	missing("empty")
	missing("link")
	missing("../2026-11-24/empty")
	missing("")
}

// TestAGlanceDamaged puts in what a crash, a full disk or a newer version leaves.
func TestAGlanceDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, j, _ := begin(dir, "aaaa1111")
	play(j, 3)
	w.flush()
	name := filepath.Join(dir, Dir, w.day, "aaaa1111.jsonl")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, text := range []string{
		"{\"seq\":1,\"time\":\"x\",\"kind\":\"window.request\"}\n", "\n", "\x00\n", strings.Repeat("x", 2*glanceBuffer) + "\n",
		`{"seq":99,"time":"2026-11-24T00:00:00Z","kind":"plane.of_tomorrow","event":{"a":1}}` + "\n", `{"sample":{"at_ms":"`,
	} {
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	w.disk.Lock() // its writer is killed
	_ = w.file.Close()
	w.disk.Unlock()
	g, err := ReadGlance(dir, "aaaa1111")
	if err != nil {
		t.Fatal(err)
	}
	if g.Outcome != Died || g.Damaged != 2 || g.WindowTokens != 0 || g.Kills != 1 || g.Compactions != 1 {
		t.Errorf("%+v", g)
	}
}

// counting counts what is read of a file.
type counting struct {
	io.ReaderAt
	bytes int64
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.bytes += int64(n)
	return n, err
}

// glances are what the ends of a file tell and what the whole of it does, and how much was read for the first.
func glances(t *testing.T, text []byte) (ends, whole Glance, read int64) {
	t.Helper()
	of := func(fill func(*glancer) error) Glance {
		g := glancer{run: newRun()}
		if err := fill(&g); err != nil {
			t.Fatal(err)
		}
		g.run.recompute()
		out := g.finish()
		out.DurationMS, out.KilledChildren, out.OOMKills = 0, 0, 0 // until now, and of what was read
		return out
	}
	file := counting{ReaderAt: bytes.NewReader(text)}
	ends = of(func(g *glancer) error { return g.readEnds(&file, int64(len(text))) })
	whole = of(func(g *glancer) error { return g.readLines(bytes.NewReader(text)) })
	return ends, whole, file.bytes
}

// TestTheEndsOfAFileTellAll: whatever happened in a run and wherever it stands in the file, its ends tell what the whole file does, of
// which only as much is read as is needed.
func TestTheEndsOfAFileTellAll(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		dir := t.TempDir()
		w := Begin(Options{Dir: dir}, Header{ID: "aaaa1111", Kind: KindRun, Report: journal.Report{Tool: "claude", LimitBytes: 4 << 30}})
		j := journal.New(journal.Options{Observers: []journal.Observer{w}})
		if seed%7 > 0 {
			j.Append(journal.RunStarted{PID: 4711, LimitBytes: 4 << 30})
		}
		requests, rooms, kills, samples := r.IntN(40), r.IntN(3), r.IntN(3), r.IntN(20) // how often, of 1,000
		wantRooms, wantKills := 0, 0
		for range r.IntN(3000) {
			switch n := r.IntN(1000); {
			case n < rooms:
				wantRooms++
				j.Append(journal.WindowCompacted{Before: 160_000, After: 99_000})
			case n < 10+rooms && n < 10+kills:
				wantKills++
				j.Append(journal.ChildKilled{PID: n, Name: "jest", Bytes: 3 << 30, By: "kernel"})
			case n < 100+requests:
				j.Append(journal.WindowRequest{Model: "m", Tokens: int64(r.IntN(200_000)), LimitTokens: 200_000})
			case n < 150:
				j.Append([]journal.Event{journal.WindowResponse{Status: 200, Ended: "complete", EndsTurn: n%2 == 0}, journal.RunIdle{For: time.Minute}, journal.RunWoke{By: "input"}}[n%3])
			case n < 200+samples:
				w.mu.Lock()
				w.putSample(Sample{AtMS: int64(n), Working: int64(r.IntN(1 << 30))})
				w.mu.Unlock()
			default:
				j.Append(journal.Warned{About: "x", Text: strings.Repeat("y", r.IntN(200))})
			}
			if r.IntN(100) == 0 {
				w.flush()
			}
		}
		w.flush()
		if w.Dropped() > 0 {
			t.Fatalf("seed %d: %d lines found no room", seed, w.Dropped())
		}
		text, err := os.ReadFile(filepath.Join(dir, Dir, w.day, "aaaa1111.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, `{"sample":{"at_ms":9,"comp`[:r.IntN(20)]...) // what is being written
		ends, whole, _ := glances(t, text)
		if !reflect.DeepEqual(ends, whole) || whole.Compactions != wantRooms || whole.Kills != wantKills {
			t.Errorf("seed %d, %d bytes, room was made %d times and %d were killed: the ends tell\n%+v, the whole\n%+v", seed, len(text), wantRooms, wantKills, ends, whole)
		}
	}
}

// A full file is not read whole, and samples come to the end of it.
func TestAFullFileIsReadAtItsEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, j, _ := begin(dir, "aaaa1111")
	j.Append(journal.RunStarted{PID: 4711, LimitBytes: 4 << 30})
	for i := range 20_000 {
		j.Append(journal.WindowRequest{Upstream: "anthropic", Dialect: "anthropic.messages", Model: "claude-opus-5-5-20261001", Tokens: int64(i), LimitTokens: 200_000, Overhead: time.Millisecond})
		if i%1000 == 0 {
			j.Append(journal.WindowCompacted{Before: 160_000, After: 99_000})
		}
		if i%100 == 0 {
			w.flush()
		}
	}
	for range MaxSamples {
		w.mu.Lock()
		w.putSample(Sample{AtMS: 86_400_000, Working: 7 << 30, Charged: 7 << 30, CPUMS: 86_400_000, Processes: 100, WindowTokens: 150_000, WindowLimit: 200_000, DiskBytes: 1 << 40, IdleMS: 86_400_000})
		w.mu.Unlock()
		w.flush()
	}
	text, err := os.ReadFile(filepath.Join(dir, Dir, w.day, "aaaa1111.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	ends, whole, read := glances(t, text)
	if !reflect.DeepEqual(ends, whole) {
		t.Errorf("the ends tell\n%+v, the whole\n%+v", ends, whole)
	}
	if samples := bytes.Count(text, sampleStart); samples != MaxSamples {
		t.Errorf("%d samples found room", samples)
	}
	if ends.Compactions != 20 || len(text) < MaxFile-2*reserved {
		t.Errorf("%d bytes, %+v", len(text), ends)
	}
	// The requests stand before all samples here, which is as far from the end as they get.
	if read >= int64(len(text)) {
		t.Errorf("%d of %d bytes were read", read, len(text))
	}
	j.Append(journal.WindowCompacted{Before: 160_000, After: 99_000})
	w.flush()
	if text, err = os.ReadFile(filepath.Join(dir, Dir, w.day, "aaaa1111.jsonl")); err != nil {
		t.Fatal(err)
	}
	if ends, whole, read = glances(t, text); !reflect.DeepEqual(ends, whole) || ends.Compactions != 21 || read > 4*glancePart {
		t.Errorf("%d of %d bytes were read; the ends tell\n%+v, the whole\n%+v", read, len(text), ends, whole)
	}
}

func FuzzGlance(f *testing.F) {
	header, _ := json.Marshal(Header{Schema: 1, ID: "a", Kind: KindRun, Started: time.Unix(1, 0)})
	f.Add([]byte(`{"header":` + string(header) + "}\n" + `{"seq":1,"time":"2026-11-24T00:00:00Z","kind":"window.request","event":{"tokens":5,"limit_tokens":9}}` + "\n"))
	f.Add([]byte(`{"sample":{"working_bytes":1}}` + "\n" + `{"seq":2,"time":"2026-11-24T00:00:00Z","kind":"process.child_killed","event":{"bytes":-1}}` + "\n{\"end\":{}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g := glancer{run: newRun()}
		if err := g.readLines(bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		g.run.recompute()
		out := g.finish()
		if lines := bytes.Count(text, []byte{'\n'}); out.Damaged > 3*lines+glanceRequests {
			t.Errorf("%d damaged of %d lines", out.Damaged, lines)
		}
		ends, _, _ := glances(t, text)
		if lines := bytes.Count(text, []byte{'\n'}); ends.Damaged > 3*lines+glanceRequests {
			t.Errorf("%d damaged of %d lines", ends.Damaged, lines)
		}
		for line := range bytes.Lines(text) {
			if kind := recordKind(line); kind != "" && !bytes.Contains(line, []byte(kind)) {
				t.Errorf("kind %q of %q", kind, line)
			}
		}
	})
}

// The end of the list is read part by part: no line between two parts is lost, whatever its length, and what is too long hides no other.
func TestTheLastRunOfAProjectWhereverItStands(t *testing.T) {
	t.Parallel()
	line := func(id, project string, padding int) string {
		return fmt.Sprintf(`{"id":%q,"kind":"run","tool":%q,"project":%q,"started":"2026-11-24T00:00:00Z","outcome":"ok","day":"2026-11-24"}`+"\n",
			id, strings.Repeat("t", padding), project)
	}
	for after := range 40 {
		var text strings.Builder
		text.WriteString(line("aaaa0001", "shop", 7*after))
		text.WriteString(line("aaaa0002", "shop", 16_000))
		for i := range after {
			text.WriteString(line(fmt.Sprintf("bbbb%04d", i), "other", 997*i%5000))
			if i == 7 {
				text.WriteString(strings.Repeat("x", 3*glanceChunk) + "\n")
			}
		}
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, Dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, Dir, indexName), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if e, ok := LastEnded(dir, "shop"); !ok || e.ID != "aaaa0002" {
			t.Errorf("%d lines after it: %q, %v", after, e.ID, ok)
		}
		if e, ok := LastEnded(dir, "none"); ok {
			t.Errorf("%d lines after it, of a project without a run: %q", after, e.ID)
		}
	}
}
