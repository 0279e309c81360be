package listen

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// writePair writes a certificate for a name, and its key.
func writePair(t *testing.T, chain, key, name string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	body, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{chain: {Type: "CERTIFICATE", Bytes: body}, key: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		// As what renews certificates does: the new file takes the name of the old one.
		testfile.Write(t, file+".new", pem.EncodeToMemory(block))
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACertificateThatIsReplacedIsReadAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		chain, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
		writePair(t, chain, key, "first")
		var said []string
		secure, err := tlsConfig(config.ServeSettings{TLSCert: chain, TLSKey: key}, func(text string) { said = append(said, text) })
		if err != nil {
			t.Fatal(err)
		}
		served := func() string {
			time.Sleep(certificateAge)
			pair, err := secure.GetCertificate(&tls.ClientHelloInfo{})
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := x509.ParseCertificate(pair.Certificate[0])
			if err != nil {
				t.Fatal(err)
			}
			return leaf.Subject.CommonName
		}
		if name := served(); name != "first" {
			t.Errorf("%s is served", name)
		}
		writePair(t, chain, filepath.Join(dir, "other.key"), "half") // its key comes later
		if first, second := served(), served(); first != "first" || second != "first" {
			t.Errorf("with half of a pair %s and %s are served", first, second)
		}
		if len(said) != 1 || !strings.Contains(said[0], "stays in use") {
			t.Errorf("said %q", said)
		}
		if err := os.Rename(filepath.Join(dir, "other.key"), key); err != nil {
			t.Fatal(err)
		}
		if name := served(); name != "half" {
			t.Errorf("%s is served", name)
		}
		writePair(t, chain, key, "second")
		if name := served(); name != "second" {
			t.Errorf("%s is served", name)
		}
		if err := os.Remove(key); err != nil {
			t.Fatal(err)
		}
		if name := served(); name != "second" {
			t.Errorf("without a key %s is served", name)
		}
	})
}
