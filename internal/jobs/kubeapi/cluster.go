package kubeapi

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/forwardproxy"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Cluster is a namespace of a cluster, and who asks it. Its methods may be called by several goroutines at once.
type Cluster struct {
	// Context names the cluster to people, Namespace is where work goes.
	Context, Namespace string
	// Waits are those before a call is made again.
	Waits []time.Duration

	cluster clusterEntry
	user    userEntry
	server  *url.URL
	secret  *credential
	http    *http.Client
}

// Open finds a namespace, "" for that of the context, which is one of the kubeconfig, "" for the current one. Nothing is asked yet.
func Open(context, namespace string) (*Cluster, error) {
	c, err := choose(context)
	if err != nil {
		return nil, err
	}
	c.Namespace = cmp.Or(namespace, c.Namespace, "default")
	c.Waits = []time.Duration{250 * time.Millisecond, time.Second, 3 * time.Second}
	c.http = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c.cluster.ca, err = material(c.cluster.CAFile, c.cluster.CAData); err != nil {
		return nil, fmt.Errorf("the certificate authority of context %s: %w", c.Context, err)
	}
	if c.secret, err = newCredential(c.user, c.cluster); err != nil {
		return nil, fmt.Errorf("user %q of the kubeconfig: %w", c.user.name, err)
	}
	if c.server, err = serverOf(c.cluster.Server); err == nil {
		c.http.Transport, err = newTransport(c.cluster, c.secret)
	}
	if err != nil {
		return nil, fmt.Errorf("the cluster of context %s: %w", c.Context, err)
	}
	return c, nil
}

// Host is the address of the API server, without a path.
func (c *Cluster) Host() string { return c.server.Host }

// serverOf returns the address of an API server. Plain HTTP is taken from this machine only, where kubectl proxy listens.
func serverOf(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("server is not the address of an API server; write it as in https://10.0.0.1:6443")
	}
	if u.User != nil {
		return nil, errors.New("server has a password in it; put the credential into the user's entry")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && !ip.IsLoopback() {
		return nil, fmt.Errorf("server is http://%s, where everyone on the way can read the credential; write https://", u.Host)
	}
	u.Path, u.RawQuery, u.Fragment = strings.TrimRight(u.Path, "/"), "", ""
	return u, nil
}

func newTransport(c clusterEntry, secret *credential) (*http.Transport, error) {
	t := forwardproxy.Transport()
	t.DialContext = (&net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}).DialContext
	// A log that is followed is silent for as long as its command is: pings tell that from a connection that is dead.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	t.MaxResponseHeaderBytes = 256 << 10
	t.DisableCompression = true // or the bound of an answer would be one of its compressed bytes
	t.TLSClientConfig = &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: c.TLSServerName, GetClientCertificate: secret.certificate,
		InsecureSkipVerify: c.Insecure, // where the kubeconfig says so
	}
	if c.ca != nil {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if c.Insecure {
			return nil, errors.New("it has a certificate authority and insecure-skip-tls-verify; remove one of them")
		}
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(c.ca) {
			return nil, errors.New("the certificate authority holds no certificate; it must be PEM")
		}
	}
	if c.ProxyURL != "" {
		u, err := url.Parse(c.ProxyURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
			return nil, errors.New("proxy-url is no address; write it as in http://proxy.example.com:3128, or socks5://")
		}
		t.Proxy = http.ProxyURL(u)
	}
	return t, nil
}

// material returns what stands in data as base64, else in the file; nil for neither.
func material(file, data string) ([]byte, error) {
	if data != "" {
		text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(data))
		if err != nil {
			return nil, errors.New("its data is not base64; kubectl config set-cluster or set-credentials writes it so with --embed-certs")
		}
		return text, nil
	}
	if file == "" {
		return nil, nil
	}
	return statefile.ReadLinked(file, maxFile)
}
