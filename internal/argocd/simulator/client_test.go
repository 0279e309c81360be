package simulator

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// asking is a request of a test.
type asking struct {
	method, path, body string
	header             map[string]string
}

type answered struct {
	status int
	header http.Header
	body   []byte
	chunks bool
}

func sim(t testing.TB, o Options) *Simulator {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func serving(t *testing.T, o Options) (*Simulator, *httptest.Server) {
	t.Helper()
	s := sim(t, o)
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv
}

// ask sends a request over a real connection; gzip is not asked for unless a header does.
func ask(t *testing.T, srv *httptest.Server, a asking) answered {
	t.Helper()
	if a.method == "" {
		a.method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(t.Context(), a.method, srv.URL+a.path, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept-Encoding", "identity")
	for k, v := range a.header {
		r.Header.Set(k, v)
	}
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	return answered{resp.StatusCode, resp.Header, body, len(resp.TransferEncoding) > 0}
}

// do sends a request without a connection.
func do(s *Simulator, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/json")
	}
	s.ServeHTTP(w, r)
	return w
}

// items asks for a list and returns what is in it.
func items(t *testing.T, s *Simulator, path string) []map[string]any {
	t.Helper()
	w := do(s, http.MethodGet, path, "")
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return itemsOf(t, w.Body.Bytes())
}

func itemsOf(t testing.TB, body []byte) []map[string]any {
	t.Helper()
	var list struct{ Items []map[string]any }
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&list); err != nil {
		t.Fatalf("a list that is none: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Fatalf("behind the list: %v", err)
	}
	return list.Items
}

func names(items []map[string]any) []string {
	var all []string
	for _, i := range items {
		all = append(all, text(i, "metadata", "name"))
	}
	return all
}
