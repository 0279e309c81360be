package listen

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
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

// certificate reads the certificate; nil when none is configured.
func certificate(s config.ServeSettings, warn func(text string)) (*tls.Config, error) {
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

// current returns the certificate of a handshake. Where the new files cannot be used the old one stays: half of a pair may have been replaced.
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

func (c *certificateFiles) load(there [2]os.FileInfo) error {
	pair, err := tls.LoadX509KeyPair(c.chain, c.key)
	if err != nil {
		return fmt.Errorf("[serve] tls_cert %s with tls_key %s: %w; name a chain and its key, both in PEM", c.chain, c.key, err)
	}
	c.pair, c.read, c.looked = &pair, there, time.Now()
	return nil
}

// stat looks at both files; nil stands for one that is not there.
func (c *certificateFiles) stat() (there [2]os.FileInfo) {
	for i, name := range []string{c.chain, c.key} {
		if info, err := os.Stat(name); err == nil {
			there[i] = info
		}
	}
	return there
}

func (c *certificateFiles) changed(there [2]os.FileInfo) bool {
	for i, now := range there {
		was := c.read[i]
		if now == nil || was == nil || !os.SameFile(now, was) || !now.ModTime().Equal(was.ModTime()) || now.Size() != was.Size() {
			return true
		}
	}
	return false
}
