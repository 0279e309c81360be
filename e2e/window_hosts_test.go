//go:build linux || darwin

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// hosts is an HTTPS proxy that answers for every host by itself, so that a tool without a
// base URL believes to talk to its provider.
type hosts struct {
	url string // of the proxy
	ca  string // file with the certificate that vouches for it
}

// playHosts answers requests to the named host by h, all others by 503.
func playHosts(t *testing.T, host string, h http.Handler) hosts {
	t.Helper()
	authority, caFile := newAuthority(t)
	conns := &connections{accept: make(chan net.Conn), closed: make(chan struct{})}
	inner := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != host {
			http.Error(w, "nobody is here", http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, r)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = inner.Serve(conns) })
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusServiceUnavailable)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
		conns.add(tls.Server(conn, &tls.Config{GetCertificate: authority.certificate}))
	}))
	t.Cleanup(func() {
		_ = inner.Close()
		_ = conns.Close()
		outer.Close()
		serving.Wait()
	})
	return hosts{url: outer.URL, ca: caFile}
}

// environ makes the tools, and Plimsoll, believe the certificate. Each reads a variable of
// its own.
func (h hosts) environ() []string {
	return []string{"NODE_EXTRA_CA_CERTS=" + h.ca, "SSL_CERT_FILE=" + h.ca, "CODEX_CA_CERTIFICATE=" + h.ca}
}

// connections is a listener of connections that were accepted elsewhere.
type connections struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *connections) add(conn net.Conn) {
	select {
	case c.accept <- conn:
	case <-c.closed:
		_ = conn.Close()
	}
}

func (c *connections) Accept() (net.Conn, error) {
	select {
	case conn := <-c.accept:
		return conn, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

func (c *connections) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *connections) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// authority signs certificates for whatever host is asked for.
type authority struct {
	mu    sync.Mutex
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	hosts map[string]*tls.Certificate
}

func newAuthority(t *testing.T) (*authority, string) {
	t.Helper()
	a := &authority{hosts: map[string]*tls.Certificate{}}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template("plimsoll e2e", true), template("plimsoll e2e", true), &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err == nil {
		err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, file
}

func template(name string, ca bool) *x509.Certificate {
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true,
	}
	if ca {
		c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign
	} else {
		c.DNSNames, c.KeyUsage, c.ExtKeyUsage = []string{name}, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	return c
}

func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if name == "" {
		return nil, errors.New("no host name")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.hosts[name]; c != nil {
		return c, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template(name, false), a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	a.hosts[name] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return a.hosts[name], nil
}
