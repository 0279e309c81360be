package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/notify"
)

// sample is a notice as it comes from a run.
var sample = notify.Notice{
	Schema: notify.Schema, Cause: notify.OOM, Title: "plimsoll: killed for memory", Text: "claude in <b>shop</b> & co: killed at its memory limit of 4 GiB",
	Time: time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC), Run: "w2vh6evefcly", Kind: "run", Tool: "claude", Project: "shop", Outcome: "oom", LimitBytes: 4 << 30,
}

func open(t *testing.T, o notify.Options, words ...string) notify.Way {
	t.Helper()
	way, err := notify.Open(words, o)
	if err != nil {
		t.Fatal(err)
	}
	return way
}

// post is one request that a server got.
type post struct {
	path, query, kind string
	notice            notify.Notice
}

// server answers with the given statuses, the last one again and again.
func server(t *testing.T, statuses ...int) (*httptest.Server, func() []post) {
	t.Helper()
	var mu sync.Mutex
	var posts []post
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		p := post{path: r.URL.Path, query: r.URL.RawQuery, kind: r.Method + " " + r.Header.Get("Content-Type")}
		if err == nil {
			err = json.Unmarshal(body, &p.notice)
		}
		if err != nil {
			t.Errorf("%s: %v", body, err)
		}
		mu.Lock()
		defer mu.Unlock()
		status := statuses[min(len(posts), len(statuses)-1)]
		posts = append(posts, p)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.Repeat("answer ", 50_000))
	}))
	t.Cleanup(s.Close)
	return s, func() []post { mu.Lock(); defer mu.Unlock(); return slices.Clone(posts) }
}

func TestAWebhookGetsTheNoticeAsJSON(t *testing.T) {
	s, posts := server(t, 204)
	way := open(t, notify.Options{}, s.URL+"/hooks/T0KEN?key=s3cret")
	if err := way.Send(t.Context(), sample); err != nil {
		t.Fatal(err)
	}
	got := posts()
	if len(got) != 1 || got[0].path != "/hooks/T0KEN" || got[0].query != "key=s3cret" || got[0].kind != "POST application/json" || got[0].notice != sample {
		t.Errorf("%+v", got)
	}
	if name := way.String(); strings.Contains(name, "T0KEN") || strings.Contains(name, "s3cret") {
		t.Errorf("%s shows the token", name)
	}
}

func TestAWebhookIsTriedAgainOnlyWhereThatHelps(t *testing.T) {
	for _, c := range []struct {
		statuses []int
		posts    int
		says     string
	}{
		{[]int{503, 429, 200}, 3, ""},
		{[]int{500}, 3, "500"},
		{[]int{404, 200}, 1, "404 Not Found"},
	} {
		s, posts := server(t, c.statuses...)
		err := open(t, notify.Options{}, s.URL).Send(t.Context(), sample)
		if n := len(posts()); n != c.posts || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %d posts, %v", c.statuses, n, err)
		}
	}
}

func TestAWebhookLeadsToNoOtherHost(t *testing.T) {
	other, stolen := server(t, 200)
	for _, code := range []int{301, 302, 303, 307, 308} {
		from := httptest.NewServer(http.RedirectHandler(other.URL+"/taken?t=s3cret", code))
		err := open(t, notify.Options{}, from.URL+"/x?key=s3cret").Send(t.Context(), sample)
		if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "not followed") || !strings.Contains(err.Error(), strings.TrimPrefix(other.URL, "http://")) {
			t.Errorf("%d: %v", code, err)
		}
		from.Close()
	}
	if got := stolen(); len(got) != 0 {
		t.Errorf("another host got %+v", got)
	}
	var mu sync.Mutex
	var seen []string
	within := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen = append(seen, r.Method+" "+r.URL.Path+" "+map[bool]string{true: "whole", false: "empty"}[bytes.Contains(body, []byte("claude"))])
		mu.Unlock()
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/there", http.StatusPermanentRedirect)
		case "/get":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		}
	}))
	defer within.Close()
	if err := open(t, notify.Options{}, within.URL+"/same").Send(t.Context(), sample); err != nil {
		t.Error(err)
	}
	if want := []string{"POST /same whole", "POST /there whole"}; !slices.Equal(seen, want) {
		t.Errorf("%q, not %q", seen, want)
	}
	seen = nil
	for _, path := range []string{"/get", "/loop"} { // a GET would lose the notice and be answered with 200
		if err := open(t, notify.Options{}, within.URL+path).Send(t.Context(), sample); err == nil {
			t.Errorf("%s: %q", path, seen)
		}
	}
	if len(seen) > 6 {
		t.Errorf("%q", seen)
	}
}

func TestAWebhookThatIsNotThereShowsNoToken(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	address := s.URL
	s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := open(t, notify.Options{}, address+"/T0KEN?key=s3cret").Send(ctx, sample)
	if err == nil || strings.Contains(err.Error(), "T0KEN") || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	for _, bad := range []string{"ftp://host/x", "http://", "https://u:s3cret@host/", "http://host:port/s3cret"} {
		if _, err := notify.Open([]string{bad}, notify.Options{}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := notify.Open(nil, notify.Options{}); err == nil {
		t.Error("no way is a way")
	}
}

func TestAWebhookThatHangsIsGivenUp(t *testing.T) {
	hangs := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	defer s.Close()
	defer close(hangs)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := open(t, notify.Options{}, s.URL).Send(ctx, sample); err == nil || time.Since(began) > 3*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// Whoever reads a run's header learns nothing of the way, and the same way has the same name.
func TestID(t *testing.T) {
	a, b := notify.ID([]string{"https://host/s3cret"}), notify.ID([]string{"https://host/other"})
	if a == b || a != notify.ID([]string{"https://host/s3cret"}) || strings.Contains(a, "s3cret") || len(a) != 16 || a == notify.Nobody {
		t.Error(a, b)
	}
	if notify.ID([]string{"a", "b"}) == notify.ID([]string{"a b"}) {
		t.Error("two commands have one name")
	}
}
