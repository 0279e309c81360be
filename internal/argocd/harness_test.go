package argocd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/streams"
)

// serve starts a server and gives a client of it.
func serve(t *testing.T, o Options, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.URL = server.URL
	if o.Name == "" {
		o.Name = "test"
	}
	return client(t, o)
}

func client(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// answers gives the same body with status 200 to every request.
func answers(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// recorded plays an answer of a real server.
func recorded(t *testing.T, name string) http.HandlerFunc {
	t.Helper()
	head, err := os.ReadFile(filepath.Join("testdata", "errors", name+".headers"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join("testdata", "errors", name+".body"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(append(bytes.TrimRight(head, "\r\n"), "\r\n\r\n"...))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		for key, values := range resp.Header {
			if key != "Date" && key != "Content-Length" {
				w.Header()[key] = values
			}
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(body)
	}
}

// packed gives a recorded list as it is stored.
func packed(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "recorded", name+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// asError gives the *Error in err.
func asError(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v (%T), want an *Error", err, err)
	}
	return e
}

func nothing([]byte) error { return nil }

// roundTrip is a transport without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// offline gives a client whose requests f answers.
func offline(t *testing.T, o Options, f roundTrip) *Client {
	t.Helper()
	if o.URL == "" {
		o.URL = "https://argocd.example.com"
	}
	c := client(t, o)
	c.shared.http.Transport = f
	return c
}

func response(r *http.Request, status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(bytes.NewReader([]byte(body))),
		ContentLength: int64(len(body)), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}
}

// newSlowBuffer gives data in small pieces through the smallest buffer that there is.
func newSlowBuffer(data []byte) *bufio.Reader {
	return bufio.NewReaderSize(streams.Equal(data, 7), 16)
}
