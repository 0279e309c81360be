package argocd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	// commandTime bounds the time that a command may take to print a token.
	commandTime = 10 * time.Second
	// tokenKept bounds the use of a token without an expiry time; one with an expiry time is used until tokenEarly before it.
	tokenKept  = 5 * time.Minute
	tokenEarly = time.Minute
	// commandWords bounds the part of a command's standard error that is shown, in bytes.
	commandWords = 200
)

// CommandToken returns a function for [Options].Token that runs a command, without a shell, which prints a token. The command runs again a
// minute before the token expires, if that is a JWT with an expiry time (exp, RFC 7519), else after five minutes. If it fails, prints
// nothing or takes more than ten seconds, the request fails.
func CommandToken(argv []string) func(context.Context) (string, error) {
	c := &tokenCommand{argv: argv, now: time.Now, turn: make(chan struct{}, 1)}
	return c.token
}

type tokenCommand struct {
	argv []string
	now  func() time.Time
	turn chan struct{} // full while a request runs the command; the others wait, at most until their contexts end

	mu    sync.Mutex
	value string
	until time.Time
}

// token returns the token that the command has printed before, as long as it is valid, or runs the command and keeps what it prints: until
// shortly before it expires or, if it does not say when, for tokenKept. Requests that come meanwhile wait for that run.
func (c *tokenCommand) token(ctx context.Context) (string, error) {
	if value := c.validToken(); value != "" {
		return value, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if value := c.validToken(); value != "" { // another request has run the command
		return value, nil
	}
	value, err := c.runCommand(ctx)
	if err != nil {
		return "", err
	}
	until := c.now().Add(tokenKept)
	if ends, ok := expiryOf(value); ok {
		until = ends.Add(-tokenEarly)
	}
	c.mu.Lock()
	c.value, c.until = value, until
	c.mu.Unlock()
	return value, nil
}

// validToken returns the token that is still valid; "" if there is none.
func (c *tokenCommand) validToken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.now().Before(c.until) {
		return ""
	}
	return c.value
}

// runCommand runs the command, for at most commandTime, and returns the token that it prints. It is an error if that is empty or no token
// can be; an error of the command has the beginning of its standard error.
func (c *tokenCommand) runCommand(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.WaitDelay = time.Second // a child of it may hold the pipes
	printed, said := &limit.Head{Max: maxToken + 1}, &limit.Head{Max: commandWords}
	cmd.Stdout, cmd.Stderr = printed, said
	err := cmd.Run()
	switch token := bearer(printed.String()); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("the token command %s took more than %s", c.argv[0], commandTime)
	case err != nil:
		if words := strings.Join(strings.Fields(said.String()), " "); words != "" {
			return "", fmt.Errorf("the token command %s: %w: %s", c.argv[0], err, limit.Short(words, commandWords))
		}
		return "", fmt.Errorf("the token command %s: %w", c.argv[0], err)
	case token == "":
		return "", fmt.Errorf("the token command %s printed no token", c.argv[0])
	default:
		if err := checkToken(token); err != nil {
			return "", fmt.Errorf("the token command %s: %w", c.argv[0], err)
		}
		return token, nil
	}
}

// expiryOf returns the expiry time of a JWT; ok is false if there is none. The token is not verified: the server does that.
func expiryOf(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Exp float64 `json:"exp"` // seconds; may have a fraction
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Exp <= 0 || claims.Exp > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(int64(claims.Exp), 0), true
}
