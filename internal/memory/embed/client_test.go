package embed_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/embed"
	"github.com/plimsoll/plimsoll/internal/testing/embedserver"
)

func client(t *testing.T, o embed.ClientOptions) *embed.Client {
	t.Helper()
	if o.Model == "" {
		o.Model = embedserver.Model
	}
	c, err := embed.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	s := embedserver.New(t)
	c := client(t, embed.ClientOptions{URL: s.URL + "/", Key: "sk-1"})
	got, err := c.Embed(t.Context(), []string{"the car is red", "lunch is at noon", "a red automobile, the car"})
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	near, far := got[0].Cosine(got[2]), got[0].Cosine(got[1])
	if near < 0.6 || near <= far || got[0].Cosine(got[0]) < 0.99 {
		t.Errorf("cosines %v and %v", near, far)
	}
	if keys := s.Keys(); len(keys) != 1 || keys[0] != "Bearer sk-1" {
		t.Errorf("keys %q", keys)
	}
	if _, err := c.Embed(t.Context(), []string{strings.Repeat("é", embed.MaxText), "\xff"}); err != nil {
		t.Error(err)
	}
	texts := s.Texts()
	if long := texts[3]; len(long) > embed.MaxText || !strings.HasPrefix(long, "éé") {
		t.Errorf("%d bytes of a long text were sent", len(long))
	}
	if _, err := c.Embed(t.Context(), make([]string, embed.MaxBatch+1)); err == nil {
		t.Error("a request of too many texts")
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, bad := range []embed.ClientOptions{
		{URL: "localhost:11434", Model: "m"},
		{URL: "ftp://x/v1", Model: "m"},
		{URL: "http://u:secret@127.0.0.1/v1", Model: "m"},
		{URL: "http://127.0.0.1/v1?key=secret", Model: "m"},
		{URL: "http://127.0.0.1/v1"},
		{URL: "http://models.example/v1", Model: "m", Key: "secret"}, // in clear text
		{URL: "https://models.example/v1", Model: "m", Key: "secret\n"},
	} {
		if _, err := embed.NewClient(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for _, good := range []embed.ClientOptions{
		{URL: "http://127.0.0.1:1/v1", Model: "m", Key: "k"},
		{URL: "http://localhost/v1", Model: "m", Key: "k"},
		{URL: "http://[::1]/v1", Model: "m", Key: "k"},
		{URL: "http://gpu.lan:8080/v1", Model: "m"},
		{URL: "https://models.example/v1", Model: "m", Key: "k"},
	} {
		if _, err := embed.NewClient(good); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
}

// TestRedirects: neither texts nor the key go to a host that nobody named.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	_, err := client(t, embed.ClientOptions{URL: first.URL, Key: "sk-1"}).Embed(t.Context(), []string{"x"})
	if err == nil || !strings.Contains(err.Error(), "redirect") || strings.Contains(err.Error(), "sk-1") || elsewhere.Load() != 0 {
		t.Errorf("%v, %d requests elsewhere", err, elsewhere.Load())
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	private := "what was said"
	for name, answer := range map[string]http.HandlerFunc{
		"no JSON":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<p>" + private)) },
		"too few":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[]}`)) },
		"no direction": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[{"embedding":[0,0]}]}`)) },
		"a wrong index": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"data":[{"index":7,"embedding":[1]}]}`))
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for range 9 << 10 {
				_, _ = w.Write(make([]byte, 1<<10))
			}
		},
		"unauthorised":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, private, http.StatusUnauthorized) },
		"no such model": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, private, http.StatusNotFound) },
		"broken":        func(w http.ResponseWriter, _ *http.Request) { http.Error(w, private, http.StatusBadGateway) },
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
		},
		"never an answer": func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() },
	} {
		h := httptest.NewServer(answer)
		_, err := client(t, embed.ClientOptions{URL: h.URL, Key: "sk-1", Timeout: 2 * time.Second}).Embed(t.Context(), []string{private})
		if err == nil || strings.Contains(err.Error(), private) || strings.Contains(err.Error(), "sk-1") || errors.Is(err, embed.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		h.CloseClientConnections()
		h.Close()
	}
}

// TestRest: a service that fails is left alone, for longer each time, and one that refuses a text is not.
func TestRest(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	s := embedserver.New(t)
	c := client(t, embed.ClientOptions{URL: s.URL, Now: func() time.Time { return now }})
	ask := func() error { _, err := c.Embed(t.Context(), []string{"x"}); return err }
	s.Fail(http.StatusBadRequest)
	for range 5 {
		if err := ask(); !errors.Is(err, embed.ErrRefused) {
			t.Fatal(err)
		}
	}
	s.Fail(http.StatusInternalServerError)
	for range 3 {
		if err := ask(); err == nil || errors.Is(err, embed.ErrResting) {
			t.Fatal(err)
		}
	}
	for _, rest := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		before := len(s.Keys())
		now = now.Add(rest - time.Second)
		if err := ask(); !errors.Is(err, embed.ErrResting) || len(s.Keys()) != before {
			t.Fatalf("%s after a failure: %v", rest-time.Second, err)
		}
		now = now.Add(time.Second)
		if err := ask(); err == nil || errors.Is(err, embed.ErrResting) || len(s.Keys()) != before+1 {
			t.Fatalf("%s after a failure: %v", rest, err)
		}
	}
	now = now.Add(time.Hour)
	s.Fail(http.StatusOK)
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	// Whoever asks and goes says nothing of the service.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		if _, err := c.Embed(ctx, []string{"x"}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
}
