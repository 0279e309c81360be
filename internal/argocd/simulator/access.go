package simulator

import (
	"slices"
	"strings"
)

// authenticate finds out who asks. What the server says of a token that is no JWT differs
// from what it says of one with a wrong signature.
func (c *call) authenticate() error {
	token, bearer := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		token = ""
		if cookie, err := c.r.Cookie("argocd.token"); err == nil {
			token = cookie.Value
		}
	}
	open := c.token == "" && len(c.users) == 0
	user, known := c.users[token]
	switch {
	case token != "" && c.faults.Expired:
		c.anon = true
		return refuse(unauthenticated, "invalid session: token has invalid claims: token is expired")
	case token != "" && token == c.token, open && !c.faults.Expired:
		return nil
	case token != "" && known:
		c.user = &user
		return nil
	case strings.Count(token, ".") == 2:
		c.anon = true
		return refuse(unauthenticated, "invalid session: token signature is invalid: signature is invalid")
	}
	c.anon = true
	return refuse(unauthenticated, "no session information")
}

// canRead reports whether the user may see a project's objects.
func (c *call) canRead(project string) bool {
	return c.user == nil || slices.Contains(c.user.Projects, project)
}

// canChange reports whether the user may change a project's objects.
func (c *call) canChange(project string) bool {
	return c.user == nil || c.user.Writes && c.canRead(project)
}

func (c *call) username() string {
	if c.user == nil {
		return "admin"
	}
	return c.user.Name
}

// permissionDenied returns the long form of "permission denied" that the calls about projects return.
func (c *call) permissionDenied(resource, action, object string) error {
	return refuse(permissionDenied, "permission denied: %s, %s, %s, sub: %s, iat: 2026-11-20T09:53:47Z", resource, action, object, c.username())
}
