package argocd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPathIsWhatItSays(t *testing.T) {
	t.Parallel()
	var got string
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		got = r.RequestURI
		_, _ = io.WriteString(w, `{}`)
	})
	for want, path := range map[string][]string{
		"/api/v1/clusters/https%3A%2F%2F10.0.0.1%3A6443": {"clusters", "https://10.0.0.1:6443"},
		"/api/v1/applications/a%20b%2Fc%25d%3Fe%23f":     {"applications", "a b/c%d?e#f"},
		"/api/v1/applications/%E2%82%AC/events":          {"applications", "€", "events"},
		"/api/version":                                   {"api", "version"},
		"/api/v1/a%2F..%2F..":                            {"a/../.."},
	} {
		if _, err := c.Get(t.Context(), path, nil); err != nil || got != want {
			t.Errorf("%q: %s, want %s (%v)", path, got, want, err)
		}
	}
	got = ""
	for _, path := range [][]string{{"applications", ""}, {"applications", ".."}, {"applications", "."}} {
		if _, err := c.Get(t.Context(), path, nil); asError(t, err).Kind != Invalid || got != "" {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := c.Get(t.Context(), []string{"applications", "a"}, url.Values{"project": {"a b&c"}}); err != nil || got != "/api/v1/applications/a?project=a+b%26c" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAQueryHasWhatTheListHonours(t *testing.T) {
	t.Parallel()
	all := Query{Projects: []string{"a", "b,c"}, Name: "n", Repo: "r", Selector: "x=y", AppNamespace: "ns", Server: "https://s", Fields: []string{"spec.project", "metadata.name"}}
	for kind, want := range map[Kind]string{
		Applications:    "appNamespace=ns&fields=metadata.resourceVersion%2Citems.metadata.name%2Citems.spec.project&name=n&projects=a&projects=b%2Cc&repo=r&selector=x%3Dy",
		Projects:        "fields=metadata.resourceVersion%2Citems.metadata.name%2Citems.spec.project",
		ApplicationSets: "appsetNamespace=ns&projects=a&projects=b%2Cc&selector=x%3Dy",
		Clusters:        "name=n&server=https%3A%2F%2Fs",
	} {
		c := offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/api/version" {
				return response(r, 200, `{"Version":"v3.5.1+109ca7c"}`), nil
			}
			if r.URL.RawQuery != want {
				t.Errorf("%s: %s, want %s", kind, r.URL.RawQuery, want)
			}
			return response(r, 200, `{"items":[]}`), nil
		})
		info, err := c.List(t.Context(), kind, all, nothing)
		if narrowed := kind == Applications || kind == Projects; err != nil || info.Narrowed != narrowed {
			t.Errorf("%s: %+v, %v", kind, info, err)
		}
	}
	c := offline(t, Options{}, nil)
	if _, err := c.List(t.Context(), "pods", Query{}, nothing); asError(t, err).Kind != Invalid {
		t.Error(err)
	}
}

func TestCallsThatChangeNothingAreRepeated(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for name, test := range map[string]struct {
		answer  func(r *http.Request) (*http.Response, error)
		retries int
		calls   int
		took    time.Duration
		kind    ErrorKind
	}{
		"no connection":   {func(*http.Request) (*http.Response, error) { return nil, refused }, 0, 4, 1750 * time.Millisecond, Unreachable},
		"never":           {func(*http.Request) (*http.Response, error) { return nil, refused }, -1, 1, 0, Unreachable},
		"no such host":    {func(*http.Request) (*http.Response, error) { return nil, &net.DNSError{IsNotFound: true} }, 0, 1, 0, Unreachable},
		"502":             {func(r *http.Request) (*http.Response, error) { return response(r, 502, ""), nil }, 1, 2, 250 * time.Millisecond, Server},
		"503":             {func(r *http.Request) (*http.Response, error) { return response(r, 503, ""), nil }, 2, 3, 750 * time.Millisecond, Server},
		"504":             {func(r *http.Request) (*http.Response, error) { return response(r, 504, ""), nil }, 1, 2, 250 * time.Millisecond, Timeout},
		"500":             {func(r *http.Request) (*http.Response, error) { return response(r, 500, ""), nil }, 0, 1, 0, Server},
		"429 in 7 s":      {func(r *http.Request) (*http.Response, error) { return response(r, 429, "", "Retry-After", "7"), nil }, 1, 2, 7 * time.Second, Server},
		"429 in an hour":  {func(r *http.Request) (*http.Response, error) { return response(r, 429, "", "Retry-After", "3600"), nil }, 1, 1, 0, Server},
		"503 with a word": {func(r *http.Request) (*http.Response, error) { return response(r, 503, "", "Retry-After", "soon"), nil }, 1, 1, 0, Server},
		"silent":          {func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }, 0, 1, time.Minute, Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				c := offline(t, Options{Retries: test.retries}, func(r *http.Request) (*http.Response, error) {
					calls++
					return test.answer(r)
				})
				start := time.Now()
				_, err := c.List(t.Context(), Clusters, Query{}, nothing)
				if e := asError(t, err); e.Kind != test.kind || calls != test.calls || time.Since(start) != test.took {
					t.Errorf("%v (%s) after %d calls and %s", err, e.Kind, calls, time.Since(start))
				}
				calls = 0
				_, err = c.Call(t.Context(), http.MethodPost, []string{"applications", "a", "sync"}, nil, nil)
				if e := asError(t, err); calls != 1 || e.Kind != Invalid && e.Kind != Timeout && !strings.Contains(e.Error(), "not repeated") && !strings.Contains(e.Error(), "try again") && !strings.Contains(e.Error(), "asks to wait") && !strings.Contains(e.Error(), "check the host") {
					t.Errorf("a write: %v after %d calls", err, calls)
				}
			})
		})
	}
}

// A question that has a body is a POST, and is repeated all the same, with its body.
func TestQuestionsThatArePostsAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var bodies []string
		c := offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			if bodies = append(bodies, r.Method+" "+string(body)); len(bodies) < 3 {
				return response(r, 503, ""), nil
			}
			return response(r, 200, `{"applications":[]}`), nil
		})
		got, err := c.Ask(t.Context(), []string{"applicationsets", "generate"}, nil, []byte(`{"a":1}`))
		if want := `POST {"a":1}`; err != nil || string(got) != `{"applications":[]}` || len(bodies) != 3 || bodies[0] != want || bodies[2] != want {
			t.Errorf("%s, %v after %q", got, err, bodies)
		}
		bodies = nil
		c = offline(t, Options{Retries: -1}, func(r *http.Request) (*http.Response, error) { return response(r, 500, ""), nil })
		if _, err := c.Ask(t.Context(), []string{"applicationsets", "generate"}, nil, nil); strings.Contains(asError(t, err).Error(), "look at what it did") {
			t.Errorf("a question: %v", err)
		}
	})
}

func TestARepetitionThatSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				return response(r, 503, ""), nil
			}
			return response(r, 200, `{"items":[{}]}`), nil
		})
		if info, err := c.List(t.Context(), Clusters, Query{}, nothing); err != nil || info.Items != 1 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

func TestWaitingForARepetitionEndsWithTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
			return response(r, 503, `{"message":"redis is away"}`, "Retry-After", "15"), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := c.List(ctx, Clusters, Query{}, nothing)
		if e := asError(t, err); e.Kind != Timeout || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(e.Message, "redis is away") {
			t.Errorf("%v (%s)", err, e.Kind)
		}
	})
}

// pausing is a body whose parts come with pauses.
type pausing struct {
	ctx   context.Context
	parts []string
	pause time.Duration
}

func (p *pausing) Read(b []byte) (int, error) {
	if len(p.parts) == 0 {
		return 0, io.EOF
	}
	if err := sleep(p.ctx, p.pause); err != nil {
		return 0, p.ctx.Err()
	}
	n := copy(b, p.parts[0])
	p.parts = p.parts[1:]
	return n, nil
}

func (*pausing) Close() error { return nil }

func slow(t *testing.T, pause time.Duration, parts ...string) *Client {
	return offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
		resp := response(r, 200, "")
		resp.Body, resp.ContentLength = &pausing{r.Context(), append([]string(nil), parts...), pause}, -1
		return resp, nil
	})
}

func TestABodyMayBeSlowButNotSilent(t *testing.T) {
	t.Parallel()
	parts := []string{`{"items":`, `[{"a":1},`, `{"b":2}`, `]`, `}`}
	synctest.Test(t, func(t *testing.T) {
		info, err := slow(t, 59*time.Second, parts...).List(t.Context(), Clusters, Query{}, func([]byte) error {
			time.Sleep(time.Hour) // what is done here is not the server's time
			return nil
		})
		if err != nil || info.Items != 2 {
			t.Errorf("slow: %+v, %v", info, err)
		}
		info, err = slow(t, 61*time.Second, parts...).List(t.Context(), Clusters, Query{}, nothing)
		if e := asError(t, err); e.Kind != Timeout || !errors.Is(err, errSilent) {
			t.Errorf("silent: %+v, %v", info, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		info, err = slow(t, 40*time.Second, parts...).List(ctx, Clusters, Query{}, nothing)
		if e := asError(t, err); e.Kind != Timeout || !errors.Is(err, context.DeadlineExceeded) || info.Items != 1 {
			t.Errorf("the caller's time: %+v, %v", info, err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		_, err = slow(t, time.Second, parts...).List(ctx, Clusters, Query{}, func([]byte) error { cancel(); return nil })
		if e := asError(t, err); e.Kind != Broken || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func TestAListOfNullIsReadAgain(t *testing.T) {
	t.Parallel()
	const starting, empty = `{"items":null,"metadata":{}}`, `{"metadata":{"resourceVersion":"7"},"items":null}`
	for name, test := range map[string]struct {
		kind    Kind
		answers []string // the last one for good
		info    ListInfo
		calls   int
		took    time.Duration
		failed  bool
	}{
		"a start":                  {Applications, []string{starting, starting, starting, starting, `{"items":[{}]}`}, ListInfo{Items: 1, Bytes: 14, Reread: true}, 5, 3750 * time.Millisecond, false},
		"a start, without members": {Projects, []string{`{"items":null}`, `{"items":null,"metadata":null}`, `{"items":[{}]}`}, ListInfo{Items: 1, Bytes: 14, Reread: true}, 3, 750 * time.Millisecond, false},
		"a start that is empty":    {ApplicationSets, []string{starting, empty}, ListInfo{Bytes: int64(len(empty)), Reread: true}, 2, 250 * time.Millisecond, false},
		"a start without an end":   {Applications, []string{starting}, ListInfo{Bytes: int64(len(starting)), Reread: true}, 12, 30 * time.Second, true},
		"empty":                    {Applications, []string{empty}, ListInfo{Bytes: int64(len(empty))}, 1, 0, false},
		"empty, version behind":    {Projects, []string{`{"items":null,"metadata":{"resourceVersion":"7"}}`}, ListInfo{Bytes: 49}, 1, 0, false},
		"clusters that come":       {Clusters, []string{starting, `{"items":[{}]}`}, ListInfo{Items: 1, Bytes: 14, Reread: true}, 2, time.Second, false},
		"no clusters":              {Clusters, []string{starting}, ListInfo{Bytes: int64(len(starting)), Reread: true}, 2, time.Second, false},
		"no repositories":          {Repositories, []string{starting}, ListInfo{Bytes: int64(len(starting)), Reread: true}, 2, time.Second, false},
		"a list":                   {Applications, []string{`{"items":[]}`}, ListInfo{Bytes: 12}, 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				c := offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
					calls++
					return response(r, 200, test.answers[min(calls, len(test.answers))-1]), nil
				})
				start := time.Now()
				info, err := c.List(t.Context(), test.kind, Query{}, nothing)
				if info != test.info || calls != test.calls || time.Since(start) != test.took {
					t.Errorf("%+v, %v, %d calls in %s", info, err, calls, time.Since(start))
				}
				if !test.failed && err != nil || test.failed && (asError(t, err).Kind != Server || !strings.Contains(err.Error(), "has just started")) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// A call that ends while the server starts says that it does.
func TestACallDoesNotOutliveItsTimeForAStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := offline(t, Options{}, func(r *http.Request) (*http.Response, error) {
			return response(r, 200, `{"items":null,"metadata":{}}`), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err := c.List(ctx, Applications, Query{}, nothing)
		if e := asError(t, err); e.Kind != Timeout || !strings.Contains(e.Message, "has just started") || time.Since(start) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for to, want := range map[string]string{
		other.URL + "/api/v1/clusters?token=x": "another host",
		"/login?return_url=x":                  "login page",
		other.URL + "/dex/auth?state=x":        "login page",
		"/loop":                                "to where it leads",
		"":                                     "check the URL",
	} {
		c := serve(t, Options{Token: StaticToken("secret-token")}, func(w http.ResponseWriter, r *http.Request) {
			if to != "" {
				w.Header().Set("Location", to)
			}
			w.WriteHeader(http.StatusFound)
		})
		_, err := c.List(t.Context(), Clusters, Query{}, nothing)
		if e := asError(t, err); e.Kind != NotArgoCD || !strings.Contains(e.Hint, want) || strings.Contains(e.Error(), "=x") {
			t.Errorf("%s: %v (%s)", to, err, e.Kind)
		}
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect to another host was followed")
	}
	c := offline(t, Options{URL: "http://argocd.example.com"}, func(r *http.Request) (*http.Response, error) {
		return response(r, 307, "", "Location", "https://argocd.example.com/api/v1/clusters"), nil
	})
	if _, err := c.List(t.Context(), Clusters, Query{}, nothing); !strings.Contains(asError(t, err).Hint, "write https://") {
		t.Error(err)
	}
	c = serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/new") {
			http.Redirect(w, r, "/new"+r.URL.Path, http.StatusMovedPermanently)
			return
		}
		_, _ = io.WriteString(w, `{"items":[]}`)
	})
	if _, err := c.List(t.Context(), Clusters, Query{}, nothing); err != nil {
		t.Errorf("on the same origin: %v", err)
	}
}

func TestHeadersOfARequest(t *testing.T) {
	t.Parallel()
	var got *http.Request
	o := Options{
		Token: StaticToken(" Bearer own-token\n"), UserAgent: "tester/1",
		Header: http.Header{"X-Proxy": {"a"}, "Authorization": {"Basic zzz"}, "Cookie": {"argocd.token=zzz"}, "host": {"virtual.example.com"}},
	}
	c := serve(t, o, func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = io.WriteString(w, `{}`)
	})
	if _, err := c.Call(t.Context(), http.MethodDelete, []string{"applications", "a"}, nil, nil); err != nil {
		t.Fatal(err)
	}
	h := got.Header
	if h.Get("Authorization") != "Bearer own-token" || h.Get("Content-Type") != "application/json" || h.Get("User-Agent") != "tester/1" || h.Get("X-Proxy") != "a" || h.Get("Cookie") == "" || got.Host != "virtual.example.com" {
		t.Errorf("own: %v, host %s", h, got.Host)
	}
	for token, want := range map[string]string{"users-token": "Bearer users-token", "": ""} {
		if _, err := c.As(token).Get(t.Context(), []string{"clusters"}, nil); err != nil {
			t.Fatal(err)
		}
		if h := got.Header; h.Get("Authorization") != want || h.Get("Cookie") != "" || h.Get("X-Proxy") != "a" {
			t.Errorf("as %q: %v", token, h)
		}
	}
	_, err := c.As("with\nnewline").Get(t.Context(), []string{"clusters"}, nil)
	if e := asError(t, err); e.Kind != Unauthenticated || strings.Contains(e.Error(), "newline") {
		t.Errorf("%v", err)
	}
}

func TestNothingSecretIsPrinted(t *testing.T) {
	t.Parallel()
	o := Options{Name: "prod", URL: "https://argocd.example.com", Header: http.Header{"Authorization": {"Bearer SECRET"}}, KeyData: nil, Token: StaticToken("SECRET")}
	c := client(t, o)
	user := c.As("SECRET-USER")
	o.KeyData = []byte("SECRET")
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, value := range []any{o, &o, c, user, user.Who()} {
			if text := fmt.Sprintf(format, value); strings.Contains(text, "SECRET") || strings.Contains(text, "534543524554") {
				t.Errorf("%s of %T shows a secret: %s", format, value, text)
			}
		}
	}
	if c.Who() == user.Who() || user.Who() != c.As("Bearer SECRET-USER").Who() || user.Who() == c.As("other").Who() || c.As("").Who() == c.Who() {
		t.Error("Who does not keep users apart")
	}
	if user.Name() != "prod" || user.URL() != "https://argocd.example.com" || user.Insecure() {
		t.Errorf("%s %s", user.Name(), user.URL())
	}
}
