package kubeapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// tokenFresh bounds the use of a token read from a file: kubelets replace it long before it expires.
	tokenFresh = time.Minute
	// pluginTime bounds the run of a plugin, which may ask a cloud.
	pluginTime = time.Minute
	// early is the time before its end at which a credential of a plugin is replaced.
	early = 10 * time.Second
	// maxSaid bounds what is shown of a program's standard error, in bytes.
	maxSaid = 300
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

// newCredential returns the credential of a user of a kubeconfig. A token file is read, or a plugin run, at the first request. What Kubernetes no
// longer supports is an error.
func newCredential(u userEntry, cluster clusterEntry) (*credential, error) {
	switch {
	case u.Provider != nil:
		return nil, errors.New("auth-provider was removed from Kubernetes in 1.26; log in again with the program of your cloud, which writes exec")
	case u.Username != "":
		return nil, errors.New("it has a username, which Kubernetes has not taken since 1.19; use a token, a certificate or exec")
	case len(u.AsExtra) > 0 || u.As == "" && len(u.AsGroups)+len(u.AsUID) > 0:
		return nil, errors.New("it acts as somebody else by as-user-extra, or by groups without a name, which is not possible here; use as, as-uid and as-groups")
	}
	cert, certErr := readMaterial(u.CertFile, u.CertData)
	key, keyErr := readMaterial(u.KeyFile, u.KeyData)
	if err := cmp.Or(certErr, keyErr); err != nil {
		return nil, fmt.Errorf("the client certificate or its key: %w", err)
	}
	c := &credential{now: time.Now, turn: make(chan struct{}, 1)}
	kept := proof{token: u.Token}
	if cert != nil || key != nil {
		var err error
		if kept.cert, err = parsePair(cert, key); err != nil {
			return nil, err
		}
	}
	if u.Exec != nil {
		env, err := u.Exec.environ(cluster)
		if err != nil {
			return nil, err
		}
		c.renew = func(ctx context.Context) (proof, error) {
			next, err := u.Exec.runPlugin(ctx, env)
			next.cert = cmp.Or(next.cert, kept.cert) // a plugin may give only the token beside a certificate
			return next, err
		}
	}
	switch {
	case u.TokenFile != "":
		c.renew = func(context.Context) (proof, error) {
			return c.readTokenFile(u.TokenFile, proof{token: u.Token, cert: kept.cert})
		}
	case u.Token != "":
		c.renew = nil
	}
	if c.renew != nil {
		kept.until = over
	}
	c.kept.Store(&kept)
	return c, nil
}

// parsePair returns a client certificate with its key, both PEM.
func parsePair(cert, key []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, errors.New("its client certificate and key are no PEM, or do not go together; both are needed")
	}
	return &pair, nil
}

// readTokenFile reads a token from its file, to be used for tokenFresh. If the file cannot be read, the token in p stays, as with kubectl; without
// one it is an error.
func (c *credential) readTokenFile(file string, p proof) (proof, error) {
	text, err := statefile.ReadLinked(file, maxFile)
	p.token, p.until = cmp.Or(strings.TrimSpace(string(text)), p.token), c.now().Add(tokenFresh)
	if p.token == "" {
		return p, fmt.Errorf("the token cannot be read from %s: %w", file, cmp.Or(err, errors.New("it is empty")))
	}
	return p, nil
}

// token returns the token to send, "" for none. An expired one is renewed first, by one call at a time.
func (c *credential) token(ctx context.Context) (string, error) {
	if c.renew == nil {
		return c.kept.Load().token, nil
	}
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

// invalidate drops the credential that the server has refused. It returns true where another try may bring another one.
func (c *credential) invalidate() bool {
	if c.renew == nil {
		return false
	}
	c.kept.Store(&proof{cert: c.kept.Load().cert, until: over})
	return true
}

// certificate is for [tls.Config].
func (c *credential) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return cmp.Or(c.kept.Load().cert, &tls.Certificate{}), nil // the empty one is not sent
}

// ErrTooMuch is that of a program that prints more than its reader takes.
var ErrTooMuch = errors.New("it printed too much")

// pluginVersions are the versions of the protocol that are spoken, https://kubernetes.io/docs/reference/config-api/client-authentication.v1/.
var pluginVersions = []string{"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}

// execEntry is a program that prints a credential.
type execEntry struct {
	APIVersion         string `yaml:"apiVersion"`
	Command            string
	Args               []string
	Env                []struct{ Name, Value string }
	InstallHint        string `yaml:"installHint"`
	ProvideClusterInfo bool   `yaml:"provideClusterInfo"`
	InteractiveMode    string `yaml:"interactiveMode"`
}

// environ returns the environment for the program that gives the credential: this process's, with the cluster in KUBERNETES_EXEC_INFO. A
// plugin that cannot be run here is an error.
func (e *execEntry) environ(c clusterEntry) ([]string, error) {
	switch {
	case !slices.Contains(pluginVersions, e.APIVersion):
		return nil, fmt.Errorf("exec speaks %q, and only %s are known; update the program that wrote it", printable.Name(e.APIVersion), strings.Join(pluginVersions, " and "))
	case e.Command == "":
		return nil, errors.New("exec names no command")
	case e.InteractiveMode == "Always":
		return nil, errors.New("its exec plugin needs a terminal to ask on (interactiveMode: Always); use one that keeps its login")
	}
	spec := map[string]any{"interactive": false}
	if e.ProvideClusterInfo {
		cluster := map[string]any{
			"server": c.Server, "tls-server-name": c.TLSServerName, "insecure-skip-tls-verify": c.Insecure, "certificate-authority-data": c.ca, "proxy-url": c.ProxyURL,
		}
		for _, x := range c.Extensions {
			if x.Name == "client.authentication.k8s.io/exec" {
				cluster["config"] = x.Extension
			}
		}
		spec["cluster"] = cluster
	}
	info, err := json.Marshal(map[string]any{"apiVersion": e.APIVersion, "kind": "ExecCredential", "spec": spec})
	if err != nil {
		return nil, fmt.Errorf("what the cluster's extension says for exec is no JSON: %w", err)
	}
	env := os.Environ()
	for _, v := range e.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	return append(env, "KUBERNETES_EXEC_INFO="+string(info)), nil
}

// runPlugin runs the program once, for at most pluginTime, and returns the token or certificate that it prints, with the time at which to renew
// it.
func (e *execEntry) runPlugin(ctx context.Context, env []string) (got proof, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pluginTime, fmt.Errorf("no answer within %s", pluginTime))
	defer cancel()
	cmd := exec.CommandContext(ctx, e.Command, e.Args...)
	cmd.Env = env
	printed, said, err := Output(cmd, maxFile)
	fail := func(format string, a ...any) (proof, error) {
		return proof{}, fmt.Errorf("the program %s of the kubeconfig, which gives the credential, "+format, append([]any{e.Command}, a...)...)
	}
	var answer struct {
		APIVersion, Kind string
		Status           struct {
			ExpirationTimestamp, Token, ClientCertificateData, ClientKeyData string
		}
	}
	s := &answer.Status
	switch {
	case ctx.Err() != nil:
		return fail("has not ended: %w; log in with it, and try again", context.Cause(ctx))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fail("is not there: %s", cleanLine(cmp.Or(e.InstallHint, "install it"), maxSaid))
	case err != nil:
		return fail("failed (%w): %s", err, said)
	case json.Unmarshal(printed, &answer) != nil || answer.Kind != "ExecCredential":
		return fail("printed no ExecCredential")
	case answer.APIVersion != e.APIVersion:
		return fail("answered with version %q, asked for %q", printable.Name(answer.APIVersion), e.APIVersion)
	case s.Token+s.ClientCertificateData == "" || (s.ClientCertificateData == "") != (s.ClientKeyData == ""):
		return fail("gave neither a token nor a certificate with its key")
	}
	got.token = s.Token
	if s.ClientCertificateData != "" {
		if got.cert, err = parsePair([]byte(s.ClientCertificateData), []byte(s.ClientKeyData)); err != nil {
			return fail("gave a certificate that cannot be used")
		}
	}
	if s.ExpirationTimestamp != "" {
		at, err := time.Parse(time.RFC3339, s.ExpirationTimestamp)
		if err != nil {
			return fail("says that its credential ends at %q, which is no time", printable.Name(limit.Short(s.ExpirationTimestamp, 40)))
		}
		got.until = at.Add(-early)
	}
	return got, nil
}

// Output runs a program and returns at most maxBytes of its output and the beginning of its standard error. More output than that is
// [ErrTooMuch].
func Output(cmd *exec.Cmd, maxBytes int) (printed []byte, said string, err error) {
	out, errs := &limit.Head{Max: maxBytes}, &limit.Head{Max: 4 * maxSaid}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, errs, time.Second // a child of it may hold the pipes
	if err = cmd.Run(); err == nil && out.Cut() {
		err = ErrTooMuch
	}
	return out.Bytes(), cleanLine(errs.String(), maxSaid), err
}

// cleanLine makes text of others one line that may be shown, without what may be a credential.
func cleanLine(text string, maxBytes int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(limit.Clip(text, 4*maxBytes), "")), " ")
	return limit.Short(printable.Name(secrets.Text(text)), maxBytes)
}
