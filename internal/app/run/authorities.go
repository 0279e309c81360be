package run

import "crypto/x509"

// authorityNotes returns a sentence for doctor when this machine has no root certificates, so that every https request would fail; else
// nil.
func authorityNotes() []string {
	pool, err := x509.SystemCertPool()
	if err == nil && !pool.Equal(x509.NewCertPool()) {
		return nil
	}
	return []string{"There are no roots of certificate authorities here, so that no provider can be reached by https: install ca-certificates, or name a file with SSL_CERT_FILE."}
}
