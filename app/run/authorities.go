package run

import "crypto/x509"

// authorityNotes returns the error that every request over TLS would end in: containers are often made without certificates.
func authorityNotes() []string {
	pool, err := x509.SystemCertPool()
	if err == nil && !pool.Equal(x509.NewCertPool()) {
		return nil
	}
	return []string{"There are no roots of certificate authorities here, so that no provider can be reached by https: install ca-certificates, or name a file with SSL_CERT_FILE."}
}
