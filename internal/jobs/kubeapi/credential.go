package kubeapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

const (
	// tokenFresh bounds the use of a token read from a file: kubelets replace it long before it expires.
	tokenFresh = time.Minute
	// early is the time before its end at which a credential of a plugin is replaced.
	early = 10 * time.Second
)

// proof is a credential at one time: a token, a client certificate, both or neither. It counts until then, and for ever where that is zero.
type proof struct {
	token string
	cert  *tls.Certificate
	until time.Time
}

// over is the end of a proof that has to be renewed.
var over = time.Unix(0, 1)

// credential proves who asks.
type credential struct {
	renew func(context.Context) (proof, error) // nil where it is always the same
	turn  chan struct{}                        // full while one call renews it
	now   func() time.Time
	kept  atomic.Pointer[proof]
}

func newCredential(at found) (*credential, error) {
	u := at.user
	switch {
	case u.Provider != nil:
		return nil, errors.New("auth-provider was removed from Kubernetes in 1.26; log in again with the program of your cloud, which writes exec")
	case u.Username != "":
		return nil, errors.New("it has a username, which Kubernetes has not taken since 1.19; use a token, a certificate or exec")
	case len(u.AsExtra) > 0 || u.As == "" && len(u.AsGroups)+len(u.AsUID) > 0:
		return nil, errors.New("it acts as somebody else by as-user-extra, or by groups without a name, which is not possible here; use as, as-uid and as-groups")
	}
	cert, certErr := material(u.CertFile, u.CertData)
	key, keyErr := material(u.KeyFile, u.KeyData)
	if err := cmp.Or(certErr, keyErr); err != nil {
		return nil, fmt.Errorf("the client certificate or its key: %w", err)
	}
	c := &credential{now: time.Now, turn: make(chan struct{}, 1)}
	kept := proof{token: u.Token}
	if cert != nil || key != nil {
		var err error
		if kept.cert, err = pairOf(cert, key); err != nil {
			return nil, err
		}
	}
	if u.Exec != nil {
		p, err := newPlugin(*u.Exec, at.cluster)
		if err != nil {
			return nil, err
		}
		if u.Token == "" {
			c.renew = p.ask
		}
	}
	if u.TokenFile != "" {
		c.renew = func(context.Context) (proof, error) {
			return c.read(u.TokenFile, proof{token: u.Token, cert: kept.cert})
		}
	}
	if c.renew != nil {
		kept.until = over
	}
	c.kept.Store(&kept)
	return c, nil
}

func pairOf(cert, key []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, errors.New("its client certificate and key are no PEM, or do not go together; both are needed")
	}
	return &pair, nil
}

// read reads a token from its file. As with kubectl the one beside it counts where that cannot be read.
func (c *credential) read(file string, p proof) (proof, error) {
	text, err := statefile.ReadLinked(file, maxFile)
	if err != nil && p.token == "" {
		return p, fmt.Errorf("the token cannot be read: %w", err)
	}
	if err == nil {
		p.token = strings.TrimSpace(string(text))
	}
	if p.token == "" {
		return p, fmt.Errorf("the token's file %s is empty", file)
	}
	p.until = c.now().Add(tokenFresh)
	return p, nil
}

// token returns the token to send, "" for none. It renews what has expired, one call at a time.
func (c *credential) token(ctx context.Context) (string, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	kept := c.kept.Load()
	if kept.until.IsZero() || c.now().Before(kept.until) {
		return kept.token, nil
	}
	next, err := c.renew(ctx)
	if err == nil {
		c.kept.Store(&next)
	}
	return next.token, err
}

// refused says that the server has refused what is kept. The result is true where another try may bring another credential.
func (c *credential) refused() bool {
	if c.renew == nil {
		return false
	}
	kept := *c.kept.Load()
	kept.until = over
	c.kept.Store(&kept)
	return true
}

// certificate is for [tls.Config].
func (c *credential) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return cmp.Or(c.kept.Load().cert, &tls.Certificate{}), nil // the empty one is not sent
}
