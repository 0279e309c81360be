package listen

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/plimsoll/plimsoll/internal/window/proxy"
)

// authorityVariables are the variables by which the tools are told of a company's own
// certificate authority: Node's, and Codex's. A tool that is sent through the proxy no longer
// meets the provider's certificate itself, so what it would have trusted counts here.
// SSL_CERT_FILE and SSL_CERT_DIR are read by the Go library on most systems.
var authorityVariables = []string{"NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE"}

// maxAuthorities bounds the file of certificates; all public authorities together take 250 KiB.
const maxAuthorities = 4 << 20

// Transport reaches the upstreams with the system's authorities and those that the
// environment names beside them; nil when it names none. A file that cannot be used is said
// and left out, as Node does.
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
