package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// scripted launches servers in memory, each of which does what life says, and notes when.
type scripted struct {
	began  time.Time
	starts []time.Duration
	life   func(n int, in io.Reader, out io.Writer)
}

func (l *scripted) launch(context.Context) (*Process, error) {
	n := len(l.starts)
	l.starts = append(l.starts, time.Since(l.began))
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	gone := make(chan struct{})
	go func() {
		l.life(n, inR, outW)
		_ = inR.Close()
		_ = outW.Close()
		close(gone)
	}()
	return &Process{
		Stdin: inW, Stdout: outR, PID: 1000 + n,
		Wait: func() (Exit, error) { <-gone; return Exit{Code: 9}, nil },
		Kill: func() { _ = inR.Close() },
	}, nil
}

func send(t *testing.T, s *Server, id string) error {
	t.Helper()
	r := newReceiver()
	s.Send(t.Context(), request(t, id, "echo"), r)
	<-r.done
	return r.err
}

func TestPausesGrowAndAServerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &scripted{began: time.Now(), life: func(int, io.Reader, io.Writer) {}}
		s := Stdio(StdioOptions{Name: "short", Launch: l.launch})
		defer s.Close()
		for len(l.starts) < giveUpAfter {
			_ = send(t, s, "1")
		}
		last := send(t, s, "1")
		gone, ok := errors.AsType[*Unavailable](last)
		if !ok || gone.Tries != giveUpAfter || !strings.Contains(gone.Error(), "exit status 9") || !strings.Contains(gone.Error(), "given up") {
			t.Fatalf("after %d lives: %v", len(l.starts), last)
		}
		want := []time.Duration{0, 250, 750, 1750, 3750} // milliseconds: 250, 500, 1000, 2000 apart
		for i, at := range l.starts {
			if at != want[i]*time.Millisecond {
				t.Errorf("start %d after %v, want %v", i, at, want[i]*time.Millisecond)
			}
		}
		if until := time.Until(gone.Again); until != maxPause {
			t.Errorf("tried again in %v, want %v", until, maxPause)
		}
		time.Sleep(maxPause)
		if _ = send(t, s, "2"); len(l.starts) != giveUpAfter+1 {
			t.Errorf("%d starts after the pause, want one more", len(l.starts))
		}
	})
}

// A server that lived for a minute, or that answered, is not one that does not stay up.
func TestLongLifeBeginsThePausesAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &scripted{began: time.Now(), life: func(n int, in io.Reader, out io.Writer) {
			if n == 3 {
				time.Sleep(longLife)
			}
		}}
		s := Stdio(StdioOptions{Name: "long", Launch: l.launch})
		defer s.Close()
		for len(l.starts) < 5 {
			_ = send(t, s, "1")
		}
		if pause := l.starts[4] - l.starts[3] - longLife; pause != firstPause {
			t.Errorf("the pause after a life of a minute is %v, want %v", pause, firstPause)
		}
	})
}

func TestServerThatDoesNotReadHoldsItsClientBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		l := &scripted{began: time.Now(), life: func(int, io.Reader, io.Writer) { <-stop }}
		s := Stdio(StdioOptions{Name: "deaf", Launch: l.launch})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		big := `{"jsonrpc":"2.0","method":"notifications/x","params":"` + strings.Repeat("x", maxQueued) + `"}`
		sent := 0
		for ctx.Err() == nil {
			r := newReceiver()
			s.Send(ctx, message(t, big), r)
			if <-r.done; r.err == nil {
				sent++
			}
		}
		if sent != 2 { // one is being written, one waits
			t.Errorf("%d messages of 1 MiB were taken, want 2", sent)
		}
		close(stop)
		_ = s.Close()
	})
}

var _ transport.Peer = (*Server)(nil)
