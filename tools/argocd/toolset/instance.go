package toolset

import (
	"errors"

	"github.com/plimsoll/plimsoll/tools/argocd"
	"github.com/plimsoll/plimsoll/tools/builtin"
)

// DefaultUserHeader is the header that carries a user's own token.
const DefaultUserHeader = "X-Argocd-Api-Token"

// TokenPolicy says whose token a call is made with.
type TokenPolicy int

// The policies.
const (
	// TokensOff uses the configured token and no other.
	TokensOff TokenPolicy = iota
	// TokensAllow uses the token that a client sends, and the configured one when it sends none.
	TokensAllow
	// TokensRequire refuses calls of clients that send none.
	TokensRequire
)

// target is embedded in the arguments of every tool. Its argument is shown to clients only
// where there are several instances.
type target struct {
	Instance string `json:"instance,omitempty" jsonschema:"Argo CD instance"`
}

// at gives the instance of that name ("" is the default) as the caller may use it: with
// the caller's own token where the policy says so.
func (t *Toolset) at(c *builtin.Call, instance string) (*argocd.Client, error) {
	return nil, errors.New("not there yet")
}
