package listen

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
)

// certificateAge is the time after which the files of a certificate in use are looked at again.
const certificateAge = time.Second

// certificateFiles are a chain and its key. What renews them (cert-manager, certbot, a mounted Secret) replaces the files and restarts
// nobody, so they are read again when they have changed.
type certificateFiles struct {
	chain, key string
	warn       func(text string)

	mu     sync.Mutex
	pair   *tls.Certificate
	read   [2]os.FileInfo // of the files that pair comes from
	looked time.Time
	failed string // what was said last of files that cannot be read
}

// tlsConfig returns a TLS configuration with the configured certificate, which follows changes of its files; nil if none is configured.
func tlsConfig(s config.ServeSettings, warn func(text string)) (*tls.Config, error) {
	switch {
	case s.TLSCert == "" && s.TLSKey == "":
		return nil, nil
	case s.TLSCert == "" || s.TLSKey == "":
		return nil, errors.New("[serve] tls_cert and tls_key go together; set both or none")
	}
	c := &certificateFiles{chain: s.TLSCert, key: s.TLSKey, warn: warn}
	if err := c.load(c.stat()); err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: c.current, MinVersion: tls.VersionTLS12}, nil
}

// current returns the certificate for a handshake. At most once per certificateAge it looks whether the files have changed, and reads them
// again. If they cannot be used, it warns and the old certificate stays: half of a pair may have been replaced.
func (c *certificateFiles) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= certificateAge {
		c.looked = now
		if there := c.stat(); c.changed(there) {
			if err := c.load(there); err == nil {
				c.failed = ""
			} else if text := err.Error(); text != c.failed {
				c.failed = text
				c.warn(text + "; the one that was read before stays in use")
			}
		}
	}
	return c.pair, nil
}

// load reads the certificate and its key, and puts them in use if they are valid. there are the files as they were found.
func (c *certificateFiles) load(there [2]os.FileInfo) error {
	pair, err := tls.LoadX509KeyPair(c.chain, c.key)
	if err != nil {
		return fmt.Errorf("[serve] tls_cert %s with tls_key %s: %w; name a chain and its key, both in PEM", c.chain, c.key, err)
	}
	c.pair, c.read, c.looked = &pair, there, time.Now()
	return nil
}

// stat returns what the file system says of both files; nil for a file that cannot be looked at.
func (c *certificateFiles) stat() (there [2]os.FileInfo) {
	for i, name := range []string{c.chain, c.key} {
		if info, err := os.Stat(name); err == nil {
			there[i] = info
		}
	}
	return there
}

// changed reports whether a file is missing or is not the one that was read last.
func (c *certificateFiles) changed(there [2]os.FileInfo) bool {
	for i, now := range there {
		was := c.read[i]
		if now == nil || was == nil || !os.SameFile(now, was) || !now.ModTime().Equal(was.ModTime()) || now.Size() != was.Size() {
			return true
		}
	}
	return false
}

// authorityVariables are the variables by which the tools are told of a company's own certificate authority: Node's, and Codex's. A tool that is
// sent through the proxy no longer meets the provider's certificate itself, so what it would have trusted counts here. SSL_CERT_FILE and
// SSL_CERT_DIR are read by the Go library on most systems.
var authorityVariables = []string{"NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE"}

// maxAuthorities bounds the file of certificates; all public authorities together take 250 KiB.
const maxAuthorities = 4 << 20

// Transport returns an HTTP transport that trusts the system's certificate authorities and those in the files that the environment names; nil
// if it names none. A file that cannot be used is a warning and is left out, as Node does.
func Transport(getenv func(string) string, warn func(string)) *http.Transport {
	var pool *x509.CertPool
	for _, name := range authorityVariables {
		file := getenv(name)
		if file == "" {
			continue
		}
		text, err := readAtMost(file, maxAuthorities)
		if err != nil {
			warn(fmt.Sprintf("%s: %v; its authorities are not trusted, correct it or unset it", name, err))
			continue
		}
		if pool == nil {
			if pool, err = x509.SystemCertPool(); err != nil {
				pool = x509.NewCertPool()
			}
		}
		if !pool.AppendCertsFromPEM(text) {
			warn(fmt.Sprintf("%s: %s holds no certificate in PEM; correct it or unset it", name, file))
		}
	}
	if pool == nil {
		return nil
	}
	t := proxy.NewTransport()
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t
}

// readAtMost returns the content of a file. A file larger than most is an error; the text returned with it is cut.
func readAtMost(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", file, most)
	}
	return text, err
}
