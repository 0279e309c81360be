package bridge

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	mcptransport "github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

func TestDetect(t *testing.T) {
	for name, want := range map[string]ProtocolVersion{"legacy": WithSessions, "modern": Sessionless, "both": Sessionless} {
		versions := map[string]toolserver.Versions{"legacy": toolserver.LegacyOnly, "modern": toolserver.ModernOnly}[name]
		for transport, p := range map[string]mcptransport.Peer{
			"stdio": overPipe(t, toolserver.New(toolserver.Options{Versions: versions})),
			"http":  overHTTP(t, toolserver.New(toolserver.Options{Versions: versions}).Handler()),
			"sse":   overHTTP(t, toolserver.New(toolserver.Options{Versions: versions, Answer: toolserver.SSE}).Handler()),
		} {
			if got, err := Detect(t.Context(), p, mcptransport.Message{}, Options{}); got != want || err != nil {
				t.Errorf("%s over %s: %v, %v", name, transport, got, err)
			}
		}
	}
}

// TestDetectGoesByTheBody: a status alone says nothing of a protocol version.
func TestDetectGoesByTheBody(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   ProtocolVersion
	}{
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"],"requested":"x"}}}`, Sessionless},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"m"}}`, Sessionless},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32021,"message":"m","data":"odd"}}`, Sessionless},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"m","data":{"supported":["2025-11-25"]}}}`, WithSessions},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}`, WithSessions},
		{400, `Bad Request`, WithSessions},
		{404, ``, WithSessions},
		{404, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`, WithSessions},
		{405, ``, WithSessions},
		{200, `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-11-25"]}}`, WithSessions},
		{200, `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-11-25","2027-01-01"]}}`, Sessionless},
		{200, `{"jsonrpc":"2.0","id":1,"result":[]}`, WithSessions},
		{401, `no`, Unknown},
		{503, `later`, Unknown},
	} {
		p := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		got, err := Detect(t.Context(), p, mcptransport.Message{}, Options{})
		if got != c.want {
			t.Errorf("%d %s: %v, %v", c.status, c.body, got, err)
		}
		undecided, ok := errors.AsType[*Undecided](err)
		if ok != (c.want == Unknown) || ok && undecided.Answer.Status != c.status {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
	}
}

// mute is a server that never says anything.
type mute struct{}

func (mute) Send(ctx context.Context, _ mcptransport.Message, to mcptransport.Receiver) {
	context.AfterFunc(ctx, func() { to.Done(ctx.Err()) })
}

func (mute) Listen(context.Context, http.Header, mcptransport.Receiver) {}

func (mute) Close() error { return nil }

// late is a server that answers some of what it is asked, after a time.
type late struct {
	mute
	after   time.Duration
	answers map[string]string // by method
}

func (s late) Send(ctx context.Context, m mcptransport.Message, to mcptransport.Receiver) {
	answer := s.answers[m.Head.Method]
	if answer == "" {
		s.mute.Send(ctx, m, to)
		return
	}
	go func() {
		select {
		case <-time.After(s.after):
			mcptransport.Reply(to, []byte(`{"jsonrpc":"2.0","id":`+string(m.Head.ID)+`,`+answer+`}`))
		case <-ctx.Done():
			to.Done(ctx.Err())
		}
	}()
}

// A server that starts slowly is not one of an older protocol: what it answers in the end decides, to server/discover or to the
// initialize that it gets when it was silent for a while.
func TestSlowStartIsNoOldProtocol(t *testing.T) {
	const (
		discovered  = `"result":{"supportedVersions":["2026-07-28"]}`
		initialized = `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`
		unsupported = `"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}`
	)
	for name, c := range map[string]struct {
		server mcptransport.Peer
		want   ProtocolVersion
		after  time.Duration
	}{
		"at once":                         {late{answers: map[string]string{"server/discover": discovered}}, Sessionless, 0},
		"modern, after 20 s":              {late{after: 20 * time.Second, answers: map[string]string{"server/discover": discovered, "initialize": unsupported}}, Sessionless, 20 * time.Second},
		"modern, knows only initialize":   {late{after: time.Second, answers: map[string]string{"initialize": unsupported}}, Sessionless, DefaultProbe + time.Second},
		"older, silent before initialize": {late{after: time.Second, answers: map[string]string{"initialize": initialized}}, WithSessions, DefaultProbe + time.Second},
		"says nothing":                    {&mute{}, Unknown, DefaultHandshake},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				got, err := Detect(t.Context(), c.server, mcptransport.Message{}, Options{})
				if got != c.want || (err != nil) != (c.want == Unknown) || time.Since(start) != c.after {
					t.Errorf("%v, %v after %v", got, err, time.Since(start))
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if got, err := Detect(ctx, &mute{}, mcptransport.Message{}, Options{}); got != Unknown || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestHandshakeIsBounded: a server that does not answer is named.
func TestHandshakeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Legacy(&mute{}, Options{Server: "quiet"})
		c := &caller{t: t, p: l, heard: make(chan string, 10)}
		s := c.start("1", "initialize", `"protocolVersion":"2025-11-25"`)
		time.Sleep(DefaultHandshake)
		synctest.Wait()
		has(t, <-s.response, "quiet did not answer server/discover within 1m0s")
		_ = l.Close()
	})
}
