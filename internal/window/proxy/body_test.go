package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// The transport may close a body while it reads it. What is read afterwards would be
// somebody else's: the buffer goes back to the pool.
func TestClosedBodyIsNotRead(t *testing.T) {
	t.Parallel()
	for range 200 {
		b := &heldBody{bytes: append(newBuffer(8<<10), bytes.Repeat([]byte("a"), 8<<10)...), room: hold{b: newBudget(1, 0)}, pooled: true}
		b.refs.Store(1)
		r := b.reader(b.bytes)
		b.releaseUse()
		var wg sync.WaitGroup
		var err error
		wg.Go(func() {
			p := make([]byte, 64)
			for err == nil {
				var n int
				n, err = r.Read(p)
				if bytes.Trim(p[:n], "a") != nil {
					t.Errorf("read %q", p[:n])
				}
			}
		})
		_ = r.Close()
		_ = r.Close()
		other := append(newBuffer(8<<10), bytes.Repeat([]byte("b"), 8<<10)...)
		wg.Wait()
		freeBuffer(other)
		if !errors.Is(err, io.EOF) && !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("reading ended with %v", err)
		}
	}
}

// A body that is written at once is written as it is, also when the transport lets go of it meanwhile: its memory is another request's only then.
func TestBodyWrittenAtOnce(t *testing.T) {
	t.Parallel()
	for range 50 {
		b := &heldBody{bytes: append(newBuffer(512<<10), bytes.Repeat([]byte("a"), 512<<10)...), room: hold{b: newBudget(1, 0)}, pooled: true}
		b.refs.Store(1)
		r := b.reader(b.bytes).(*heldReader)
		b.releaseUse()
		head := make([]byte, 100)
		if n, err := r.Read(head); n != len(head) || err != nil {
			t.Fatal(n, err)
		}
		server, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		peer, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		const most = 400 << 10
		var wg sync.WaitGroup
		wg.Go(func() {
			left := &io.LimitedReader{R: r, N: most}
			n, err := bodyConn{c.(*net.TCPConn)}.ReadFrom(left)
			closed := n == 0 && errors.Is(err, http.ErrBodyReadAfterClose) // before it began
			if !closed && (n != most || left.N != 0 || err != nil) {
				t.Errorf("%d bytes, %v", n, err)
			}
			_ = c.Close()
		})
		wg.Go(func() {
			_ = r.Close()
			other := newBuffer(512 << 10)
			for range cap(other) {
				other = append(other, 'b')
			}
			freeBuffer(other)
		})
		got, err := io.ReadAll(peer)
		if err != nil || bytes.Trim(got, "a") != nil || len(got) != 0 && len(got) != most {
			t.Errorf("%d bytes arrived, with %.10q in them, %v", len(got), bytes.Trim(got, "a"), err)
		}
		wg.Wait()
		_ = peer.Close()
		_ = server.Close()
	}
}

// A client that announces a body and hangs in the middle does not keep its room from others,
// and one that goes leaves an event.
func TestBodyThatStopsComingGivesItsRoomBack(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer upstream.Close()
	p, root, j := start(t, upstream.URL, Options{MemoryBudget: 1 << 20, AnyPeer: true})
	p.bodyIdle = 20 * time.Millisecond
	host := strings.TrimPrefix(root, "http://")
	begin := func() net.Conn {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000000\r\n\r\n{", host)
		return c
	}
	c := begin()
	defer c.Close()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusRequestTimeout || !res.Close || !strings.Contains(string(text), "stopped coming after 1 bytes") {
		t.Errorf("%s, close %v, %s", res.Status, res.Close, text)
	}
	if refused := events[journal.WindowRefused](j); len(refused) != 1 || refused[0].Reason != "stalled" {
		t.Errorf("refused is %+v", refused)
	}
	// The budget is as free as before.
	if res, _ := post(t, root+"/anthropic/v1/messages", strings.Repeat(" ", 900_000)); res.StatusCode != 200 {
		t.Errorf("a body that comes: %s", res.Status)
	}
	p.bodyIdle = time.Hour
	c = begin()
	defer c.Close()
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); len(rest) > 0 || err != nil {
		t.Errorf("an answer to half a request: %q, %v", rest, err)
	}
	if e := events[journal.WindowResponse](j); e[len(e)-1].Ended != "client_gone" {
		t.Errorf("%+v", e)
	}
}

// A status that ends no request is the provider's fault and not an answer.
func TestStatusThatIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"099 Odd", "101 Switching Protocols"} {
		upstream, _ := rawUpstream(t, "HTTP/1.1 "+status+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		_, root, _ := start(t, upstream, Options{})
		for _, path := range []string{"/openai/v1/chat/completions", "/openai/v1/files"} {
			if res, text := post(t, root+path, `{"model":"m","messages":[]}`); res.StatusCode != http.StatusBadGateway || !strings.Contains(text, "which ends no request") {
				t.Errorf("%s on %s: %s %s", status, path, res.Status, text)
			}
		}
	}
}
