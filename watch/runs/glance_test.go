package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

	live, err := Look(dir, "aaaa1111")
	if err != nil {
		t.Fatal(err)
	}
	if live.Outcome != Running || live.Compactions != 1 || live.Kills != 1 || live.Sample.Working != 7<<20 || live.WindowTokens != 99_000 || live.WindowLimit != 200_000 || live.Damaged != 0 {
		t.Errorf("of the run that lives: %+v", live)
	}
	if err := w.End(reporter.Report()); err != nil {
		t.Fatal(err)
	}
	g, err := Look(dir, "aaaa1111")
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
	if g.Compactions != len(r.Compactions) || g.Kills != len(r.Kills) || g.Sample != r.Now() {
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
		if _, err := Look(dir, id); err == nil {
			t.Errorf("%q: there is a run", id)
		}
	}
	missing("aaaa1111") // no store
	day := filepath.Join(dir, Dir, "2026-11-24")
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Look(dir, "aaaa1111")
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
	g, err := Look(dir, "aaaa1111")
	if err != nil {
		t.Fatal(err)
	}
	if g.Outcome != Died || g.Damaged != 2 || g.WindowTokens != 0 || g.Kills != 1 || g.Compactions != 1 {
		t.Errorf("%+v", g)
	}
}

func FuzzGlance(f *testing.F) {
	header, _ := json.Marshal(Header{Schema: 1, ID: "a", Kind: KindRun, Started: time.Unix(1, 0)})
	f.Add([]byte(`{"header":` + string(header) + "}\n" + `{"seq":1,"time":"2026-11-24T00:00:00Z","kind":"window.request","event":{"tokens":5,"limit_tokens":9}}` + "\n"))
	f.Add([]byte(`{"sample":{"working_bytes":1}}` + "\n" + `{"seq":2,"time":"2026-11-24T00:00:00Z","kind":"process.child_killed","event":{"bytes":-1}}` + "\n{\"end\":{}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g := glancer{run: newRun()}
		if err := g.read(bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		g.run.settle()
		out := g.glance()
		if lines := bytes.Count(text, []byte{'\n'}); out.Damaged > 3*lines+glanceRequests {
			t.Errorf("%d damaged of %d lines", out.Damaged, lines)
		}
		for line := range bytes.Lines(text) {
			if kind := kindOf(line); kind != "" && !bytes.Contains(line, []byte(kind)) {
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
