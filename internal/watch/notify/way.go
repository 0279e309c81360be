package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/plimsoll/plimsoll/internal/secrets"
)

// Way gives notices.
type Way interface {
	// Send gives one. It returns soon after ctx has ended.
	Send(ctx context.Context, n Notice) error
	// Check returns the reason why the way cannot work at all, as far as that can be known before there is a notice.
	Check() error
	// String names it, without what may be a credential.
	String() string
}

// Options are the surroundings of ways.
type Options struct {
	// Terminal takes a terminal's own notices where there is no desktop; nil where there is no terminal.
	Terminal io.Writer
	// Environ is the environment of commands, and names the terminal; nil is the process's own.
	Environ []string
	// GOOS is the system; "" is this one.
	GOOS string
}

// Desktop is the word for the desktop.
const Desktop = "desktop"

// Open makes the way that words stand for: "desktop", a URL with http or https, or a command with its arguments.
func Open(words []string, o Options) (Way, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.GOOS == "" {
		o.GOOS = runtime.GOOS
	}
	switch {
	case len(words) == 0 || words[0] == "":
		return nil, errors.New("no way to give notices: name desktop, a URL or a command")
	case len(words) == 1 && words[0] == Desktop:
		return &desktop{o: o}, nil
	case len(words) == 1 && strings.Contains(words[0], "://"):
		return newWebhook(words[0])
	}
	return &command{argv: words, environ: o.Environ}, nil
}

// Nobody stands in the header of a run in the place of [ID], when nobody is to be told of it.
const Nobody = "-"

// ID names a way in the header of a run. Nothing of the way can be read from it.
func ID(words []string) string {
	text, _ := json.Marshal(words) // strings always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// hider masks the values of variables with the names of secrets.
func hider(environ []string) func(string) string {
	values := secrets.Environ(environ)
	return func(text string) string { return string(values.Hide([]byte(text))) }
}
