// Package redact makes objects of Argo CD and Kubernetes fit to be shown to a model: secrets masked, and what only machines read left out.
//
//	slim, left, err := redact.Slim(application, redact.Keep{})
//	safe, masked, err := redact.Mask(secret)
//
// Secrets are found by their place (a Secret's data, a cluster's configuration), by their name and by their shape, as package internal/secrets has
// it, also in JSON within a text; see [Mask]. What is masked by name is masked in doubt; no rule finds a secret that neither its name nor its shape
// gives away. Every other value stays the bytes it was; white space between values goes.
//
// It takes two passes over the bytes, and some 16 bytes of memory for each secret. JSON that nests deeper than 10000 is an error; JSON in a text in
// JSON in a text is followed four times, then masked whole. There is no state: all functions may be called from any goroutine.
package redact

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
)

// Hidden replaces a masked value. Its length does not depend on the value's.
const Hidden = secrets.Hidden

// Keep selects the parts that [Slim] leaves in.
type Keep struct {
	// ManagedFields keeps metadata.managedFields and the last-applied annotation of
	// kubectl: who wrote which field.
	ManagedFields bool
	// History keeps status.history: earlier deployments.
	History bool
	// HelmValues keeps values and valuesObject of every helm source.
	HelmValues bool
	// APIVersions keeps info.apiVersions of a cluster.
	APIVersions bool
}

// Left lists the parts that were left out: at most 12 paths with their sizes in JSON, e.g.
// "metadata.managedFields (3.1 KiB)", and a last entry that counts the others.
type Left []string

// maxLeft bounds Left: an application with a hundred sources has a hundred values.
const maxLeft = 12

// ErrJSON is wrapped by the errors of [Slim] and [Mask].
var ErrJSON = errors.New("not JSON")

// Slim returns raw, one object as JSON, compact and without what keep does not name.
// Secrets are masked always. The error wraps [ErrJSON] and quotes nothing of raw.
func Slim(raw []byte, keep Keep) (slim []byte, left Left, err error) {
	w, err := redactAll(raw, &keep)
	if err != nil {
		return nil, nil, err
	}
	for _, cut := range w.left {
		left = append(left, cut.path+" ("+limit.Bytes(cut.size).Human()+")")
	}
	if w.more > 0 {
		left = append(left, fmt.Sprintf("%d more (%s)", w.more, limit.Bytes(w.moreBytes).Human()))
	}
	return w.out, left, nil
}

// Mask returns raw compact and with its secrets masked, and in how many places. Masked are, at any depth:
//
//   - data and stringData of a Secret, also where kind comes after them, and annotations of it that hold what was applied
//   - values whose key says that they are secret (password, token, "api key"), not those that only name one (secretName, tokenUrl), and the
//     same in pairs like {"name":"DB_PASSWORD","value":"…"}
//   - caData, certData and keyData of a cluster, and the variables of its exec provider
//   - in any text: userinfo of URLs, Bearer tokens, JWTs, private keys, tokens with a known prefix, NAME=value with a secret name
//   - all of that in JSON within a text: live manifests, annotations of last-applied configuration
//
// A mask is always [Hidden]. Empty strings, null, true and false stay, and so do the plus signs that Argo CD itself puts over a Secret's
// data: their number shows whether two values differ.
func Mask(raw []byte) ([]byte, int, error) {
	w, err := redactAll(raw, nil)
	if err != nil {
		return nil, 0, err
	}
	return w.out, w.masked, nil
}

// redactAll walks over raw and returns the walker with its output. keep is nil if nothing is to be left out. Invalid JSON is an error, as the
// walker checks nothing.
func redactAll(raw []byte, keep *Keep) (*walker, error) {
	// Everything after this relies on it: the walker checks nothing.
	if !json.Valid(raw) {
		return nil, invalidError(raw)
	}
	w := &walker{Scanner: rawjson.Scanner{Text: raw}, keep: keep}
	w.writeMasked()
	return w, nil
}

// invalidError finds out where raw stops to be JSON. The text of encoding/json names one
// character at most.
func invalidError(raw []byte) error {
	var none json.RawMessage
	err := json.Unmarshal(raw, &none)
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w: %s at byte %s of %d; the object was cut off or is of another format",
			ErrJSON, bad.Error(), strconv.FormatInt(bad.Offset, 10), len(raw))
	}
	return fmt.Errorf("%w: %d bytes; the object was cut off or is of another format", ErrJSON, len(raw))
}
