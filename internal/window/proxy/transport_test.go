package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/repair"
)

func TestUpstreamOverHTTP2(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the upstream was asked over %s", r.Proto)
		}
		if _, ok := r.Header["User-Agent"]; ok || r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("headers were added: %v", r.Header)
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "X-Sum")
		_, _ = w.Write(body)
		w.Header().Set("X-Sum", "1")
		w.Header().Set(http.TrailerPrefix+"X-Late", "2")
	}))
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	defer upstream.Close()
	transport := NewTransport()
	defer transport.CloseIdleConnections()
	roots := x509.NewCertPool()
	roots.AddCert(upstream.Certificate())
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	_, root, _ := start(t, upstream.URL, Options{Transport: transport})
	r, _ := http.NewRequest(http.MethodPost, root+"/openai/v1/files", strings.NewReader("hello"))
	r.Header["User-Agent"] = nil
	res, err := (&http.Transport{DisableCompression: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || string(text) != "hello" || res.Trailer.Get("X-Sum") != "1" || res.Trailer.Get("X-Late") != "2" {
		t.Errorf("%q, %v, trailers %v", text, err, res.Trailer)
	}
}

func TestProxyOfTheEnvironment(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	t.Setenv("NO_PROXY", "direct.example")
	transport := NewTransport()
	for target, want := range map[string]string{
		"https://api.openai.com/v1": "http://127.0.0.1:9", "http://plain.example": "http://127.0.0.1:9",
		"https://direct.example": "", "http://127.0.0.1:8080": "", "http://localhost:8080": "", "http://[::1]:8080": "",
	} {
		u, _ := url.Parse(target)
		via, err := transport.Proxy(&http.Request{URL: u})
		got := ""
		if via != nil {
			got = via.String()
		}
		if err != nil || got != want {
			t.Errorf("%s goes through %q (%v), want %q", target, got, err, want)
		}
	}
}

type keys struct{}

func (keys) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDTEST", SecretAccessKey: "secret-of-a-test", SessionToken: "session"}, nil
}

func TestBedrockIsSignedAnew(t *testing.T) {
	t.Parallel()
	var body []byte
	var got *http.Request
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	defer upstream.Close()
	_, root, j := start(t, upstream.URL, Options{
		Token:     testToken,
		Upstreams: []Upstream{{Name: "bedrock", URL: upstream.URL, AWS: &AWS{Credentials: keys{}, Region: "eu-west-1"}}},
	})
	long := "toolu_" + strings.Repeat("x", repair.BedrockMaxID)
	for path, sent := range map[string]string{
		"/model/anthropic.claude-sonnet-4-v1%3A0/invoke":   `{"anthropic_version":"bedrock-2023-05-31","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`,
		"/model/us.anthropic.claude-opus-4/invoke":         `{"anthropic_version":"bedrock-2023-05-31","max_tokens":10,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"` + long + `","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + long + `","content":"r"}]}]}`,
		"/model/amazon.nova-pro-v1%3A0/converse?trace=yes": `{"messages":[]}`,
	} {
		r, _ := http.NewRequest(http.MethodPost, root+"/"+testToken+"/bedrock"+path, strings.NewReader(sent))
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=OLD/20260101/eu-west-1/bedrock/aws4_request, SignedHeaders=host, Signature=00")
		r.Header.Set("X-Amz-Date", "20200101T000000Z")
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, res.Status)
		}
		if edited := strings.Contains(path, "opus"); edited == (string(body) == sent) {
			t.Errorf("%s: the body is %s", path, body)
		}
		checkSignature(t, got, body)
	}
	for rec := range j.Since(0) {
		if text, _ := rec.MarshalJSON(); strings.Contains(string(text), "secret-of-a-test") || strings.Contains(string(text), "AKID") {
			t.Errorf("an event holds a key: %s", text)
		}
	}
}

// What a client sends after a body reaches the provider, also where the body is looked into, unless it was changed.
func TestTrailersOfARequestAreSent(t *testing.T) {
	t.Parallel()
	var got http.Header
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got = r.Trailer
		_, _ = io.WriteString(w, "{}")
	}))
	defer upstream.Close()
	_, root, _ := start(t, upstream.URL, Options{Token: testToken})
	for _, path := range []string{"/openai/v1/chat/completions", "/openai/v1/files"} {
		body := struct{ io.Reader }{strings.NewReader(`{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`)} // of no known length
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, root+"/"+testToken+path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Trailer = http.Header{"X-Checksum": {"42"}}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 200 || got.Get("X-Checksum") != "42" {
			t.Errorf("%s: %s with the trailers %v", path, res.Status, got)
		}
	}
}

// checkSignature signs what arrived at the time it says, and compares.
func checkSignature(t *testing.T, r *http.Request, body []byte) {
	t.Helper()
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	authorization := r.Header.Get("Authorization")
	if !strings.Contains(authorization, "Credential=AKIDTEST/") || !strings.Contains(authorization, "/eu-west-1/bedrock/") {
		t.Errorf("it is signed as %s", authorization)
	}
	_, list, _ := strings.Cut(authorization, "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	again := r.Clone(t.Context())
	again.URL.Scheme, again.URL.Host = "http", r.Host
	for name := range again.Header {
		if !strings.Contains(";"+list+";", ";"+strings.ToLower(name)+";") {
			delete(again.Header, name)
		}
	}
	again.ContentLength = int64(len(body))
	if err := v4.NewSigner().SignHTTP(t.Context(), must(keys{}.Retrieve(t.Context())), again, hexSum(body), "bedrock", "eu-west-1", at); err != nil {
		t.Fatal(err)
	}
	if want := again.Header.Get("Authorization"); authorization != want {
		t.Errorf("the signature is\n%s, want\n%s", authorization, want)
	}
}

// A provider whose clock is not ours gets a signature by its own, from the second try on.
func TestTheClockOfASignatureIsCorrected(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	var off time.Duration
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tries.Add(1)
		body, _ := io.ReadAll(r.Body)
		theirs := time.Now().Add(off).UTC()
		w.Header().Set("Date", theirs.Format(http.TimeFormat))
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil || at.Sub(theirs).Abs() > 5*time.Minute {
			w.Header().Set("X-Amzn-Errortype", "InvalidSignatureException")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"message":"Signature expired"}`)
			return
		}
		checkSignature(t, r, body)
		if strings.Contains(string(body), "forbidden") {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer upstream.Close()
	for _, off = range []time.Duration{3 * time.Hour, -20 * time.Minute} {
		_, root, _ := start(t, upstream.URL, Options{
			Token:     testToken,
			Upstreams: []Upstream{{Name: "bedrock", URL: upstream.URL, AWS: &AWS{Credentials: keys{}, Region: "eu-west-1"}}},
		})
		ask := func(path, body string) (status, used int) {
			before := tries.Load()
			res, err := http.Post(root+"/"+testToken+"/bedrock"+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			return res.StatusCode, int(tries.Load() - before)
		}
		const model = "/model/anthropic.claude-sonnet-4-v1%3A0/invoke"
		const plain = `{"anthropic_version":"bedrock-2023-05-31","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
		for i, want := range []int{2, 1} {
			if status, used := ask(model, plain); status != 200 || used != want {
				t.Errorf("by %s off, request %d: %d after %d tries", off, i+1, status, used)
			}
		}
		if status, used := ask("/other", "{}"); status != 200 || used != 1 {
			t.Errorf("what is not looked into: %d after %d tries", status, used)
		}
		if status, used := ask("/other", "forbidden"); status != 403 || used != 1 {
			t.Errorf("a refusal that is not the clock's: %d after %d tries", status, used)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAWSFailureSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, root, j := start(t, "", Options{
		Token:     testToken,
		Upstreams: []Upstream{{Name: "bedrock", URL: "http://127.0.0.1:1", AWS: &AWS{Credentials: aws.CredentialsProviderFunc(noKeys), Region: "eu-west-1"}}},
	})
	for _, path := range []string{"/model/anthropic.claude/invoke", "/model/x/converse"} {
		res, text := post(t, root+"/"+testToken+"/bedrock"+path, `{"messages":[{"role":"user","content":"hi"}]}`)
		if res.StatusCode != http.StatusBadGateway || !strings.Contains(text, "sts get-caller-identity") || strings.Contains(text, "profile of") || res.Header.Get("X-Amzn-Errortype") == "" {
			t.Errorf("%s: %s %s %v", path, res.Status, text, res.Header)
		}
	}
	if n := len(events[journal.WindowRefused](j)); n != 2 {
		t.Errorf("%d refusals, want 2", n)
	}
}

func noKeys(context.Context) (aws.Credentials, error) {
	return aws.Credentials{}, &aws.MissingRegionError{}
}
