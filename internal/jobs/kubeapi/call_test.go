package kubeapi

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// TestMain is the exec plugin too: PLUGIN_PRINTS is what it prints, PLUGIN_COUNT the file in which it counts its calls, beside
// which it keeps what it was told.
func TestMain(m *testing.M) {
	if prints := os.Getenv("PLUGIN_PRINTS"); prints != "" {
		count, _ := os.ReadFile(os.Getenv("PLUGIN_COUNT"))
		_ = os.WriteFile(os.Getenv("PLUGIN_COUNT"), append(count, 'x'), 0o600)
		if prints == "fail" {
			fmt.Fprintln(os.Stderr, "the session of token=hunter2hunter2hunter2 is over:\nlog in")
			os.Exit(3)
		}
		_ = os.WriteFile(os.Getenv("PLUGIN_COUNT")+".info", []byte(os.Getenv("KUBERNETES_EXEC_INFO")), 0o600)
		fmt.Println(strings.ReplaceAll(prints, "COUNT", fmt.Sprint(len(count)+1)))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// pair makes a self-signed certificate and its key, as PEM.
func pair(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("CERTIFICATE", der), pemOf("EC PRIVATE KEY", text)
}

func authority(t *testing.T) string {
	cert, _ := pair(t, "ca")
	return cert
}

// serve starts an API server over TLS, and returns it with the kubeconfig of a user there.
func serve(t *testing.T, user string, handler http.HandlerFunc) (*httptest.Server, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.EnableHTTP2, s.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := base64.StdEncoding.EncodeToString([]byte(pemOf("CERTIFICATE", s.Certificate().Raw)))
	return s, fmt.Sprintf(`
current-context: test
contexts: [{name: test, context: {cluster: test, user: tester, namespace: agents}}]
clusters: [{name: test, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: tester, user: %s}]
`, s.URL, ca, user)
}

// open opens the cluster of a kubeconfig, with waits that take no time.
func open(t *testing.T, config string) *Cluster {
	t.Helper()
	write(t, config)
	c, err := Open("", "")
	if err != nil {
		t.Fatal(err)
	}
	c.Waits = []time.Duration{0, 0}
	return c
}

// Each answer that is none of success is one sentence with the next step.
func TestRefusals(t *testing.T) {
	status := func(reason, message string) string {
		text, _ := json.Marshal(map[string]any{"kind": "Status", "reason": reason, "message": message})
		return string(text)
	}
	var code atomic.Int64
	var body atomic.Value
	_, config := serve(t, "{token: hunter2}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(code.Load()))
		_, _ = io.WriteString(w, body.Load().(string))
	})
	c := open(t, config)
	for _, x := range []struct {
		code       int
		body, want string
	}{
		{401, status("Unauthorized", "Unauthorized"), `log in again`},
		{403, status("Forbidden", `jobs.batch is forbidden: User "tester" cannot create resource "jobs"`), "docs/kubernetes.md has the Role"},
		{403, status("Forbidden", "pods exceeded quota: q, requested: memory=2Gi"), "ask for less memory"},
		{403, status("Forbidden", `violates PodSecurity "restricted:latest"`), "name another one"},
		{404, status("NotFound", `namespaces "agents" not found`), "create the namespace"},
		{404, "<html>nothing here</html>", "is a Kubernetes API"},
		{409, status("AlreadyExists", `jobs.batch "one" already exists`), "a job is submitted once"},
		{422, status("Invalid", "Job is invalid: spec.x: Required value"), "change what the message names"},
		{429, status("TooManyRequests", "too many requests"), "try again in a minute"},
		{500, status("InternalError", "etcdserver: leader changed\n\x1b[31m"), "kubectl get --raw /readyz"},
		{302, "", "a credential must not go"},
	} {
		code.Store(int64(x.code))
		body.Store(x.body)
		err := c.Create(t.Context(), c.Path("batch/v1", "jobs"), map[string]any{}, nil)
		if err == nil || !strings.Contains(err.Error(), x.want) || !strings.HasPrefix(err.Error(), "Kubernetes (context test) does not create jobs in namespace agents: ") {
			t.Errorf("%d: %v; want %q", x.code, err, x.want)
		}
		if HTTPStatus(err) != x.code || strings.ContainsAny(err.Error(), "\n\x1b") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("status %d of %q", HTTPStatus(err), err)
		}
	}
}

// A call that changes nothing is made again after a fault; one that may have been carried out is not, unless the server was only busy.
func TestRetries(t *testing.T) {
	var answers atomic.Value
	var asked atomic.Int64
	_, config := serve(t, "{token: t}", func(w http.ResponseWriter, r *http.Request) {
		list := answers.Load().([]int)
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(list[min(int(asked.Add(1)), len(list))-1])
		_, _ = io.WriteString(w, "{}")
	})
	c := open(t, config)
	for _, x := range []struct {
		method  string
		answers []int
		asked   int64
		ok      bool
	}{
		{"GET", []int{500, 503, 200}, 3, true},
		{"GET", []int{500}, 3, false},
		{"GET", []int{404}, 1, false},
		{"POST", []int{500, 200}, 1, false},
		{"POST", []int{429, 201}, 2, true},
		{"DELETE", []int{504, 200}, 1, false},
	} {
		answers.Store(x.answers)
		asked.Store(0)
		err := c.call(t.Context(), x.method, "/x", nil, nil, nil)
		if asked.Load() != x.asked || (err == nil) != x.ok {
			t.Errorf("%s with %v: asked %d times, %v", x.method, x.answers, asked.Load(), err)
		}
	}
}

func TestBounds(t *testing.T) {
	_, config := serve(t, "{token: t}", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			piece := []byte(strings.Repeat(" ", 1<<20))
			for range maxAnswer>>20 + 1 {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		case "/garbage":
			_, _ = io.WriteString(w, "<html>")
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}
	})
	c := open(t, config)
	for path, want := range map[string]string{"/large": "more than 16 MiB", "/garbage": "no JSON", "/cut": "look whether"} {
		if err := c.Get(t.Context(), path, nil, new(any)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := c.Create(t.Context(), "/x", strings.Repeat("x", maxBody), nil); err == nil || !strings.Contains(err.Error(), "Kubernetes keeps at most 1.5 MiB") {
		t.Errorf("a large body: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Get(ctx, "/x", nil, nil); err == nil || IsTransient(err) || !MayHaveActed(err) {
		t.Errorf("a call that was given up: %v", err)
	}
}

// A server that says nothing is given up when the caller's time is over, with the caller's words.
func TestSilence(t *testing.T) {
	_, config := serve(t, "{token: t}", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("no answer while you waited"))
	defer cancel()
	if err := open(t, config).Get(ctx, "/x", nil, nil); err == nil || !strings.Contains(err.Error(), ": no answer while you waited; look whether") || IsTransient(err) || !MayHaveActed(err) {
		t.Errorf("%v", err)
	}
}

// A certificate that does not fit, and a server that is not there, are told apart, and nothing is sent to either.
func TestConnections(t *testing.T) {
	var asked atomic.Int64
	s, config := serve(t, "{token: t}", func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	other := base64.StdEncoding.EncodeToString([]byte(authority(t)))
	at := strings.Index(config, "certificate-authority-data: ")
	end := at + strings.Index(config[at:], "}")
	with := func(text string) string { return config[:at] + text + config[end:] }
	for text, want := range map[string]string{
		with("certificate-authority-data: " + other):                         "fetch the kubeconfig again",
		config[:end] + ", tls-server-name: elsewhere.invalid" + config[end:]: "set tls-server-name",
		strings.Replace(config, s.URL, "https://127.0.0.1:1", 1):             "is up and reached from here",
	} {
		if err := open(t, text).Create(t.Context(), "/x", 1, nil); err == nil || !strings.Contains(err.Error(), want) || asked.Load() > 0 || MayHaveActed(err) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	for _, text := range []string{config[:end] + ", tls-server-name: example.com" + config[end:], with("insecure-skip-tls-verify: true")} {
		asked.Store(0)
		if err := open(t, text).Get(t.Context(), "/x", nil, nil); err != nil || asked.Load() != 1 {
			t.Errorf("%v", err)
		}
	}
	write(t, config[:end]+", insecure-skip-tls-verify: true"+config[end:])
	if _, err := Open("", ""); err == nil || !strings.Contains(err.Error(), "remove one of them") {
		t.Errorf("an authority that is not asked: %v", err)
	}
}

func TestProxyOfTheCluster(t *testing.T) {
	var through atomic.Value
	through.Store("")
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through.Store(r.Method + " " + r.Host)
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()
	config := strings.Replace(plain, `/base/"`, `", proxy-url: "`+proxy.URL+`"`, 1)
	if err := open(t, config).Get(t.Context(), "/x", nil, nil); err == nil || through.Load() != "CONNECT one.example:6443" {
		t.Errorf("%v went through the proxy as %q", err, through.Load())
	}
}

// who answers with the credential that a call came with, and refuses the ones listed.
func who(refused *atomic.Value) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.Header.Get("Authorization")
		if len(r.TLS.PeerCertificates) > 0 {
			name += "+" + r.TLS.PeerCertificates[0].Subject.CommonName
		}
		if as := r.Header.Get("Impersonate-User"); as != "" {
			name += " as " + as + strings.Join(r.Header.Values("Impersonate-Group"), ",")
		}
		if bad, _ := refused.Load().(string); bad != "" && strings.Contains(name, bad) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(name)
	}
}

func TestTokenOfAFileRotates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	put := func(text string) {
		testfile.Write(t, file, text)
	}
	put("one\n")
	var refused atomic.Value
	_, config := serve(t, fmt.Sprintf("{tokenFile: %q, token: beside, as: deploy, as-groups: [a, b]}", file), who(&refused))
	c := open(t, config)
	now := time.Now()
	c.secret.now = func() time.Time { return now }
	ask := func(want string) {
		t.Helper()
		var name string
		if err := c.Get(t.Context(), "/x", nil, &name); err != nil || name != "Bearer "+want+" as deploya,b" {
			t.Errorf("%q, %v; want %s", name, err, want)
		}
	}
	ask("one")
	put("two")
	ask("one")
	now = now.Add(tokenFresh)
	ask("two")
	put("three")
	refused.Store("two")
	ask("three") // what is refused is read again
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	now = now.Add(tokenFresh)
	ask("beside")
}

// A credential that is refused is renewed also where the server had a fault before.
func TestRefusedAfterAFault(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	put := func(text string) {
		testfile.Write(t, file, text)
	}
	put("old")
	var calls atomic.Int64
	_, config := serve(t, fmt.Sprintf("{tokenFile: %q}", file), func(w http.ResponseWriter, r *http.Request) {
		switch n := calls.Add(1); {
		case n == 1:
			put("new")
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.Header.Get("Authorization") != "Bearer new":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			_ = json.NewEncoder(w).Encode("done")
		}
	})
	var said string
	if err := open(t, config).Get(t.Context(), "/x", nil, &said); err != nil || said != "done" || calls.Load() != 3 {
		t.Errorf("%q after %d calls, %v", said, calls.Load(), err)
	}
}

func TestClientCertificate(t *testing.T) {
	cert, key := pair(t, "tester")
	b64 := base64.StdEncoding.EncodeToString
	_, config := serve(t, fmt.Sprintf("{client-certificate-data: %s, client-key-data: %s}", b64([]byte(cert)), b64([]byte(key))), who(new(atomic.Value)))
	var name string
	if err := open(t, config).Get(t.Context(), "/x", nil, &name); err != nil || name != "+tester" {
		t.Errorf("%q, %v", name, err)
	}
}

// plugged returns a user whose credential this test's own program prints, and the file in which it counts.
func plugged(t *testing.T, prints, more string) (user, count string) {
	t.Helper()
	count = filepath.Join(t.TempDir(), "count")
	return fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, env: [{name: PLUGIN_PRINTS, value: %q}, {name: PLUGIN_COUNT, value: %q}]%s}}",
		os.Args[0], prints, count, more), count
}

func TestExecPlugin(t *testing.T) {
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	credential := func(status string) string {
		return `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":` + status + "}"
	}
	user, count := plugged(t, credential(`{"token":"n-COUNT","expirationTimestamp":"`+until.Format(time.RFC3339)+`"}`), "")
	var refused atomic.Value
	_, config := serve(t, user, who(&refused))
	c := open(t, config)
	now := time.Now()
	c.secret.now = func() time.Time { return now }
	ask := func(want string) {
		t.Helper()
		var name string
		if err := c.Get(t.Context(), "/x", nil, &name); err != nil || name != "Bearer "+want {
			t.Errorf("%q, %v; want %s", name, err, want)
		}
	}
	ask("n-1")
	ask("n-1")
	now = until.Add(-early)
	ask("n-2") // just before it expires
	now = time.Now()
	refused.Store("n-2")
	ask("n-3") // it was refused
	refused.Store("n-")
	if err := c.Get(t.Context(), "/x", nil, nil); HTTPStatus(err) != http.StatusUnauthorized {
		t.Errorf("%v", err)
	}
	if calls, _ := os.ReadFile(count); len(calls) != 4 { // once more, and not for ever
		t.Errorf("it was called %d times", len(calls))
	}

	cert, key := pair(t, "by-plugin")
	quoted, _ := json.Marshal(map[string]string{"clientCertificateData": cert, "clientKeyData": key})
	user, _ = plugged(t, credential(string(quoted)), "")
	_, config = serve(t, user, who(new(atomic.Value)))
	c = open(t, config)
	var name string
	if err := c.Get(t.Context(), "/x", nil, &name); err != nil || name != "+by-plugin" {
		t.Errorf("%q, %v", name, err)
	}
}

// A plugin that fails, or prints something else, is one sentence with its name, and its words without what may be a secret.
func TestExecPluginFails(t *testing.T) {
	v1 := `"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"`
	for prints, want := range map[string]string{
		"fail":                     "is over: log in",
		"nothing of the kind":      "printed no ExecCredential",
		"{" + v1 + `,"status":{}}`: "neither a token nor a certificate",
		"{" + v1 + `,"status":{"token":"hunter2hunter2hunter2","clientKeyData":"x"}}`:                                              "neither a token nor a certificate",
		"{" + v1 + `,"status":{"clientCertificateData":"x","clientKeyData":"x"}}`:                                                  "cannot be used",
		"{" + v1 + `,"status":{"token":"hunter2hunter2hunter2","expirationTimestamp":"later"}}`:                                    "no time",
		`{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"hunter2hunter2hunter2"}}`: "asked for",
	} {
		user, _ := plugged(t, prints, "")
		_, config := serve(t, user, who(new(atomic.Value)))
		err := open(t, config).Get(t.Context(), "/x", nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", prints, err, want)
		}
	}
	_, config := serve(t, "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: plimsoll-no-such-plugin, installHint: \"apt install it\"}}", who(new(atomic.Value)))
	if err := open(t, config).Get(t.Context(), "/x", nil, nil); err == nil || !strings.Contains(err.Error(), "is not there: apt install it") {
		t.Errorf("%v", err)
	}
}

// One that does not end is told apart from a cluster that does not answer.
func TestExecPluginHangs(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip(err)
	}
	_, config := serve(t, "{exec: {apiVersion: client.authentication.k8s.io/v1, command: sleep, args: ['60']}}", who(new(atomic.Value)))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("no answer while you waited"))
	defer cancel()
	err := open(t, config).Create(ctx, "/x", 1, nil)
	if err == nil || !strings.Contains(err.Error(), "the program sleep of the kubeconfig, which gives the credential, has not ended: no answer while you waited") || MayHaveActed(err) {
		t.Errorf("%v", err)
	}
}

func TestExecPluginIsToldOfTheCluster(t *testing.T) {
	user, count := plugged(t, `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}`, ", provideClusterInfo: true")
	s, config := serve(t, user, who(new(atomic.Value)))
	config = strings.Replace(config, "certificate-authority-data", `extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}], certificate-authority-data`, 1)
	c := open(t, config)
	if err := c.Get(t.Context(), "/x", nil, nil); err != nil {
		t.Fatal(err)
	}
	var info struct {
		Spec struct {
			Cluster *struct {
				Server string
				CAData []byte `json:"certificate-authority-data"`
				Config any
			}
		}
	}
	text, err := os.ReadFile(count + ".info")
	if err := cmp.Or(err, json.Unmarshal(text, &info)); err != nil {
		t.Fatal(err)
	}
	if info.Spec.Cluster == nil || info.Spec.Cluster.Server != s.URL || len(info.Spec.Cluster.CAData) == 0 || fmt.Sprint(info.Spec.Cluster.Config) != "map[audience:x]" {
		t.Errorf("%+v", info.Spec.Cluster)
	}
}

func TestPath(t *testing.T) {
	agents := &Cluster{Namespace: "agents"}
	for got, want := range map[string]string{
		agents.Path("v1", "pods"):                          "/api/v1/namespaces/agents/pods",
		agents.Path("batch/v1", "jobs", "x/../y?z"):        "/apis/batch/v1/namespaces/agents/jobs/x%2F..%2Fy%3Fz",
		describePath("/apis/batch/v1/namespaces/a/jobs/x"): "jobs/x in namespace a",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	var asked atomic.Value
	_, config := serve(t, "{token: t}", func(_ http.ResponseWriter, r *http.Request) { asked.Store(r.RequestURI) })
	c := open(t, strings.Replace(config, "\", certificate", "/base\", certificate", 1))
	if err := c.Get(t.Context(), c.Path("v1", "x/y"), url.Values{"q": {"1"}}, nil); err != nil || asked.Load() != "/base/api/v1/namespaces/agents/x%2Fy?q=1" {
		t.Errorf("%v, %v", asked.Load(), err)
	}
}

// Whatever a server answers is a value or one sentence.
func FuzzAnswer(f *testing.F) {
	f.Add(403, []byte(`{"kind":"Status","message":"exceeded quota\n"}`))
	f.Add(200, []byte(`{"preferredVersion":{"groupVersion":"kueue.x-k8s.io/v1beta1"}}`))
	f.Add(500, []byte("\x00\xff<html>"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		at, _ := parseServer("https://fuzz.example")
		secret, _ := newCredential(userEntry{}, clusterEntry{})
		c := &Cluster{Context: "fuzz", server: at, secret: secret, http: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: roundTrip(func(r *http.Request) *http.Response {
				return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(string(body))), Header: http.Header{}, Request: r}
			}),
		}}
		if _, err := c.Version(t.Context(), "kueue.x-k8s.io"); err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b\x00") {
			t.Errorf("%q", err)
		}
	})
}

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
