package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/window/rate"
	"github.com/plimsoll/plimsoll/journal"
)

// A scarce provider refuses the first requests of each client with what refuse writes.
type scarce struct {
	refuse   func(w http.ResponseWriter)
	times    int32
	refused  atomic.Int32
	requests atomic.Int32
	mu       sync.Mutex
	bodies   []string
}

func (s *scarce) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	s.requests.Add(1)
	if s.refused.Add(1) <= s.times {
		s.refuse(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"type":"message","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":5,"output_tokens":1}}`)
}

const small = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`

// request sends a request as a client does, and returns the answer with its body.
func request(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(small))
	req.Header.Set("X-Api-Key", "sk-ant-api03-secret")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// A request that is refused for its rate waits for as long as the provider says, and goes again with the same bytes.
func TestRefusedForRateGoesAgain(t *testing.T) {
	t.Parallel()
	s := &scarce{times: 1, refuse: func(w http.ResponseWriter) {
		w.Header().Set("Retry-After-Ms", "30")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`)
	}}
	upstream := httptest.NewServer(s)
	defer upstream.Close()
	share := rate.Open(t.TempDir(), func(err error) { t.Error(err) })
	defer share.Close()
	p, root, j := start(t, upstream.URL, Options{Rate: Rate{Share: share, Run: "r1"}})
	res, body := request(t, root+"/anthropic/v1/messages")
	if res.StatusCode != 200 || !strings.Contains(body, `"message"`) || s.requests.Load() != 2 || s.bodies[0] != small || s.bodies[1] != small {
		t.Errorf("%d %s after %d requests: %q", res.StatusCode, body, s.requests.Load(), s.bodies)
	}
	wait.Until(t, "the answer is told", func() bool { return len(events[journal.WindowResponse](j)) == 1 })
	p.waits.mu.Lock()
	p.waits.of["anthropic\x00m"].event.Waited += 2 * tellAfter // as if it had been long enough to tell
	p.waits.mu.Unlock()
	p.waits.close(p)
	if told := events[journal.WindowRateWaited](j); len(told) != 1 || told[0].Requests != 1 || told[0].Again != 1 || told[0].Waiting != 0 || told[0].Model != "m" {
		t.Errorf("%+v", told)
	}
}

// What must be passed on comes as the provider sent it, at once: what is final, what takes longer than the client waits, and everything
// where the queue is off.
func TestRefusalsArePassedOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, after string
		o           func(*Options)
		header      []string
	}{
		"no money":                 {body: `{"error":{"code":"insufficient_quota"}}`, after: "1"},
		"longer than it waits":     {body: `{"error":{"type":"rate_limit_error"}}`, after: "3600"},
		"a client in a hurry":      {body: `{"error":{"type":"rate_limit_error"}}`, after: "4", header: []string{"X-Stainless-Timeout", "5"}},
		"only looked at":           {body: `{}`, after: "1", o: func(o *Options) { o.Mode = Observe }},
		"the queue is off":         {body: `{}`, after: "1", o: func(o *Options) { o.Rate = Rate{} }},
		"told not to come again":   {body: `{}`, header: nil, after: "never", o: nil},
		"no room for those behind": {body: `{}`, after: "1", o: func(o *Options) { o.MemoryBudget = 100 << 10 }},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scarce{times: 100, refuse: func(w http.ResponseWriter) {
				if c.after == "never" {
					w.Header().Set("X-Should-Retry", "false")
				} else {
					w.Header().Set("Retry-After", c.after)
				}
				w.Header().Set("Anthropic-Ratelimit-Requests-Limit", "contradictory")
				w.WriteHeader(429)
				fmt.Fprint(w, c.body)
			}}
			upstream := httptest.NewServer(s)
			defer upstream.Close()
			o := Options{Rate: Rate{Share: rate.Open(t.TempDir(), nil), Run: "r"}}
			defer o.Rate.Share.Close()
			if c.o != nil {
				c.o(&o)
			}
			p, root, _ := start(t, upstream.URL, o)
			p.standing.Add(p.o.MemoryBudget / 2 * int64(bytes.Count([]byte(name), []byte("no room"))))
			res, body := request(t, root+"/anthropic/v1/messages", c.header...)
			if res.StatusCode != 429 || body != c.body || s.requests.Load() != 1 || res.Header.Get("Anthropic-Ratelimit-Requests-Limit") != "contradictory" {
				t.Errorf("%d %q after %d requests", res.StatusCode, body, s.requests.Load())
			}
			if c.after != "never" && res.Header.Get("Retry-After") != c.after {
				t.Errorf("Retry-After is %q", res.Header.Get("Retry-After"))
			}
		})
	}
}

// Who hangs up while he waits leaves the queue.
func TestClientGoneWhileItWaits(t *testing.T) {
	t.Parallel()
	s := &scarce{times: 1, refuse: func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "10")
		w.WriteHeader(429)
	}}
	upstream := httptest.NewServer(s)
	defer upstream.Close()
	share := rate.Open(t.TempDir(), nil)
	defer share.Close()
	p, root, j := start(t, upstream.URL, Options{Rate: Rate{Share: share}})
	gone := make(chan struct{})
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, root+"/anthropic/v1/messages", strings.NewReader(small))
	client := &http.Client{Transport: &http.Transport{}}
	go func() {
		defer close(gone)
		if res, err := client.Do(req.WithContext(ctx)); err == nil {
			_ = res.Body.Close()
			t.Error("it was answered")
		}
	}()
	wait.Until(t, "it waits", func() bool { return p.standing.Load() > 0 && s.requests.Load() == 1 && p.waits.any() })
	hangUp()
	<-gone
	wait.Until(t, "it is told that the client is gone", func() bool {
		for _, e := range events[journal.WindowResponse](j) {
			if e.Ended == "client_gone" {
				return true
			}
		}
		return false
	})
	if n := p.standing.Load(); n != 0 {
		t.Errorf("%d bytes wait on", n)
	}
	if s.requests.Load() != 1 {
		t.Errorf("%d requests", s.requests.Load())
	}
}

// any reports whether a request waits.
func (x *waits) any() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, line := range x.of {
		if len(line.now) > 0 {
			return true
		}
	}
	return false
}
