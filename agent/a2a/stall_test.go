package a2a

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// pipes is a listener whose connections are in memory, without any buffer: what a client
// does not read is not written.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	shut  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.shut:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.shut) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	a, b := net.Pipe()
	p.conns <- b
	return a, nil
}

// A client that reads nothing costs neither its own task nor others anything: the executor
// goes on at once, another client has all events, and the stalled one is let go in time.
func TestAStalledClientCostsNobodyElseAnything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const numbers = 500
		began := time.Now()
		finished := make(chan time.Duration, 2)
		s, err := New(Options{Name: "tested", Executor: ExecutorFunc(func(_ context.Context, x *Exchange) error {
			for n := range numbers {
				if err := number(x, n); err != nil {
					return err
				}
			}
			finished <- time.Since(began)
			return nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		p := &pipes{conns: make(chan net.Conn), shut: make(chan struct{})}
		server := &http.Server{Handler: s}
		go func() { _ = server.Serve(p) }()

		stalled, _ := p.dial(t.Context(), "", "")
		body := call("SendStreamingMessage", message("count"))
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pipe/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if err := r.Write(stalled); err != nil {
			t.Fatal(err)
		}
		// It never reads. Its task ends all the same, in no time at all.
		if took := <-finished; took != 0 {
			t.Errorf("the executor of the stalled client took %v", took)
		}

		client := &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}}
		resp, err := client.Post("http://pipe/", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		all := (&frames{t: t, body: resp.Body, in: bufio.NewReader(resp.Body)}).all()
		if len(all) != numbers+2 {
			t.Errorf("the other client had %d events", len(all))
		}
		if took := <-finished; took != 0 || time.Since(began) != 0 {
			t.Errorf("the other client's took %v, and %v until it had all", took, time.Since(began))
		}

		time.Sleep(s.o.Limits.WriteTimeout + time.Second)
		synctest.Wait()
		if st := s.Stats(); st.Slow != 1 || st.Streams != 0 || st.Logs.Readers != 0 {
			t.Errorf("slow %d, streams %d, readers %d after the time to take an event", st.Slow, st.Streams, st.Logs.Readers)
		}
		_ = stalled.Close()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		_ = server.Close()
	})
}

// A stream on which nothing happens is kept open by comments, and one whose client is gone
// is found by them.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		s, err := New(Options{Name: "tested", Executor: ExecutorFunc(func(_ context.Context, x *Exchange) error {
			<-end
			return nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		p := &pipes{conns: make(chan net.Conn), shut: make(chan struct{})}
		server := &http.Server{Handler: s}
		go func() { _ = server.Serve(p) }()
		client := &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}}
		// The executor says nothing at all: the first that comes is a comment, with the head.
		resp, err := client.Post("http://pipe/", "application/json", strings.NewReader(call("SendStreamingMessage", message("wait"))))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Minute)
			close(end)
		}()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte(": keep-alive\n\n")); n < 3 || n > 4 {
			t.Errorf("%d comments in a minute", n)
		}
		if !bytes.Contains(text, []byte("id: 1\ndata: ")) || !bytes.Contains(text, []byte(sdk.TaskStateCompleted)) {
			t.Errorf("the stream is %s", text)
		}
		_ = s.Close(t.Context())
		_ = server.Close()
	})
}

// The same over a real socket: its buffers fill, then the writer would wait.
func TestAStalledSocketCostsNobodyElseAnything(t *testing.T) {
	t.Parallel()
	const pieces, size = 60, 50 << 10 // 3 MB, far more than the buffers that are left to the sockets
	done := make(chan struct{}, 2)
	s := unstarted(t, func(_ context.Context, x *Exchange) error {
		defer func() { done <- struct{}{} }()
		text := strings.Repeat("x", size)
		for range pieces {
			e := sdk.NewArtifactUpdateEvent(x, "a", sdk.NewTextPart(text))
			e.Append = false // each takes the place of the one before
			if err := x.Emit(e); err != nil {
				return err
			}
		}
		return nil
	}, func(o *Options) { o.Limits.MaxLog = 8 << 20 })
	var first sync.Once
	s.http.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			first.Do(func() { _ = tcp.SetWriteBuffer(16 << 10) })
		}
	}
	s.http.Start()
	var d net.Dialer
	stalled, err := d.DialContext(t.Context(), "tcp", s.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = stalled.(*net.TCPConn).SetReadBuffer(16 << 10)
	body := call("SendStreamingMessage", message("flood"))
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+"/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if err := r.Write(stalled); err != nil {
		t.Fatal(err)
	}
	<-done // nobody has read a byte of it
	all := s.stream("SendStreamingMessage", message("flood")).all()
	if len(all) != pieces+2 {
		t.Errorf("the other client had %d events", len(all))
	}
	_ = stalled.Close()
	wait.Until(t, "the stalled stream to be given up", func() bool { return s.Stats().Streams == 0 })
}
