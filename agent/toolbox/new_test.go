package toolbox_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
	"github.com/plimsoll/plimsoll/tools/spool"
)

func TestOptionsThatAreWrong(t *testing.T) {
	t.Parallel()
	works := piped(toolserver.New(toolserver.Options{}))
	for name, c := range map[string]struct {
		o    toolbox.Options
		want string
	}{
		"nothing given":  {toolbox.Options{Servers: []toolbox.Server{{Name: "x"}}}, `server 1 ("x"): give one of Command, URL, Peer and Gateway`},
		"two ways":       {toolbox.Options{Servers: []toolbox.Server{{Command: []string{"x"}, URL: "http://x"}}}, "give one of"},
		"same names":     {toolbox.Options{Servers: []toolbox.Server{works, works}}, `two servers are called "piped"`},
		"no program":     {toolbox.Options{Servers: []toolbox.Server{{Command: []string{"no-such-program-anywhere"}}}}, "no-such-program-anywhere"},
		"no address":     {toolbox.Options{Servers: []toolbox.Server{{Name: "x", URL: "::"}}}, "x"},
		"same functions": {toolbox.Options{Functions: []builtin.Tool{echo("a"), echo("a")}}, `two tools called "a"`},
		"reserved":       {toolbox.Options{Functions: []builtin.Tool{echo("a")}, Servers: []toolbox.Server{{Name: "functions", Peer: works.Peer}}}, "two servers are called"},
		"too many":       {toolbox.Options{Servers: make([]toolbox.Server, toolbox.MaxServers+1)}, "65 servers, at most 64"},
	} {
		_, err := toolbox.New(t.Context(), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{"dead": "no licence found", "mute": "did not answer within 200ms"} {
		_, err := toolbox.New(t.Context(), toolbox.Options{Servers: []toolbox.Server{child("broken", how)}, Start: 200 * time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), want) {
			// A loaded machine may not have started the process within the time.
			if err == nil || !strings.Contains(err.Error(), "did not answer within") {
				t.Errorf("%s: %v", how, err)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if _, err := toolbox.New(ctx, toolbox.Options{Servers: []toolbox.Server{child("mute", "mute")}}); !errors.Is(err, why) {
		t.Errorf("a New that was cancelled: %v", err)
	}
}

func TestOneServerOfSeveralThatIsDead(t *testing.T) {
	t.Parallel()
	alive := make(chan struct{})
	works := piped(toolserver.New(toolserver.Options{}))
	late := toolbox.Server{Name: "late", Peer: func() transport.Peer {
		select {
		case <-alive:
			return works.Peer()
		default:
			return gone{}
		}
	}}
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{works, late}})
	if got := succeeded(t, b, "piped__echo", `{"text":"here"}`); got != "here" {
		t.Errorf("it said %q", got)
	}
	if s := b.Stats(); len(s.Servers) != 2 || s.Servers[0].Err != nil || s.Servers[1].Err == nil || s.Servers[1].Tools != 0 {
		t.Errorf("%+v", s)
	}
	close(alive)
	until(t, "the server is tried again", func() bool { return specs(t, b)["late__echo"].Name != "" })
	if got := succeeded(t, b, "late__echo", `{"text":"back"}`); got != "back" {
		t.Errorf("it said %q", got)
	}
	if s := b.Stats(); s.Servers[1].Err != nil || s.Servers[1].Calls != 1 {
		t.Errorf("%+v", s)
	}
}

// gone is the way to a server that is not there.
type gone struct{}

func (gone) Send(_ context.Context, _ transport.Message, to transport.Receiver) {
	to.Done(errors.New("there is nobody"))
}

func (gone) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	<-ctx.Done()
	to.Done(nil)
}

func (gone) Close() error { return nil }

func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	b, err := toolbox.New(t.Context(), toolbox.Options{Functions: []builtin.Tool{echo("echo")}})
	if err != nil {
		t.Fatal(err)
	}
	has(t, succeeded(t, b, "echo", `{"text":"`+strings.Repeat(`line\n`, 10_000)+`"}`), "Page 1 of")
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) == 0 {
		t.Error("nothing is kept")
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	if _, err := b.Call(t.Context(), agent.Call{Name: "echo"}, ignored); !errors.Is(err, toolbox.ErrClosed) {
		t.Errorf("a call after Close: %v", err)
	}
	if _, err := b.List(t.Context()); !errors.Is(err, toolbox.ErrClosed) {
		t.Errorf("a list after Close: %v", err)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	hang := builtin.Tool{Name: "hang", Run: func(ctx context.Context, _ *builtin.Call) (*builtin.Result, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	b := opened(t, toolbox.Options{Functions: []builtin.Tool{hang}})
	done := make(chan error, 1)
	go func() {
		out, err := b.Call(context.Background(), agent.Call{Name: "hang"}, ignored)
		if err == nil && out.Failed {
			err = errors.New(out.Text)
		}
		done <- err
	}()
	wait(t, "the call", began)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err == nil {
			t.Error("the call succeeded")
		}
	case <-time.After(patience):
		t.Fatal("the call did not end")
	}
}

func TestAToolboxWithoutTools(t *testing.T) {
	t.Parallel()
	b := opened(t, toolbox.Options{})
	if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	out := called(t, b, "x", "{}")
	if !out.Failed {
		t.Error("a tool that is not there succeeded")
	}
	has(t, out.Text, "no tools are connected")
}

func TestServersThatAreDownAreTriedWithPauses(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		kept, err := spool.Open(spool.Options{Dir: store})
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Close()
		var tries atomic.Int64
		down := toolbox.Server{Name: "down", Peer: func() transport.Peer { tries.Add(1); return gone{} }}
		b, err := toolbox.New(t.Context(), toolbox.Options{Spool: kept, Servers: []toolbox.Server{down}, Functions: []builtin.Tool{echo("echo")}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		for range 600 {
			time.Sleep(time.Second)
			if _, err := b.List(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		// 1 at once, then after 1, 2, 4, 8, 16 and 32 seconds, then each minute.
		if n := tries.Load(); n < 13 || n > 17 {
			t.Errorf("in ten minutes it was tried %d times", n)
		}
	})
}
