package toolset

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// DefaultUserHeader is the header with a user's own token. Other MCP servers for Argo CD read the same one.
const DefaultUserHeader = "X-Argocd-Api-Token"

// maxToken bounds a user's token, in bytes. Argo CD's own have about 300; those of an identity provider that lists many groups may have
// some thousands.
const maxToken = 16 << 10

// TokenPolicy says which token a call is made with.
type TokenPolicy int

// The policies.
const (
	// TokensOff uses the configured token and no other.
	TokensOff TokenPolicy = iota
	// TokensAllow uses the token that a client sends, and the configured one when it sends none.
	TokensAllow
	// TokensRequire uses the token that a client sends, and refuses calls without one.
	TokensRequire
)

// String returns the policy's name in the configuration.
func (p TokenPolicy) String() string {
	switch p {
	case TokensOff:
		return "off"
	case TokensAllow:
		return "allow"
	case TokensRequire:
		return "require"
	}
	return fmt.Sprintf("TokenPolicy(%d)", int(p))
}

// target is embedded in the arguments of every tool. Its argument is only shown to clients if there are several instances.
type target struct {
	Instance string `json:"instance,omitempty" jsonschema:"Argo CD instance"`
}

// clientFor returns the client for the instance of that name ("" means the default) that the caller may use: with the caller's own token if
// the policy says so. An invalid token is an error, and so is a missing one if the policy requires it.
func (t *Toolset) clientFor(c *builtin.Call, instance string) (*argocd.Client, error) {
	client, err := t.instanceNamed(instance)
	if err != nil || t.o.UserTokens == TokensOff {
		return client, err
	}
	token, err := userToken(c.Header, t.o.UserHeader, client.Name())
	switch {
	case err != nil:
		return nil, err
	case token != "":
		return client.As(token), nil
	case t.o.UserTokens == TokensAllow:
		return client, nil
	case c.Header == nil:
		return nil, errors.New("this server wants each user's own Argo CD token, which comes in a header, and this client is connected by standard streams: connect it over HTTP, or start the server with user tokens off or allowed")
	}
	return nil, fmt.Errorf("this server wants your own Argo CD token: have the client send it as header %q or as \"Authorization: Bearer …\" (get one with: argocd account generate-token, or argocd login --sso)", t.o.UserHeader)
}

// instanceNamed returns the instance of that name, in upper or lower case, as models do not always keep it; "" means the default.
func (t *Toolset) instanceNamed(instance string) (*argocd.Client, error) {
	if instance = strings.TrimSpace(instance); instance == "" {
		return t.o.Instances[0], nil
	}
	for _, c := range t.o.Instances {
		if strings.EqualFold(c.Name(), instance) {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no Argo CD instance is called %q; there are: %s", shortQuote(instance), t.instanceNames())
}

// instanceNames returns a list of the instances for people: "prod" (default), "staging".
func (t *Toolset) instanceNames() string {
	var b strings.Builder
	for i, c := range t.o.Instances {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", c.Name())
		if i == 0 && len(t.o.Instances) > 1 {
			b.WriteString(" (default)")
		}
	}
	return b.String()
}

// instanceLabel returns the name of the instance if there are several, else "".
func (t *Toolset) instanceLabel(c *argocd.Client) string {
	if len(t.o.Instances) == 1 {
		return ""
	}
	return c.Name()
}

// userToken returns the user's token in the headers: from the special header, for this instance (NAME-INSTANCE) or for all, else the bearer
// token; "" if there is none. A value that cannot be a token is an error and not ignored: otherwise the call would be made with somebody
// else's rights.
func userToken(h http.Header, name, instance string) (string, error) {
	for _, key := range []string{name + "-" + instance, name} {
		if values := h.Values(key); len(values) > 0 {
			return checkToken(key, strings.TrimSpace(values[0]))
		}
	}
	value := strings.TrimSpace(h.Get("Authorization"))
	scheme, token, found := strings.Cut(value, " ")
	switch {
	case value == "":
		return "", nil
	case !found || !strings.EqualFold(scheme, "Bearer"):
		return "", fmt.Errorf("the header Authorization holds no bearer token: send \"Authorization: Bearer TOKEN\", or the token alone as header %q", name)
	}
	return checkToken("Authorization", strings.TrimSpace(token))
}

// checkToken returns the token, or an error if it cannot be one. The error does not contain the value.
func checkToken(header, token string) (string, error) {
	switch {
	case token == "":
		return "", fmt.Errorf("the header %q is empty: send an Argo CD token in it, or leave it out", header)
	case len(token) > maxToken:
		return "", fmt.Errorf("the token in header %q has %d bytes, more than %d", header, len(token), maxToken)
	}
	for i := range len(token) {
		if c := token[i]; c <= ' ' || c >= 0x7f {
			return "", fmt.Errorf("the token in header %q has a byte at %d that no token has: send it as it was given out", header, i)
		}
	}
	return token, nil
}
