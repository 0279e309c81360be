package run

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Who trusts the authority reaches the listener, by HTTP/2 and HTTP/1.1; nobody else does, and nothing else is trusted with it.
func TestTheSecureListenerIsTrustedByItsAuthority(t *testing.T) {
	d := &secureDoor{token: "TOKEN"}
	root, authority, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{TLSConfig: d.tls, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path)
	})}
	go func() { _ = server.ServeTLS(d.ln, "", "") }()
	defer server.Close()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		t.Fatalf("no certificate: %s", authority)
	}
	for _, c := range []struct {
		pool  *x509.CertPool
		two   bool
		works bool
	}{{pool, true, true}, {pool, false, true}, {x509.NewCertPool(), true, false}} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: c.two}
		defer transport.CloseIdleConnections()
		res, err := (&http.Client{Transport: transport}).Get(root + "/bedrock")
		if (err == nil) != c.works {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(text) != "/TOKEN/bedrock" || (res.ProtoMajor == 2) != c.two {
			t.Errorf("%+v: %s %s", c, res.Proto, text)
		}
	}
	pair, err := x509.ParseCertificate(d.tls.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"127.0.0.2", "localhost", "bedrock-runtime.us-east-1.amazonaws.com"} {
		if pair.VerifyHostname(name) == nil {
			t.Errorf("the certificate is one of %s too", name)
		}
	}
	if pair.IsCA || strings.Contains(string(authority), "PRIVATE") || time.Until(pair.NotAfter) < 300*24*time.Hour {
		t.Errorf("%+v", pair)
	}
}
