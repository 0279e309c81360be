package argocd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// selfSigned makes a certificate with its key, as PEM.
func selfSigned(t *testing.T, until time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tester"}, NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
		DNSNames: []string{"argocd.example.com"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// secure starts a server with a certificate for argocd.example.com.
func secure(t *testing.T, cert, key []byte, clients tls.ClientAuthType) *httptest.Server {
	t.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(answers(`{"items":[{}]}`))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: clients}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func TestTLSIsVerifiedAndExplained(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t, time.Now().Add(time.Hour))
	server := secure(t, cert, key, tls.NoClientCert)
	oldCert, oldKey := selfSigned(t, time.Now().Add(-time.Hour))
	expired := secure(t, oldCert, oldKey, tls.NoClientCert)
	asks := secure(t, cert, key, tls.RequireAnyClientCert)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)

	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	caFile, certFile, keyFile := file("ca", cert), file("cert", cert), file("key", key)
	const name = "argocd.example.com"
	for what, test := range map[string]struct {
		o    Options
		hint string // "": it works
	}{
		"an authority as file": {Options{URL: server.URL, CAFile: caFile, ServerName: name}, ""},
		"an authority as data": {Options{URL: server.URL, CAData: cert, ServerName: name}, ""},
		"insecure":             {Options{URL: server.URL, Insecure: true}, ""},
		"client certificate":   {Options{URL: asks.URL, CAFile: caFile, ServerName: name, CertFile: certFile, KeyFile: keyFile}, ""},
		"an unknown authority": {Options{URL: server.URL, ServerName: name}, "name its certificate authority"},
		"another name":         {Options{URL: server.URL, CAFile: caFile}, "name that is in the certificate"},
		"expired":              {Options{URL: expired.URL, CAData: oldCert, ServerName: name}, "renew the server's certificate"},
		"no TLS":               {Options{URL: "https" + strings.TrimPrefix(plain.URL, "http")}, "does not speak TLS"},
		"TLS only":             {Options{URL: "http" + strings.TrimPrefix(server.URL, "https")}, "write https://"},
		"no client's":          {Options{URL: asks.URL, CAFile: caFile, ServerName: name}, "wants a client certificate"},
	} {
		c := client(t, test.o)
		_, err := c.List(t.Context(), Clusters, Query{}, nothing)
		switch {
		case test.hint == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case test.hint != "":
			if e := asError(t, err); e.Kind != TLS || !strings.Contains(e.Hint, test.hint) {
				t.Errorf("%s: %v (%s)", what, err, e.Kind)
			}
		}
		if plain := strings.HasPrefix(test.o.URL, "http:"); c.Insecure() != (test.o.Insecure || plain) {
			t.Errorf("%s: insecure is %t", what, c.Insecure())
		}
	}
	for what, o := range map[string]Options{
		"no file":        {CAFile: filepath.Join(dir, "nosuch")},
		"no certificate": {CAFile: keyFile},
		"no key":         {CertFile: certFile},
		"another key":    {CertFile: certFile, KeyData: oldKey},
		"a directory":    {CAFile: dir},
	} {
		o.URL = server.URL
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// gate passes connections on to a server. Those that are open when it is shut are heard no
// more, and nobody is told.
type gate struct {
	net.Listener
	mu    sync.Mutex
	conns []*gated
}

type gated struct {
	net.Conn
	shut atomic.Bool
}

func (g *gate) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &gated{Conn: c}
	g.mu.Lock()
	g.conns = append(g.conns, one)
	g.mu.Unlock()
	return one, nil
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		c.shut.Store(true)
	}
}

func (c *gated) Write(p []byte) (int, error) {
	if c.shut.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// A connection that died without a word is given up: the next calls do not all wait for it.
func TestADeadConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	var protocol atomic.Value
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol.Store(r.Proto)
		answers(`{"items":[{}]}`)(w, r)
	}))
	g := &gate{Listener: server.Listener}
	server.Listener, server.EnableHTTP2 = g, true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	c := client(t, Options{URL: server.URL, Insecure: true, Timeout: time.Second})
	call := func() error {
		_, err := c.List(t.Context(), Clusters, Query{}, nothing)
		return err
	}
	for range 60 { // a slow machine may not make a handshake in a second
		if call() == nil {
			break
		}
	}
	if protocol.Load() != "HTTP/2.0" {
		t.Fatalf("the server was spoken to in %v", protocol.Load())
	}
	g.shut()
	var err error
	for range 60 {
		if err = call(); err == nil {
			return
		}
	}
	t.Errorf("it is used still: %v", err)
}
