package argocd

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
)

const (
	dialTimeout = 10 * time.Second
	idleTimeout = 90 * time.Second // as http.DefaultTransport
	// idleConns bounds the idle connections: about as many as the calls that agents make at one time.
	idleConns = 16
	// maxHeader bounds the header of an answer, in bytes; Argo CD sends some hundred bytes.
	maxHeader = 256 << 10
	// maxPEM bounds a file of certificates, in bytes: the system's whole list has 220 KB.
	maxPEM = 4 << 20
	// maxRedirects bounds the redirects to the same origin that are followed, which a proxy in front may need.
	maxRedirects = 3
)

// newTransport returns the transport for the options, with their certificates. It is an error if these cannot be read, or if a client
// certificate and its key do not match or only one of them is given.
func newTransport(o Options) (*http.Transport, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.ServerName}
	if o.Insecure {
		conf.InsecureSkipVerify = true // the user has asked for it; Client.Insecure reports it
	}
	ca, err := pemOf(o.CAFile, o.CAData)
	if err != nil {
		return nil, fmt.Errorf("the certificate authority cannot be read: %w", err)
	}
	if ca != nil {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool() // a machine without a pool only trusts this authority
		}
		if !pool.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("there is no certificate in %s; it must be PEM", cmp.Or(o.CAFile, "the certificate authority's data"))
		}
		conf.RootCAs = pool
	}
	cert, err := pemOf(o.CertFile, o.CertData)
	if err != nil {
		return nil, fmt.Errorf("the client certificate cannot be read: %w", err)
	}
	key, err := pemOf(o.KeyFile, o.KeyData)
	if err != nil {
		return nil, fmt.Errorf("the client certificate's key cannot be read: %w", err)
	}
	if (cert == nil) != (key == nil) {
		return nil, errors.New("a client certificate and its key must be given together")
	}
	if cert != nil {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate %s and its key do not go together: %w", o.CertFile, err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:     conf,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        2 * idleConns,
		MaxIdleConnsPerHost: idleConns,
		IdleConnTimeout:     idleTimeout,
		// All calls share one connection of HTTP/2. A dead one (a NAT or firewall has forgotten it) would let
		// each call time out until TCP notices; so pings check it earlier.
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: o.Timeout / 2, PingTimeout: o.Timeout / 4},
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // decompressed in answer.go, where it is bounded and counted
	}
	forwardproxy.Use(t)
	return t, nil
}

// pemOf returns data, or the content of the file if one is named; nil if there is neither.
func pemOf(file string, data []byte) ([]byte, error) {
	if file == "" {
		if len(data) == 0 {
			return nil, nil
		}
		return data, nil
	}
	return readSmall(file, maxPEM)
}

// redirect follows a redirect to the same origin that is not a login page. Any other redirect is returned as the answer, and becomes an
// error: a token must not go elsewhere.
func (s *shared) redirect(next *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || next.Method != via[0].Method || !sameOrigin(next.URL, s.base) || isLogin(next.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// isLogin reports whether an address is a login page of Argo CD, Dex or a proxy, to which they redirect browsers.
func isLogin(u *url.URL) bool {
	p := strings.ToLower(path.Clean("/" + u.Path))
	for part := range strings.SplitSeq(p, "/") {
		switch part {
		case "login", "signin", "sign_in", "oauth", "oauth2", "oauth2-proxy", "auth", "authorize", "saml", "sso":
			return true
		}
	}
	return false
}
