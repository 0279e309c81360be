package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

func TestAnswersGoToTheirRequests(t *testing.T) {
	s, said := child(t, "plain", nil)
	for i := range 50 {
		id := fmt.Sprintf("%d", 9007199254740993+i) // beyond 2^53: an id stays as it is written
		r := ask(t, s, id, "echo")
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"method":"echo"}}`, id); r.err != nil || r.last() != want {
			t.Fatalf("%q, %v, want %q", r.last(), r.err, want)
		}
	}
	for method, what := range map[string]string{"twice": "second_answer", "foreign": "unknown_id", "text": "text"} {
		if r := ask(t, s, `"a"`, method); r.err != nil || len(r.all()) != 1 {
			t.Errorf("%s: %q, %v, want its one answer", method, r.all(), r.err)
		}
		ask(t, s, `"b"`, "echo") // behind the noise
		s.noise.flush()
		if said.noise(what) == 0 {
			t.Errorf("%s: no event %q", method, what)
		}
	}
}

func TestRequestsInFlightTogetherAndAnIDTwice(t *testing.T) {
	s, _ := child(t, "plain", nil)
	first := newReceiver()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.Send(ctx, request(t, "1", "never"), first)
	if r := ask(t, s, "1", "echo"); !strings.Contains(r.last(), "id of its own") {
		t.Errorf("a second request with the id 1 got %q", r.last())
	}
	if r := ask(t, s, "2", "echo"); r.err != nil || !strings.Contains(r.last(), `"id":2`) {
		t.Errorf("%q, %v", r.last(), r.err)
	}
}

func TestTakenBackRequestIsCancelledUpstream(t *testing.T) {
	s, said := child(t, "answers late", nil)
	ctx, cancel := context.WithCancel(t.Context())
	r := newReceiver()
	s.Send(ctx, request(t, `"x"`, "never"), r)
	said.await(t, `never "x"`)
	cancel()
	if r.wait(t); !errors.Is(r.err, context.Canceled) {
		t.Errorf("Done(%v), want the end of the context", r.err)
	}
	said.await(t, `notified notifications/cancelled {"requestId":"x"`)
	ask(t, s, "2", "echo") // the late answer is before this one's
	s.noise.flush()
	if n := said.noise("unknown_id") + said.noise("second_answer"); n != 0 || len(r.all()) != 0 {
		t.Errorf("the late answer was told: %d bytes of noise, frames %q", n, r.all())
	}
}

func TestClientsCancellationEndsItsRequest(t *testing.T) {
	s, said := child(t, "plain", nil)
	r, note := newReceiver(), newReceiver()
	s.Send(t.Context(), request(t, "5", "never"), r)
	said.await(t, "never 5")
	s.Send(t.Context(), message(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"no more"}}`), note)
	if r.wait(t); !errors.Is(r.err, ErrCancelled) {
		t.Errorf("Done(%v), want ErrCancelled", r.err)
	}
	if note.wait(t); note.err != nil {
		t.Errorf("the notification: %v", note.err)
	}
	said.await(t, `{"requestId":5,"reason":"no more"}`)
}

func TestServerThatNeverAnswersIsGivenItsTime(t *testing.T) {
	s, _ := child(t, "plain", func(o *StdioOptions) { o.Timeout = 50 * time.Millisecond })
	r := newReceiver()
	s.Send(t.Context(), request(t, "1", "never"), r)
	if _, ok := errors.AsType[*TimeoutError](r.wait(t).err); !ok {
		t.Errorf("Done(%v), want a TimeoutError", r.err)
	}
	if !strings.Contains(r.err.Error(), "test") || !strings.Contains(r.err.Error(), "never") {
		t.Errorf("%q does not name the server and the method", r.err)
	}
}

func TestDeathIsToldAndNothingIsRepeated(t *testing.T) {
	for _, test := range []struct{ method, reason, words string }{
		{"die", "exit status 7", "panic: out of ideas"},
		{"kill", "ended by signal: killed", ""},
		{"die mid-frame", "exit status 7", ""},
		{"die early in the frame", "exit status 7", ""},
	} {
		t.Run(test.method, func(t *testing.T) {
			s, said := child(t, "plain", nil)
			waiting := newReceiver()
			s.Send(t.Context(), request(t, "1", "never"), waiting)
			r := ask(t, s, "2", test.method)
			for _, one := range []*receiver{waiting.wait(t), r} {
				lost, ok := errors.AsType[*Lost](one.err)
				if !ok || lost.Server != "test" || lost.Reason != test.reason || !strings.HasSuffix(lost.Words, test.words) {
					t.Errorf("%s: Done(%+v), want Lost by %q with %q", test.method, one.err, test.reason, test.words)
				}
			}
			if strings.Contains(test.method, "frame") && (!errors.Is(r.broken, io.ErrUnexpectedEOF) || r.bytes == 0) {
				t.Errorf("%s: %d bytes came and the rest gave %v, want what came and io.ErrUnexpectedEOF", test.method, r.bytes, r.broken)
			}
			if again := ask(t, s, "3", "echo"); again.err != nil {
				t.Errorf("%s: after the restart: %v", test.method, again.err)
			}
			if n := strings.Count(said.String(), "never 1"); n != 1 {
				t.Errorf("%s: the request that was under way was written %d times, want once", test.method, n)
			}
		})
	}
}

func TestHandshakeIsReplayedToARestartedServer(t *testing.T) {
	s, said := child(t, "plain", nil)
	if r := ask(t, s, "0", "initialize"); r.err != nil {
		t.Fatal(r.err)
	}
	s.Send(t.Context(), message(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`), newReceiver())
	ask(t, s, "1", "die")
	if r := ask(t, s, "2", "echo"); r.err != nil || !strings.Contains(r.last(), `"id":2`) {
		t.Fatalf("%q, %v", r.last(), r.err)
	}
	said.await(t, "initialize \"plimsoll-again")
	if err := s.Close(); err != nil { // everything it said is there
		t.Fatal(err)
	}
	text := said.String()
	if strings.Count(text, "initialize 0") != 1 || strings.Count(text, "initialize \"plimsoll-again") != 1 || strings.Count(text, "notified notifications/initialized") != 2 {
		t.Errorf("want the handshake twice, the second with an id of ours:\n%s", text)
	}
}

func TestServerThatDoesNotStayUp(t *testing.T) {
	s, _ := child(t, "dies at once", nil)
	r := ask(t, s, "1", "echo")
	if lost, ok := errors.AsType[*Lost](r.err); ok {
		if !strings.HasSuffix(lost.Words, "no licence found") {
			t.Errorf("Lost: %+v", lost)
		}
	} else if _, ok := errors.AsType[*Unavailable](r.err); !ok {
		t.Errorf("Done(%v)", r.err)
	}
}

func TestCommandThatIsMissing(t *testing.T) {
	s, _ := child(t, "plain", func(o *StdioOptions) {
		o.Launch = func(context.Context) (*Process, error) {
			return nil, fmt.Errorf("exec: %q: %w", "mcp-nowhere", os.ErrNotExist)
		}
	})
	r := ask(t, s, "1", "initialize")
	if gone, ok := errors.AsType[*Unavailable](r.err); !ok || !strings.Contains(gone.Error(), "mcp-nowhere") || !strings.Contains(gone.Error(), "test") {
		t.Errorf("Done(%v), want an error that names the server and the command", r.err)
	}
}

func TestEndlessLineTakesNoMemory(t *testing.T) {
	s, said := child(t, "plain", nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := ask(t, s, "1", "no newline")
	if r.err != nil || !strings.Contains(r.last(), "no newline") {
		t.Errorf("%q, %v", r.last(), r.err)
	}
	if big := ask(t, s, "2", "big"); big.err != nil || big.bytes < 256<<20 || big.broken != nil {
		t.Errorf("%d bytes, %v, %v, want 256 MiB", big.bytes, big.err, big.broken)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes were allocated for 512 MiB", n)
	}
	s.noise.flush()
	if n := said.noise("text"); n != 256<<20 {
		t.Errorf("%d bytes of text were counted, want 256 MiB", n)
	}
}

func TestIDBehindALargeResult(t *testing.T) {
	s, _ := child(t, "plain", nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if r := ask(t, s, "1", "big, id last"); r.err != nil || r.bytes < 300<<10 {
		t.Errorf("alone: %d bytes, %v", r.bytes, r.err)
	}
	s.Send(ctx, request(t, "2", "never"), newReceiver())
	if r := ask(t, s, "3", "big, id last"); r.err != nil || r.bytes < 300<<10 {
		t.Errorf("with another request open: %d bytes, %v", r.bytes, r.err)
	}
	ask(t, s, "4", "echo") // its answer is read when the one before was done with
	files, err := os.ReadDir(s.o.TempDir)
	if err != nil || len(files) != 0 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
}

func TestClosedStandardOutputEndsTheServer(t *testing.T) {
	s, _ := child(t, "stubborn", func(o *StdioOptions) { o.Grace = 20 * time.Millisecond })
	r := ask(t, s, "1", "close stdout")
	if lost, ok := errors.AsType[*Lost](r.err); !ok || lost.Reason != "ended by signal: killed" {
		t.Errorf("Done(%v), want Lost by SIGKILL: it ignores SIGTERM", r.err)
	}
}

func TestCloseEndsAStubbornServer(t *testing.T) {
	s, said := child(t, "stubborn", func(o *StdioOptions) { o.Grace = 20 * time.Millisecond })
	r := newReceiver()
	s.Send(t.Context(), request(t, "1", "never"), r)
	said.await(t, "never 1")
	pid := 0
	for record := range said.journal.Since(0) {
		if e, ok := record.Event.(journal.ToolServer); ok && e.State == "started" {
			pid = e.PID
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r.wait(t); !errors.Is(r.err, ErrClosed) {
		t.Errorf("Done(%v), want ErrClosed", r.err)
	}
	// Close waited for it, so that it is no zombie either. Windows finds no such process.
	if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Errorf("process %d is still there", pid)
	}
	late := newReceiver()
	if s.Send(t.Context(), request(t, "2", "echo"), late); !errors.Is(late.wait(t).err, ErrClosed) {
		t.Errorf("a request after Close: %v", late.err)
	}
}

func TestStandardErrorIsBounded(t *testing.T) {
	s, said := child(t, "plain", func(o *StdioOptions) { o.StderrRate = 10 << 10 })
	if r := ask(t, s, "1", "flood stderr"); r.err != nil {
		t.Fatal(r.err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	passed, dropped := int64(len(said.String())), said.noise("stderr")
	if passed == 0 || dropped == 0 || passed+dropped < 1<<20 {
		t.Errorf("%d bytes passed and %d were dropped of more than 1 MiB", passed, dropped)
	}
}

func TestFloodOfNotificationsKeepsItsOrder(t *testing.T) {
	s, _ := child(t, "plain", nil)
	l, _ := listen(t, s)
	if r := ask(t, s, "1", "flood"); r.err != nil {
		t.Fatal(r.err)
	}
	frames := l.all()
	if len(frames) != 10_000 {
		t.Fatalf("%d notifications, want all 10,000", len(frames))
	}
	for i, f := range frames {
		if !strings.Contains(f, fmt.Sprintf(`"n":%d}`, i)) {
			t.Fatalf("notification %d is %s", i, f)
		}
	}
}

func TestMessagesOfTheServersOwnAccord(t *testing.T) {
	s, said := child(t, "plain", nil)
	l := newReceiver()
	ctx, cancel := context.WithCancel(t.Context())
	s.Listen(ctx, nil, transport.Funcs{
		OnReceive: func(f *transport.Frame) {
			l.Receive(f)
			s.Send(t.Context(), message(t, `{"jsonrpc":"2.0","id":"q1","result":{"ok":true}}`), transport.Funcs{})
		},
		OnDone: l.Done,
	})
	if r := ask(t, s, "1", "asks"); r.err != nil {
		t.Fatal(r.err)
	}
	if frames := l.all(); len(frames) != 1 || !strings.Contains(frames[0], "sampling/createMessage") {
		t.Errorf("the listener got %q", frames)
	}
	said.await(t, `got {"jsonrpc":"2.0","id":"q1","result":{"ok":true}}`)
	if cancel(); l.wait(t).err != nil {
		t.Errorf("the listener's Done(%v)", l.err)
	}
	if r := ask(t, s, "2", "batch"); len(r.all()) != 2 {
		t.Errorf("nobody listens: %q, want the notification with the answer", r.all())
	}
}

func TestProgressGoesWithItsRequest(t *testing.T) {
	s, _ := child(t, "plain", nil)
	r := newReceiver()
	s.Send(t.Context(), message(t, `{"jsonrpc":"2.0","id":1,"method":"progress","params":{"_meta":{"progressToken":"tok"}}}`), r)
	if frames := r.wait(t).all(); len(frames) != 2 || !strings.Contains(frames[0], `"progressToken":"tok"`) {
		t.Errorf("%q", frames)
	}
}

func TestMessagesArriveInTheirOrder(t *testing.T) {
	s, said := child(t, "plain", nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var want strings.Builder
	for i := range 500 {
		s.Send(ctx, request(t, fmt.Sprint(i), "never"), newReceiver())
		fmt.Fprintf(&want, "never %d\n", i)
	}
	said.await(t, "never 499\n")
	if said.String() != want.String() {
		t.Errorf("the server read them in another order:\n%s", said)
	}
}

// A server that says how far it is has all the time it wants; the one that stops has not.
func TestProgressGivesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &scripted{began: time.Now(), life: func(_ int, in io.Reader, out io.Writer) {
			_, _, _ = jsonrpc.NewLineReader(in, 0).Next()
			for range 10 {
				time.Sleep(50 * time.Second)
				_, _ = io.WriteString(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}`+"\n")
			}
			_, _ = io.Copy(io.Discard, in)
		}}
		s := Stdio(StdioOptions{Name: "slow", Launch: l.launch, Timeout: time.Minute})
		r := newReceiver()
		s.Send(t.Context(), message(t, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":7}}}`), r)
		<-r.done
		if _, ok := errors.AsType[*TimeoutError](r.err); !ok || time.Since(l.began) != 560*time.Second || len(r.all()) != 10 {
			t.Errorf("Done(%v) after %v, want a TimeoutError a minute after the last progress, at 560 s", r.err, time.Since(l.began))
		}
		_ = s.Close()
	})
}
