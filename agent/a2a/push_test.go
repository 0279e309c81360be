package a2a

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// webhook keeps what it is told.
type webhook struct {
	*httptest.Server
	mu     sync.Mutex
	got    []told
	answer func(n int) int
}

type told struct {
	header http.Header
	body   string
}

func listen(t *testing.T, answer func(n int) int) *webhook {
	w := &webhook{answer: answer}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.got = append(w.got, told{r.Header, string(body)})
		n := len(w.got)
		w.mu.Unlock()
		if w.answer != nil {
			out.WriteHeader(w.answer(n))
		}
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *webhook) all() []told {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]told(nil), w.got...)
}

func pushing(text string, config map[string]any) map[string]any {
	m := message(text)
	m["configuration"] = map[string]any{"taskPushNotificationConfig": config}
	return m
}

func worker(_ context.Context, x *Exchange) error {
	if err := x.Status(sdk.TaskStateWorking, "", nil); err != nil {
		return err
	}
	return number(x, 0)
}

func TestPushTellsEachState(t *testing.T) {
	t.Parallel()
	hook := listen(t, nil)
	s := serve(t, worker)
	config := map[string]any{
		"id": "c", "url": hook.URL, "token": "tok",
		"authentication": map[string]any{"scheme": "Bearer", "credentials": "secret"},
	}
	if e := s.rpc("SendMessage", pushing("hello", config), nil); e != nil {
		t.Fatal(e.Message)
	}
	wait.Until(t, "two notifications", func() bool { return len(hook.all()) == 2 })
	for i, got := range hook.all() {
		if got.header.Get("Authorization") != "Bearer secret" || got.header.Get(tokenHeader) != "tok" || got.header.Get(oldTokenHeader) != "tok" {
			t.Errorf("notification %d has the headers %v", i, got.header)
		}
		var event sdk.StreamResponse
		if err := json.Unmarshal([]byte(got.body), &event); err != nil {
			t.Fatal(err)
		}
		switch e := event.Event.(type) {
		case *sdk.TaskStatusUpdateEvent:
			if i != 0 || e.Status.State != sdk.TaskStateWorking {
				t.Errorf("notification %d is %s", i, got.body)
			}
		case *sdk.Task:
			if i != 1 || e.Status.State != sdk.TaskStateCompleted || textOf(e) != "0 " {
				t.Errorf("notification %d is %s", i, got.body)
			}
		default:
			t.Errorf("notification %d is %s", i, got.body)
		}
	}
}

func TestPushTriesAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer       func(n int) int
		posts        int
		sent, failed int64
	}{
		"a server that is down for a while": {func(n int) int { return map[bool]int{true: 503, false: 200}[n < 3] }, 4, 2, 0},
		"one that stays down":               {func(int) int { return 500 }, 6, 0, 2},
		"one that does not want it":         {func(int) int { return 404 }, 2, 0, 2},
		"one that sends elsewhere":          {func(int) int { return 302 }, 2, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook := listen(t, test.answer)
			s := serve(t, worker, func(o *Options) { o.Limits.PushTries = 3 })
			s.pusher.backoff = 1
			if e := s.rpc("SendMessage", pushing("hello", map[string]any{"url": hook.URL}), nil); e != nil {
				t.Fatal(e.Message)
			}
			wait.Until(t, "the end of the tries", func() bool {
				st := s.Stats()
				return st.PushSent == test.sent && st.PushFailed == test.failed
			})
			if n := len(hook.all()); n != test.posts {
				t.Errorf("%d posts, not %d", n, test.posts)
			}
		})
	}
}

func TestPushOf03(t *testing.T) {
	t.Parallel()
	hook := listen(t, nil)
	s := serve(t, worker)
	params := map[string]any{
		"message":       map[string]any{"kind": "message", "messageId": "m", "role": "user", "parts": []any{map[string]any{"kind": "text", "text": "x"}}},
		"configuration": map[string]any{"blocking": true, "pushNotificationConfig": map[string]any{"url": hook.URL}},
	}
	if e := s.rpc("message/send", params, nil, versionHeader, ""); e != nil {
		t.Fatal(e.Message)
	}
	wait.Until(t, "two notifications", func() bool { return len(hook.all()) == 2 })
	for _, got := range hook.all() {
		if !strings.Contains(got.body, `"kind":"task"`) {
			t.Errorf("a notification is %s", got.body)
		}
	}
}

func TestPushConfigs(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ context.Context, x *Exchange) error {
		return x.Status(sdk.TaskStateInputRequired, "?", nil)
	}, func(o *Options) { o.Limits.MaxPush = 2 })
	task := s.send("hello").ID
	config := func(id string) map[string]any {
		return map[string]any{"taskId": task, "id": id, "url": "http://127.0.0.1:9/" + id}
	}
	for _, id := range []string{"a", "b", "a"} {
		if e := s.rpc("CreateTaskPushNotificationConfig", config(id), nil); e != nil {
			t.Fatal(e.Message)
		}
	}
	if e := s.rpc("CreateTaskPushNotificationConfig", config("c"), nil); e == nil || e.Code != -32602 {
		t.Errorf("one too many gives %+v", e)
	}
	var list sdk.ListTaskPushConfigResponse
	if e := s.rpc("ListTaskPushNotificationConfigs", map[string]any{"taskId": task}, &list); e != nil || len(list.Configs) != 2 {
		t.Errorf("the list is %+v, %+v", list, e)
	}
	for range 2 {
		if e := s.rpc("DeleteTaskPushNotificationConfig", config("a"), nil); e != nil {
			t.Errorf("delete gives %+v", e)
		}
	}
	if e := s.rpc("GetTaskPushNotificationConfig", config("a"), nil); e == nil || e.Code != -32001 {
		t.Errorf("one that was deleted gives %+v", e)
	}
	var one sdk.PushConfig
	if e := s.rpc("GetTaskPushNotificationConfig", config("b"), &one); e != nil || one.URL != "http://127.0.0.1:9/b" {
		t.Errorf("the other one gives %+v, %+v", one, e)
	}
}

func TestPushStaysOutside(t *testing.T) {
	t.Parallel()
	g := newPushGuard([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, nil)
	for address, public := range map[string]bool{
		"1.1.1.1": true, "2606:4700::1111": true, "10.1.2.3": true, "::ffff:10.1.2.3": true,
		"127.0.0.1": false, "::1": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "172.16.0.1": false,
		"192.168.1.1": false, "169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "100.64.0.1": false,
		"100.100.100.200": false, "::ffff:127.0.0.1": false, "::127.0.0.1": false, "64:ff9b::a9fe:a9fe": false,
		"2002:7f00:1::": false, "224.0.0.1": false, "255.255.255.255": false, "fe80::1%eth0": false, "192.0.0.192": false,
		"168.63.129.16": false, "::ffff:168.63.129.16": false, "::ffff:0:7f00:1": false, "::ffff:0:a9fe:a9fe": false, "168.63.129.17": true,
	} {
		if err := g.checkAddress(netip.MustParseAddr(address)); (err == nil) != public {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, url := range []string{
		"http://127.0.0.1/", "http://[::1]:80/", "http://localhost/", "http://a.localhost./", "ftp://1.1.1.1/", "http:///x",
		"http://u:p@1.1.1.1/", "gopher://x", "http://169.254.169.254/latest", "://", "http://" + strings.Repeat("a", 3000),
	} {
		if err := g.check(t.Context(), url); err == nil {
			t.Errorf("%s may be asked", url)
		}
	}
	named := newPushGuard([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, []string{"localhost", "hooks.internal"})
	for url, fits := range map[string]bool{
		"http://localhost/": true, "http://LOCALHOST.:1/": true, "https://hooks.internal/": true, "http://10.1.2.3/": true,
		"http://127.0.0.1/": false, "http://a.localhost/": false, "http://192.168.0.1/": false, "http://169.254.169.254/": false,
	} {
		if err := named.check(t.Context(), url); (err == nil) != fits {
			t.Errorf("with push_allow %s: %v", url, err)
		}
	}
	named.hosts = []string{"localhost"}
	on := listen(t, nil)
	if resp, err := named.client(time.Minute).Get(strings.Replace(on.URL, "127.0.0.1", "localhost", 1)); err != nil {
		t.Errorf("a host that is allowed by its name: %v", err)
	} else {
		_ = resp.Body.Close()
	}
	if _, err := named.client(time.Minute).Get(on.URL); err == nil {
		t.Error("its address is reached too")
	}
	// At registration it is told; at the connection it counts, whatever a name means by then.
	hook := listen(t, nil)
	s := serve(t, worker, func(o *Options) { o.PushAllow = nil })
	if e := s.rpc("SendMessage", pushing("hello", map[string]any{"url": hook.URL}), nil); e == nil || e.Code != -32602 || !strings.Contains(e.Message, "not on the public internet") {
		t.Errorf("a webhook on this host gives %+v", e)
	}
	err := s.pusher.deliver(notification{config: sdk.PushConfig{URL: hook.URL}, body: []byte("{}")})
	if err == nil || !strings.Contains(err.Error(), "try 1 of") || !strings.Contains(err.Error(), "not on the public internet") {
		t.Errorf("the connection gives %v", err)
	}
	if n := len(hook.all()); n != 0 {
		t.Errorf("it was asked %d times", n)
	}
	bad := map[string]any{"url": "http://1.1.1.1/", "token": "a\nb"}
	if e := s.rpc("SendMessage", pushing("hello", bad), nil); e == nil || e.Code != -32602 {
		t.Errorf("a token of two lines gives %+v", e)
	}
}

func TestPushQueueIsBounded(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	hook := listen(t, func(int) int { <-block; return 200 })
	s := serve(t, quiet, func(o *Options) { o.Limits.MaxPushQueue = 3 })
	to := deliveryKey{task: "t", config: "c"}
	one := notification{config: sdk.PushConfig{URL: hook.URL}, body: []byte("{}")}
	s.pusher.send(to, one)
	wait.Until(t, "the first to be on its way", func() bool { return len(hook.all()) == 1 })
	for range 10 {
		s.pusher.send(to, one)
	}
	if n := s.Stats().PushDropped; n != 7 {
		t.Errorf("%d were dropped", n)
	}
	close(block)
	wait.Until(t, "the rest", func() bool { return s.Stats().PushSent == 4 })
}
