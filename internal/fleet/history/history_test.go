package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/history"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// writerEnv makes the test binary a process that keeps and delivers: URL, state directory, its name, the number of its runs.
const writerEnv = "PLIMSOLL_FLEET_TEST_WRITER"

func TestMain(m *testing.M) {
	if job := os.Getenv(writerEnv); job != "" {
		if err := write(strings.Split(job, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func write(job []string) error {
	var n int
	if _, err := fmt.Sscan(job[3], &n); err != nil {
		return err
	}
	f := fleet.New(fleet.Options{URL: job[0]})
	defer f.Close()
	h := history.New(f, job[1])
	for i := range n {
		if err := h.Keep(observed(job[2], i)); err != nil {
			return err
		}
	}
	_, err := h.Deliver(ctx())
	return err
}

// ctx returns a context for what has its own deadlines, also where there is no test.
func ctx() context.Context { return context.Background() }

// observed returns the i-th run of a host, of one of ten tools.
func observed(host string, i int) usage.Observation {
	return usage.Observation{Project: "g1", Tool: fmt.Sprintf("tool%d", i%10), Run: usage.Run{
		ID: fmt.Sprintf("%s/%d", host, i), Time: time.Now(), Peak: limit.Bytes(1000+i) * limit.MiB, PeakAnon: 990 * limit.MiB, Exact: true,
		Method: usage.MethodMemoryPeak, Outcome: journal.OutcomeOK, Duration: time.Minute,
	}}
}

func open(t *testing.T, url string) *history.History {
	t.Helper()
	f := fleet.New(fleet.Options{URL: url})
	t.Cleanup(f.Close)
	return history.New(f, t.TempDir())
}

// delivered counts how often each observation was written at a server, by its ID and key: also those that newer ones have replaced.
func delivered(t *testing.T, url string) (times map[string]int, written uint64) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "KV_plimsoll_history")
	if err != nil {
		t.Fatal(err)
	}
	info := stream.CachedInfo()
	times = map[string]int{}
	c, err := stream.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer all.Stop()
	for range info.State.Msgs {
		m, err := all.Next()
		if err != nil {
			t.Fatal(err)
		}
		var value struct{ Run struct{ ID string } }
		if err := json.Unmarshal(m.Data(), &value); err != nil {
			t.Fatal(err)
		}
		times[m.Subject()+" "+value.Run.ID]++
	}
	return times, info.State.LastSeq
}

func once(t *testing.T, times map[string]int, want int) {
	t.Helper()
	for what, n := range times {
		if n != 1 {
			t.Errorf("%s is there %d times", what, n)
		}
	}
	if len(times) != want {
		t.Errorf("%d values, want %d", len(times), want)
	}
}

// Fifty processes of two hosts write at once, and nothing is lost or there twice.
func TestFiftyWriters(t *testing.T) {
	s := natsserver.Start(t)
	states := []string{t.TempDir(), t.TempDir()}
	const writers, each = 50, 4
	var all []*exec.Cmd
	for i := range writers {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|h%d|%d", writerEnv, s.URL, states[i%2], i, each))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	for _, state := range states {
		f := fleet.New(fleet.Options{URL: s.URL})
		defer f.Close()
		h := history.New(f, state)
		if left, err := h.Deliver(ctx()); err != nil || left != 0 {
			t.Errorf("%d left, %v", left, err)
		}
		if n, dropped, path, err := h.Waiting(); n != 0 || dropped != 0 || err != nil {
			t.Errorf("%s: %d wait, %d dropped, %v", path, n, dropped, err)
		}
	}
	times, written := delivered(t, s.URL)
	once(t, times, 2*writers*each)
	if written != 2*writers*each {
		t.Errorf("%d were written", written)
	}
}

// With the fleet away at most so many observations are kept, those that make room are counted, and each is delivered once.
func TestAway(t *testing.T) {
	s := natsserver.Start(t)
	h := open(t, s.URL)
	s.Kill()
	const n = history.MaxKept + 300
	for i := range n {
		o := observed("h", i)
		o.Tool = fmt.Sprintf("tool%d", i%400) // else newer values replace them at the server
		if err := h.Keep(o); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := h.Deliver(ctx()); !errors.Is(err, fleet.ErrAway) || left == 0 {
		t.Errorf("%d left, %v", left, err)
	}
	waiting, dropped, path, err := h.Waiting()
	if err != nil || waiting > history.MaxKept || waiting+dropped != n || dropped < 300 {
		t.Fatalf("%d wait, %d dropped, %v", waiting, dropped, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Error(info, err)
	}
	s.Start()
	f := fleet.New(fleet.Options{URL: s.URL})
	defer f.Close()
	back := history.New(f, filepath.Dir(filepath.Dir(path)))
	if left, err := back.Deliver(ctx()); err != nil || left != 0 {
		t.Errorf("%d left, %v", left, err)
	}
	if n, dropped, _, err := back.Waiting(); n != 0 || dropped != 0 || err != nil {
		t.Error(n, dropped, err)
	}
	times, written := delivered(t, s.URL)
	once(t, times, 2*waiting)
	if written != uint64(2*waiting) {
		t.Errorf("%d were written, want %d", written, 2*waiting)
	}
	for i := range dropped {
		if o := observed("h", i); times["$KV.plimsoll_history.t."+fmt.Sprintf("tool%d", i%400)+".= "+o.Run.ID] != 0 {
			t.Errorf("%s should have made room", o.Run.ID)
		}
	}
}

// A process that is killed while it delivers loses nothing, and the next one delivers nothing twice.
func TestKilledInMidDelivery(t *testing.T) {
	s := natsserver.Start(t)
	f := fleet.New(fleet.Options{URL: s.URL})
	defer f.Close()
	state := t.TempDir()
	h := history.New(f, state)
	const n = 6000
	for i := range n {
		o := observed("h", i)
		o.Tool = fmt.Sprintf("tool%d", i%100)
		if err := h.Keep(o); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Read(ctx(), "g1", "tool0", ""); err != nil { // makes the bucket
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|h|0", writerEnv, s.URL, state))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	bucket := f.Bucket(fleet.History)
	wait.Until(t, "it delivers", func() bool {
		status, err := bucket.Status(ctx())
		return err == nil && status.Values > 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if left, _, path, err := h.Waiting(); err != nil || left == 0 {
		t.Fatalf("it was done already: %d, %v", left, err)
	} else if f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err != nil { // and another one was killed while it wrote
		t.Error(err)
	} else {
		_, _ = f.WriteString("\n" + `{"project":"g1","tool":"to`)
		_ = f.Close()
	}
	late := observed("h", n)
	late.Tool = "late"
	if err := h.Keep(late); err != nil {
		t.Fatal(err)
	}
	if left, err := h.Deliver(ctx()); err != nil || left != 0 {
		t.Fatalf("%d left, %v", left, err)
	}
	times, written := delivered(t, s.URL)
	once(t, times, 2*(n+1))
	if written != 2*(n+1) {
		t.Errorf("%d were written, want %d", written, 2*(n+1))
	}
}

// What another host can't have written in earnest is left out and counted, and what is there twice counts once.
func TestRead(t *testing.T) {
	s := natsserver.Start(t)
	h := open(t, s.URL)
	mine, elsewhere, other := observed("a", 0), observed("b", 10), observed("b", 20)
	elsewhere.Project, other.Run.Variant = "g2", "test"
	for _, o := range []usage.Observation{mine, elsewhere, other} {
		if err := h.Keep(o); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Deliver(ctx()); err != nil {
		t.Fatal(err)
	}
	f := fleet.New(fleet.Options{URL: s.URL})
	defer f.Close()
	put := func(text []byte) {
		if _, err := f.Bucket(fleet.History).Put(ctx(), fleet.Key("p", "g1", "tool0", ""), text); err != nil {
			t.Fatal(err)
		}
	}
	line, _ := mine.Encode()
	put(line) // once more, after the server's own window
	late := mine
	late.Run.ID, late.Run.Time = "a/late", time.Now().AddDate(1, 0, 0)
	foreign := mine
	foreign.Run.ID, foreign.Project = "a/foreign", "g9"
	for _, o := range []usage.Observation{late, foreign} {
		line, err := o.Encode()
		if err != nil {
			t.Fatal(err)
		}
		put(line)
	}
	put([]byte(strings.Replace(string(line), `"peak":`, `"peak":-`, 1)))
	put([]byte("\x00"))
	seen, err := h.Read(ctx(), "g1", "tool0", "")
	if err != nil || len(seen.Project) != 1 || seen.Project[0].ID != "a/0" || seen.LeftOut != 4 {
		t.Errorf("%+v, %v", seen, err)
	}
	if len(seen.All) != 2 || seen.All[1].ID != "b/10" {
		t.Errorf("%+v", seen.All)
	}
	if seen, err := h.Read(ctx(), "g1", "tool0", "test"); err != nil || len(seen.Project) != 1 || seen.Project[0].Variant != "test" || seen.LeftOut != 0 {
		t.Errorf("%+v, %v", seen, err)
	}
}

func TestTells(t *testing.T) {
	ok := usage.Run{Outcome: journal.OutcomeOK, Peak: 40 * limit.MiB, PeakAnon: 40 * limit.MiB, Exact: true, Duration: time.Minute}
	for name, c := range map[string]struct {
		change func(*usage.Run)
		want   bool
	}{
		"a run":                       {func(*usage.Run) {}, true},
		"a question for a version":    {func(r *usage.Run) { r.Duration = time.Second }, false},
		"a short one that needs":      {func(r *usage.Run) { r.Duration, r.Peak, r.PeakAnon = time.Second, limit.GiB, limit.GiB }, true},
		"a short one that was killed": {func(r *usage.Run) { r.Duration, r.OOMKills = time.Second, 1 }, true},
		"a short one that spent":      {func(r *usage.Run) { r.Duration, r.Tokens = time.Second, 9 }, true},
		"one that was refused":        {func(r *usage.Run) { r.Outcome = journal.OutcomeRefused }, false},
		"one that was not measured":   {func(r *usage.Run) { r.Peak, r.PeakAnon = 0, 0 }, false},
	} {
		r := ok
		c.change(&r)
		if got := history.IsUseful(r); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if a, b := history.RunID("x1"), history.RunID("x2"); a == b || a != history.RunID("x1") {
		t.Error(a, b)
	}
}
