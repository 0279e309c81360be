package topic

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

// FreshPrompt returns the message with a prompt that the model has not begun to answer, -1 where the request ends otherwise: with
// results of tools, with what a client writes by itself, or with words that come while tools run.
func FreshPrompt(r *wire.Request) int {
	at := newestPrompt(r)
	if at < 0 {
		return -1
	}
	for i := at - 1; i >= 0; i-- {
		switch m := &r.Messages[i]; m.Role {
		case wire.RoleSystem:
		case wire.RoleUser:
			if has(m, wire.Result) {
				return -1
			}
		case wire.RoleAssistant:
			if has(m, wire.Call) {
				return -1
			}
			return at
		default:
			return -1
		}
	}
	return at
}

// newestPrompt returns the message with a prompt that the request ends with, whatever stands before it; -1 where it ends otherwise.
func newestPrompt(r *wire.Request) int {
	for i, m := range slices.Backward(r.Messages) {
		switch {
		case m.Role == wire.RoleSystem:
		case m.Role == wire.RoleUser && isPrompt(r, i):
			return i
		default:
			return -1
		}
	}
	return -1
}

// Words returns the words of a message without what a client adds to them.
func Words(r *wire.Request, message int) string {
	var all []string
	for j := range r.Messages[message].Parts {
		if p := &r.Messages[message].Parts[j]; p.Kind == wire.Text && p.Raw.IsZero() {
			if own := extract.Own(r.Words(p)); own != "" && !strings.HasPrefix(own, "<") {
				all = append(all, own)
			}
		}
	}
	return strings.Join(all, "\n")
}

// isPrompt reports whether a message of the user holds words that are in no element of a client's own, and no result of a tool.
func isPrompt(r *wire.Request, i int) bool {
	if has(&r.Messages[i], wire.Result) {
		return false
	}
	words := Words(r, i)
	return words != "" && !extract.IsSummary(words)
}

func has(m *wire.Message, kind wire.PartKind) bool {
	return slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return p.Kind == kind })
}
