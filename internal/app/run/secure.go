package run

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// secureDoor is a second listener of a run's proxy, with TLS, for libraries that send a key in no other way. It is opened when a profile
// asks for it.
type secureDoor struct {
	token string
	ln    net.Listener // nil until then
	tls   *tls.Config
}

// open opens the listener. As [profile.Setup.Secure] it returns the address with the token, and the authority's certificate in PEM.
func (d *secureDoor) open() (root string, authority []byte, err error) {
	pair, authority, err := newCertificate(time.Now())
	if err != nil {
		return "", nil, err
	}
	if d.ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return "", nil, err
	}
	d.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	return "https://" + d.ln.Addr().String() + "/" + d.token, authority, nil
}

func (d *secureDoor) close() {
	if d.ln != nil {
		_ = d.ln.Close()
	}
}

// certificateLife is longer than any run: the certificate is discarded with the run.
const certificateLife = 366 * 24 * time.Hour

// newCertificate returns a certificate for 127.0.0.1, and in PEM the certificate of the authority that has signed it. The authority's key
// is discarded, so that whoever trusts the authority trusts this one certificate; the other key is in memory only.
func newCertificate(now time.Time) (pair tls.Certificate, authority []byte, err error) {
	keys := [2]*ecdsa.PrivateKey{}
	for i := range keys {
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return pair, nil, err
		}
	}
	above := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "plimsoll run " + rand.Text()[:8]},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		// No name constraint beside: BoringSSL, and Claude Code with it, refuses one on addresses.
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, above, above, &keys[0].PublicKey, keys[0])
	if err != nil {
		return pair, nil, err
	}
	if above, err = x509.ParseCertificate(signed); err != nil { // with the identifier of its key, which the one below refers to
		return pair, nil, err
	}
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: above.NotBefore, NotAfter: above.NotAfter, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, above, &keys[1].PublicKey, keys[0])
	if err != nil {
		return pair, nil, err
	}
	var text bytes.Buffer
	if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: signed}); err != nil {
		return pair, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: keys[1]}, text.Bytes(), nil
}
