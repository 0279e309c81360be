package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// call is one request on its way.
type call struct {
	*Simulator

	w      http.ResponseWriter
	r      *http.Request
	query  url.Values
	args   []string // what "{}" stands for
	sent   []byte   // the body of a write
	user   *Access  // nil: the administrator
	anon   bool     // nobody is logged in
	faults Faults
}

// findUser sets c.user to the user of the token in the header or cookie; the administrator, and everybody if no token is wanted, is nil.
// Anybody else is refused and set as anonymous. What the server says of a token that is no JWT differs from what it says of one with a
// wrong signature.
func (c *call) findUser() *refusal {
	token, bearer := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		token = ""
		if cookie, err := c.r.Cookie("argocd.token"); err == nil {
			token = cookie.Value
		}
	}
	open := c.options.Token == "" && len(c.options.Tokens) == 0
	user, known := c.options.Tokens[token]
	why := "no session information"
	switch {
	case token != "" && c.faults.Expired:
		why = "invalid session: token has invalid claims: token is expired"
	case token != "" && token == c.options.Token, open && !c.faults.Expired:
		return nil
	case token != "" && known:
		c.user = &user
		return nil
	case strings.Count(token, ".") == 2:
		why = "invalid session: token signature is invalid: signature is invalid"
	}
	c.anon = true
	return newRefusal(unauthenticated, "%s", why)
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

// deny refuses with the long form of "permission denied" that the calls about projects have.
func (c *call) deny(resource, action, object string) {
	refuseCall(permissionDenied, "permission denied: %s, %s, %s, sub: %s, iat: 2026-11-20T09:53:47Z", resource, action, object, c.username())
}

// parameter reads a parameter as the gateway does; the zero value stands for one that is not there. One that cannot be parsed refuses the
// call.
func parameter[T any](c *call, name string, parse func(string) (T, error)) (v T) {
	if text := c.query.Get(name); text != "" {
		var err error
		if v, err = parse(text); err != nil {
			panic(&refusal{code: invalidArgument, message: err.Error(), early: true})
		}
	}
	return v
}

func (c *call) flag(name string) bool { return parameter(c, name, strconv.ParseBool) }

// maxBody bounds what a request may send; the server's own bound for messages is larger.
const maxBody = 4 * limit.MiB

// receiveBody reads the body of a request into c.sent. A body that breaks off or is larger than maxBody refuses the call.
func (c *call) receiveBody() {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, int64(maxBody)))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		refuseCall(resourceExhausted, "grpc: received message larger than max (more than %d)", large.Limit)
	}
	if err != nil {
		refuseCall(invalidArgument, "unexpected EOF")
	}
	c.sent = body
}

// decodeBody decodes a request's body into v; without one v stays as it is. A body that cannot be decoded refuses the call, with the errors
// of encoding/json as the server tells them.
func (c *call) decodeBody(v any) {
	if len(bytes.TrimSpace(c.sent)) == 0 {
		return
	}
	if err := decode(c.sent, v); err != nil {
		refuseCall(invalidArgument, "%v", err)
	}
}

// decode reads the JSON that text begins with; numbers stay as they are written.
func decode(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(v)
}

// marshal writes what cannot fail: maps, slices and strings made here.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of this package that is no JSON is a mistake in it
	}
	return b
}
