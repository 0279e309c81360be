package simulator

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseFaults(t *testing.T) {
	t.Parallel()
	got, err := ParseFaults("latency=200ms,per-item=1ms, cut=100000,status=401,half-started=2,html,silent,expired")
	want := Faults{Latency: 200 * time.Millisecond, PerItem: time.Millisecond, CutAfter: 100_000, Status: 401, HalfStarted: 2, HTML: true, Silent: true, Expired: true}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ParseFaults(" "); err != nil || got != (Faults{}) {
		t.Errorf("nothing: %+v, %v", got, err)
	}
	for text, word := range map[string]string{
		"slow":                        "known are",
		"latency=fast":                "fast",
		"latency=-1s":                 "below 0",
		"cut=0":                       "above 0",
		"cut=x":                       "cut",
		"status=200":                  "400 to 599",
		"half-started=-1":             "above 0",
		"html=maybe":                  "maybe",
		"html,html":                   "twice",
		"status=99999999999999999999": "400 to 599",
	} {
		if got, err := ParseFaults(text); err == nil || !strings.Contains(err.Error(), word) || got != (Faults{}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Options{
		"":                 {},
		"100_000":          {Applications: 100_000},
		"1,2,3,4":          {Applications: 1, Projects: 2, ApplicationSets: 3, Clusters: 4},
		" 5 , ,0":          {Applications: 5, ApplicationSets: None},
		"819,236,287,13":   {Applications: 819, Projects: 236, ApplicationSets: 287, Clusters: 13},
		"10000000,1,1,100": {Applications: Max, Projects: 1, ApplicationSets: 1, Clusters: 100},
	} {
		got, err := ParseSize(text)
		if err != nil || got.Applications != want.Applications || got.Projects != want.Projects || got.ApplicationSets != want.ApplicationSets || got.Clusters != want.Clusters {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, word := range map[string]string{"1,2,3,4,5": "5 numbers", "x": `applications: "x"`, "1,-2": "projects: -2", "1,2,3,10000001": "clusters: 10000001", "1.5": "1.5"} {
		if _, err := ParseSize(text); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, o := range []Options{{Applications: -2}, {Clusters: Max + 1}, {Version: "new"}, {Token: "a", Tokens: map[string]Access{"a": {Name: "b"}}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func TestCutList(t *testing.T) {
	t.Parallel()
	s, srv := serving(t, Options{Applications: 50, Faults: Faults{CutAfter: 100_000}})
	for _, packed := range []string{"identity", "gzip"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/api/v1/applications", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", packed)
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close() // broken already
		if !errors.Is(err, io.ErrUnexpectedEOF) || packed == "identity" && len(body) != 100_000 {
			t.Errorf("%s: %d bytes, %v", packed, len(body), err)
		}
	}
	if got := ask(t, srv, asking{path: "/api/version"}); got.status != http.StatusOK {
		t.Errorf("what is no list: %d", got.status)
	}
	s.Set(Faults{})
	if got := ask(t, srv, asking{path: "/api/v1/applications"}); len(itemsOf(t, got.body)) != 50 {
		t.Error("after the fault the list is not whole")
	}
}

// A list that was not read yet is null and has no version; one that is empty has.
func TestHalfStarted(t *testing.T) {
	t.Parallel()
	s := sim(t, Options{Applications: 30, ApplicationSets: None, Faults: Faults{HalfStarted: 2}})
	for i, want := range []int{0, 0, 30} {
		if n := len(items(t, s, "/api/v1/applications")); n != want {
			t.Errorf("list %d has %d", i, n)
		}
	}
	for path, want := range map[string]string{
		"/api/v1/applications":                                                 `{"metadata":{},"items":null}`,
		"/api/v1/applications?fields=items.metadata.name":                      `{"items":null,"metadata":{}}`,
		"/api/v1/projects?fields=metadata.resourceVersion,items.metadata.name": `{"items":null,"metadata":{}}`,
		"/api/v1/applicationsets":                                              `{"metadata":{},"items":null}`,
	} {
		s.Set(Faults{HalfStarted: 1})
		if got := do(s, http.MethodGet, path, "").Body.String(); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	for path, want := range map[string]string{
		"/api/v1/applicationsets": `{"metadata":{"resourceVersion":"3166"},"items":null}`,
		"/api/v1/applications?name=no&fields=metadata.resourceVersion,items.metadata.name": `{"items":null,"metadata":{"resourceVersion":"3166"}}`,
	} {
		if got := do(s, http.MethodGet, path, "").Body.String(); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestStatusAndLoginPage(t *testing.T) {
	t.Parallel()
	s := sim(t, Options{})
	for _, status := range []int{401, 403, 429, 500, 502, 503, 504} {
		s.Set(Faults{Status: status})
		w := do(s, http.MethodGet, "/api/v1/applications", "")
		if w.Code != status || w.Body.Len() == 0 {
			t.Errorf("%d: %d %s", status, w.Code, w.Body)
		}
		if w := do(s, http.MethodGet, "/api/version", ""); w.Code != http.StatusOK {
			t.Errorf("%d: version is %d", status, w.Code)
		}
	}
	s.Set(Faults{HTML: true})
	if w := do(s, http.MethodGet, "/api/v1/applications", ""); w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "<!doctype html>") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestTimesPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sim(t, Options{Applications: 10, Faults: Faults{Latency: 3 * time.Second, PerItem: time.Second}})
		start := time.Now()
		if n := len(items(t, s, "/api/v1/applications")); n != 10 {
			t.Errorf("%d applications", n)
		}
		if passed := time.Since(start); passed != 13*time.Second {
			t.Errorf("%v passed", passed)
		}
	})
}

// A silent server holds the request until the client goes.
func TestSilent(t *testing.T) {
	t.Parallel()
	_, srv := serving(t, Options{Faults: Faults{Silent: true}})
	client := *srv.Client()
	client.Timeout = 50 * time.Millisecond
	resp, err := client.Get(srv.URL + "/api/version")
	if err == nil {
		_ = resp.Body.Close() // nothing is read of it
		t.Errorf("answered with %d", resp.StatusCode)
	}
}
