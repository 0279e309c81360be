// Package reasoning is a placeholder.
package reasoning

import (
	"bytes"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

type Binding uint8

const (
	Free Binding = iota
	Model
	Prefix
)

type Rule struct{ Binding Binding }

func RuleFor(provider, model string) Rule {
	if strings.Contains(model, "fable-5") || strings.Contains(model, "opus-5-5") {
		return Rule{Prefix}
	}
	return Rule{}
}

func Without(r *wire.Request, from int) (*wire.Request, int, error) {
	d := r.Draft()
	n := 0
	for i := from; i < len(r.Messages); i++ {
		for j := range r.Messages[i].Parts {
			if r.Messages[i].Parts[j].Kind == wire.Reasoning {
				d.DropPart(i, j)
				n++
			}
		}
	}
	if n == 0 {
		return r, 0, nil
	}
	next, err := d.Build()
	return next, n, err
}

type Refusal struct {
	Message int
	Bound   bool
}

func Event(body []byte) (Refusal, bool) { return Refused(400, "", body) }

func Refused(status int, contentType string, body []byte) (Refusal, bool) {
	if status == 400 && bytes.Contains(body, []byte("in `thinking` block")) {
		return Refusal{Message: -1, Bound: bytes.Contains(body, []byte("bound to"))}, true
	}
	return Refusal{}, false
}
