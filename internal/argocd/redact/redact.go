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
	w, err := walk(raw, &keep)
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

// Mask returns raw compact and with its secrets masked, and in how many places.
func Mask(raw []byte) ([]byte, int, error) {
	w, err := walk(raw, nil)
	if err != nil {
		return nil, 0, err
	}
	return w.out, w.masked, nil
}

func walk(raw []byte, keep *Keep) (*walker, error) {
	// Everything after this relies on it: the walker checks nothing.
	if !json.Valid(raw) {
		return nil, invalid(raw)
	}
	w := &walker{Scanner: rawjson.Scanner{Text: raw}, keep: keep}
	w.run()
	return w, nil
}

// invalid finds out where raw stops to be JSON. The text of encoding/json names one
// character at most.
func invalid(raw []byte) error {
	var none json.RawMessage
	err := json.Unmarshal(raw, &none)
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w: %s at byte %s of %d; the object was cut off or is of another format",
			ErrJSON, bad.Error(), strconv.FormatInt(bad.Offset, 10), len(raw))
	}
	return fmt.Errorf("%w: %d bytes; the object was cut off or is of another format", ErrJSON, len(raw))
}
