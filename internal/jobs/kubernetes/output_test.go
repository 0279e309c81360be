package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
)

// entries of a log, with the times at which they were written: some in the same instant, some out of order, one without an end.
var entries = []struct{ at, text string }{
	{"10:00:00.000000001", "first\n"},
	{"10:00:00.000000001", "same instant\n"},
	{"10:00:00.000000001", "same instant\n"},
	{"10:00:01.500000000", "\n"},
	{"10:00:01.400000000", "late, of the other stream\n"},
	{"10:00:03.100000000", strings.Repeat("long ", 40) + "\n"},
	{"10:00:03.100000000", "{\"json\": \"2026-11-29T10:00:00Z \"}\n"},
	{"10:00:09.000000000", "no end"},
}

// logSince is the log as a kubelet sends it, from a second on.
func logSince(since string) (text, plain string) {
	var from time.Time
	if since != "" {
		from, _ = time.Parse(time.RFC3339, since)
	}
	for _, e := range entries {
		stamp := "2026-11-29T" + e.at + "Z"
		at, _ := time.Parse(time.RFC3339Nano, stamp)
		if !at.Before(from) {
			text += stamp + " " + e.text
		}
		plain += e.text
	}
	return text, plain
}

type cut struct{ io.Reader }

func (c cut) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Wherever a log is cut, twice even, what arrives is the log: no line twice, none left out.
func TestLogIsWholeAfterCuts(t *testing.T) {
	all, want := logSince("")
	for first := 0; first <= len(all); first++ {
		for _, second := range []int{0, 1, 40, 150, 300} {
			var got bytes.Buffer
			l := &follower{out: &got, copied: map[int64]int{}}
			for _, n := range []int{first, second, len(all)} {
				text, _ := logSince(l.query().Get("sinceTime"))
				stream := io.Reader(strings.NewReader(text))
				if n < len(text) {
					stream = cut{strings.NewReader(text[:n])}
				}
				broken, err := l.copyLines(stream)
				if err != nil || broken != (n < len(text)) {
					t.Fatalf("cut at %d: broken %v, %v", n, broken, err)
				}
			}
			if got.String() != want {
				t.Fatalf("cut at %d and %d:\n%q\nwant\n%q", first, second, got.String(), want)
			}
		}
	}
}

func TestLongLineIsCopiedInPieces(t *testing.T) {
	long := strings.Repeat("x", 3*maxPiece)
	text := "2026-11-29T10:00:00Z " + long + "\n2026-11-29T10:00:01Z next\n"
	for _, n := range []int{maxPiece, 2*maxPiece + 5, 3*maxPiece + 21} {
		var got bytes.Buffer
		l := &follower{out: &got, copied: map[int64]int{}}
		_, _ = l.copyLines(cut{strings.NewReader(text[:n])})
		if held := n - got.Len(); held > maxPiece {
			t.Errorf("%d bytes are held", held)
		}
		_, _ = l.copyLines(strings.NewReader(text))
		if got.String() != long+"\nnext\n" {
			t.Errorf("cut at %d: %d bytes", n, got.Len())
		}
	}
}

// However many lines come, what is remembered of them is bounded, and still enough to go on after a cut.
func TestTimesOfALongLogAreForgotten(t *testing.T) {
	var text, got strings.Builder
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	for n := range 3 * maxMoments {
		fmt.Fprintf(&text, "%s %d\n", at.Add(time.Duration(n)*time.Millisecond).Format(time.RFC3339Nano), n)
	}
	l := &follower{out: &got, copied: map[int64]int{}}
	if broken, err := l.copyLines(strings.NewReader(text.String())); broken || err != nil || len(l.copied) > maxMoments+1 {
		t.Errorf("%v, %v, %d times are kept", broken, err, len(l.copied))
	}
	since, _ := time.Parse(time.RFC3339, l.query().Get("sinceTime"))
	again := text.String()[strings.Index(text.String(), since.Format(time.RFC3339Nano)):]
	before := got.Len()
	if _, err := l.copyLines(strings.NewReader(again + "2026-11-29T10:01:00Z more\n")); err != nil || got.String()[before:] != "more\n" {
		t.Errorf("%v, and %.200q came again", err, got.String()[before:])
	}
}

// The whole way: a job that waits, starts, has its connection cut and its API fail in between, and ends.
func TestOutput(t *testing.T) {
	running := podIn("n1", `{"phase": "Running", "containerStatuses": [{"name": "agent", "state": {"running": {}}}]}`)
	text, want := logSince("")
	a := &api{}
	e := start(t, a, images())
	at, err := e.Submit(t.Context(), newJob("true"))
	if err != nil {
		t.Fatal(err)
	}
	ref := jobs.Ref{ID: "claude-1", At: at}
	var logs, fails atomic.Int64
	a.log = func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("container") != "agent" || q.Get("follow") != "true" || q.Get("timestamps") != "true" {
			t.Errorf("asked for %v", q)
		}
		more, _ := logSince(r.URL.Query().Get("sinceTime"))
		switch logs.Add(1) {
		case 1: // a cut in the middle of a line
			_, _ = io.WriteString(w, text[:130])
			_ = http.NewResponseController(w).Flush()
			fails.Store(8)
			panic(http.ErrAbortHandler)
		case 2:
			refuse(w, 400, "container is waiting to start")
			a.set("pods", parsed(t, endedAs("Succeeded", "0", "Completed", `""`)))
		default:
			_, _ = io.WriteString(w, more)
		}
	}
	a.before = func(w http.ResponseWriter, r *http.Request) bool {
		if fails.Add(-1) >= 0 {
			refuse(w, 503, "apiserver is shutting down")
			return true
		}
		return false
	}
	out, done := &bytes.Buffer{}, make(chan error, 1)
	fails.Store(-1 << 40)
	go func() { done <- e.Output(t.Context(), ref, out, io.Discard) }()
	a.set("pods", parsed(t, podIn("n1", `{"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}`)))
	a.set("pods", parsed(t, running))
	if err := <-done; err != nil || out.String() != want {
		t.Errorf("%v, %q\nwant %q", err, out.String(), want)
	}
}

func TestOutputOfAJobThatGoes(t *testing.T) {
	a := &api{}
	e := start(t, a, images())
	at, err := e.Submit(t.Context(), newJob("true"))
	if err != nil {
		t.Fatal(err)
	}
	ref := jobs.Ref{ID: "claude-1", At: at}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Output(ctx, ref, io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	a.set("jobs")
	if err := e.Output(t.Context(), ref, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "job claude-1 is gone from namespace agents") {
		t.Errorf("%v", err)
	}
	// One that never had a pod has no output.
	a.set("jobs", parsed(t, strings.ReplaceAll(jobIn(`{}`, `{"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]}`), `"J"`, `"uid-of-claude-1"`)))
	if err := e.Output(t.Context(), ref, io.Discard, io.Discard); err != nil {
		t.Errorf("%v", err)
	}
	// An API that stays away is given up, in the end.
	tries := 0
	e.pause = func(context.Context, time.Duration) error { tries++; return nil }
	for code, want := range map[int]int{403: 0, 503: maxFailures} {
		tries = 0
		a.before = func(w http.ResponseWriter, _ *http.Request) bool { refuse(w, code, "no"); return true }
		if err := e.Output(t.Context(), ref, io.Discard, io.Discard); err == nil || tries != want {
			t.Errorf("%v after %d tries", err, tries)
		}
	}
}

// A pod that comes and ends between two looks has its output shown.
func TestOutputOfAPodThatWasQuick(t *testing.T) {
	for quick := range 4 {
		a := &api{}
		e := start(t, a, images())
		at, err := e.Submit(t.Context(), newJob("true"))
		if err != nil {
			t.Fatal(err)
		}
		a.log = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "2026-11-29T10:00:00Z x") }
		for range 20 { // something always changes
			a.changes <- struct{}{}
		}
		looks := 0
		a.before = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/pods") && r.URL.Query().Get("watch") == "" {
				if looks++; looks == quick+1 {
					a.serve(w, r)
					a.set("pods", parsed(t, endedAs("Succeeded", "0", "Completed", `""`)))
					return true
				}
			}
			return false
		}
		var out bytes.Buffer
		if err := e.Output(t.Context(), jobs.Ref{ID: "claude-1", At: at}, &out, io.Discard); err != nil || out.String() != "x\n" {
			t.Errorf("after %d looks: %v, %q", quick, err, out.String())
		}
	}
}

// A writer that fails, as a terminal that has gone, ends it.
func TestOutputStopsWithItsWriter(t *testing.T) {
	a := &api{}
	e := start(t, a, images())
	at, err := e.Submit(t.Context(), newJob("true"))
	if err != nil {
		t.Fatal(err)
	}
	a.put("pods", parsed(t, endedAs("Succeeded", "0", "Completed", `""`)))
	a.log = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "2026-11-29T10:00:00Z x") }
	if err := e.Output(t.Context(), jobs.Ref{ID: "claude-1", At: at}, failing{}, io.Discard); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func FuzzLog(f *testing.F) {
	text, _ := logSince("")
	f.Add([]byte(text), 30)
	f.Add([]byte("2026-11-29T10:00:00Z\n\n x\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		l := &follower{out: io.Discard, copied: map[int64]int{}}
		_, _ = l.copyLines(cut{bytes.NewReader(text[:max(0, min(n, len(text)))])})
		if _, err := l.copyLines(bytes.NewReader(text)); err != nil {
			t.Error(err)
		}
	})
}
