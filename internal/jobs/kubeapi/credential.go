package kubeapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

const (
	// tokenFresh bounds the use of a token read from a file: kubelets replace it long before it expires.
	tokenFresh = time.Minute
	// early is the time before its end at which a credential of a plugin is replaced.
	early = 10 * time.Second
)

// credential proves who asks: a token, a client certificate, both or neither.
type credential struct {
	fixed   string // a token of the kubeconfig
	file    string // of a token, "" for none
	plugin  *plugin
	changed func() // after another certificate has come: connections were made with the old one

	turn chan struct{} // full while one call renews it
	mu   sync.Mutex
	now  func() time.Time
	kept proof
}

// proof is a credential at one time. It counts until then, and for ever where that is zero.
type proof struct {
	token string
	cert  *tls.Certificate
	until time.Time
}

func newCredential(at found, getenv func(string) string) (*credential, error) {
	u := at.user
	c := &credential{fixed: u.Token, now: time.Now, turn: make(chan struct{}, 1), changed: func() {}}
	switch {
	case u.Provider != nil:
		return nil, errors.New("auth-provider was removed from Kubernetes in 1.26; log in again with the program of your cloud, which writes exec")
	case u.Username != "":
		return nil, errors.New("it has a username, which Kubernetes has not taken since 1.19; use a token, a certificate or exec")
	case len(u.AsExtra) > 0 || u.As == "" && len(u.AsGroups)+len(u.AsUID) > 0:
		return nil, errors.New("it acts as somebody else by as-user-extra, or by groups without a name, which is not possible here; use as, as-uid and as-groups")
	}
	if u.TokenFile != "" {
		c.file = inDir(u.dir, u.TokenFile)
	}
	cert, err := material(u.dir, u.CertFile, u.CertData)
	if err != nil {
		return nil, fmt.Errorf("the client certificate: %w", err)
	}
	key, err := material(u.dir, u.KeyFile, u.KeyData)
	if err != nil {
		return nil, fmt.Errorf("the key of the client certificate: %w", err)
	}
	switch {
	case (cert == nil) != (key == nil):
		return nil, errors.New("it has one of client certificate and key; both are needed")
	case cert != nil:
		if c.kept.cert, err = pairOf(cert, key); err != nil {
			return nil, err
		}
	}
	if u.Exec != nil {
		if c.plugin, err = newPlugin(*u.Exec, at, getenv); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func pairOf(cert, key []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, errors.New("its client certificate and key are no PEM, or do not go together")
	}
	return &pair, nil
}

// token returns the token to send, "" for none. It renews what has expired, one call at a time.
func (c *credential) token(ctx context.Context) (string, error) {
	if c.fixed != "" && c.file == "" || c.file == "" && c.plugin == nil {
		return c.fixed, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	c.mu.Lock()
	kept := c.kept
	c.mu.Unlock()
	if kept.token+certName(kept.cert) != "" && (kept.until.IsZero() || c.now().Before(kept.until)) && (c.file == "" || kept.token != "") {
		return kept.token, nil
	}
	next, err := c.renew(ctx, kept)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.kept = next
	c.mu.Unlock()
	if certName(kept.cert) != certName(next.cert) {
		c.changed()
	}
	return next.token, nil
}

func (c *credential) renew(ctx context.Context, kept proof) (proof, error) {
	if c.file == "" {
		return c.plugin.ask(ctx)
	}
	text, err := statefile.ReadLinked(c.file, maxFile)
	token := strings.TrimSpace(string(text))
	switch {
	case err != nil && c.fixed != "": // as kubectl: what was read last, else the token beside it
		token = c.fixed
	case err != nil:
		return proof{}, fmt.Errorf("the token cannot be read: %w", err)
	case token == "":
		return proof{}, fmt.Errorf("the token's file %s is empty", c.file)
	}
	return proof{token: token, cert: kept.cert, until: c.now().Add(tokenFresh)}, nil
}

// refused forgets what the server has refused. The result is true where another try may bring another credential.
func (c *credential) refused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == "" && c.plugin == nil {
		return false
	}
	if c.plugin != nil {
		c.kept.cert = nil
	}
	c.kept.token, c.kept.until = "", time.Time{}
	return true
}

// certificate is for [tls.Config].
func (c *credential) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept.cert == nil {
		return &tls.Certificate{}, nil // none is sent
	}
	return c.kept.cert, nil
}

// certName tells one certificate from another.
func certName(c *tls.Certificate) string {
	if c == nil || len(c.Certificate) == 0 {
		return ""
	}
	return string(c.Certificate[0])
}
