package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Beta is the name under which Anthropic has on-demand compaction: on the request for it and on each later one that has the block.
const Beta = "compact-2026-09-04"

const (
	betaHeader = "Anthropic-Beta"
	// minOutput is the least that a summary may take with the thinking before it, in tokens: the page advises several thousand.
	minOutput = 8192
)

// A Call is a request for a compaction, as it is to be sent.
type Call struct {
	Path   string      // below the upstream
	Header http.Header // not shared with the client's request
	Body   []byte      // JSON, not shared either
}

// An Unsuited means that this request cannot be compacted, whatever the provider offers: nothing was sent. A later request of the
// conversation may be.
type Unsuited struct{ Why string }

func (e *Unsuited) Error() string { return "no compaction by the provider: " + e.Why }

// refusedBeside are the members that Anthropic refuses beside compaction, and output_format, the older name of output_config.format.
var refusedBeside = []string{"context_management", "stop_sequences", "output_format"}

// toolChanges are blocks that change which tools there are. Their net effect would have to be carried behind the summary.
var toolChanges = []string{"tool_addition", "tool_removal"}

// Request returns a request for a compaction of all messages of sent, which was sent to path with the headers h. The error is an
// [Unsuited], or says that the body cannot be read.
func (r Rule) Request(path string, h http.Header, sent *wire.Request) (Call, error) {
	if sent.Dialect != r.Dialect {
		return Call{}, errors.New("native: a request in another dialect than the rule")
	}
	if len(sent.Messages) == 0 {
		return Call{}, &Unsuited{"it has no messages"}
	}
	h = h.Clone()
	if h == nil {
		h = http.Header{}
	}
	if r.members != nil {
		return r.responsesRequest(path, h, sent)
	}
	if why := whyUnsuited(sent); why != "" {
		return Call{}, &Unsuited{why}
	}
	body, err := rebuildObject(sent.Body, func(key string, value []byte) ([]byte, error) {
		switch {
		case key == "compaction":
			return nil, &Unsuited{"the client asks for a compaction of its own"}
		case slices.Contains(refusedBeside, key):
			return nil, nil
		case key == "tool_choice":
			return unforced(value), nil
		case key == "max_tokens":
			return raiseMaxTokens(value, sent.MaxOutput), nil
		case key == "output_config":
			return removeMembers(value, []string{"format"}, []string{"task_budget", "remaining"})
		case key == "anthropic_beta" && r.betaInBody:
			return withBeta(value), nil
		}
		return value, nil
	})
	if err != nil {
		return Call{}, err
	}
	if body, err = rawjson.Set(body, "compaction", []byte(`{"type":"summarize"}`)); err != nil {
		return Call{}, err
	}
	if r.betaInBody {
		if !hasMember(body, "anthropic_beta") {
			body, err = rawjson.Set(body, "anthropic_beta", withBeta(nil))
		}
		if head, ok := strings.CutSuffix(path, "/invoke-with-response-stream"); ok {
			path = head + "/invoke" // its stream is Amazon's own framing
		}
	} else {
		addBeta(h)
	}
	return Call{path, h, body}, err
}

// responsesRequest returns the request to /responses/compact, which has only the members that the rule lists.
func (r Rule) responsesRequest(path string, h http.Header, sent *wire.Request) (Call, error) {
	body, err := rebuildObject(sent.Body, func(key string, value []byte) ([]byte, error) {
		switch {
		case (key == "previous_response_id" || key == "conversation") && string(value) != "null":
			return nil, &Unsuited{"the provider keeps what was said before"}
		case key == "context_management" && string(value) != "null":
			return nil, &Unsuited{"the client asks for a compaction of its own"}
		case slices.Contains(r.members, key):
			return value, nil
		}
		return nil, nil
	})
	if err != nil {
		return Call{}, err
	}
	h.Set("Accept", "application/json")
	return Call{strings.TrimSuffix(path, "/") + "/compact", h, body}, nil
}

// Carry returns the headers and the body in which the provider accepts next, a request with a compaction block in place of messages: the
// name of the beta is added, and members that may not stand beside a block are removed. If nothing changes they are h and next.Body
// themselves.
func (r Rule) Carry(h http.Header, next *wire.Request) (http.Header, []byte, error) {
	if r.members != nil {
		return h, next.Body, nil
	}
	changed := false
	if !r.betaInBody && !hasBeta(h) {
		if h = h.Clone(); h == nil {
			h = http.Header{}
		}
		addBeta(h)
	}
	body, err := rebuildObject(next.Body, func(key string, value []byte) ([]byte, error) {
		out, err := value, error(nil)
		switch {
		case key == "context_management":
			out = withoutCompactions(value)
		case key == "output_config":
			out, err = removeMembers(value, []string{"task_budget", "remaining"})
		case key == "anthropic_beta" && r.betaInBody:
			out = withBeta(value)
		}
		changed = changed || !bytes.Equal(out, value)
		return out, err
	})
	if err != nil {
		return h, next.Body, err
	}
	if r.betaInBody && !hasMember(body, "anthropic_beta") {
		changed = true
		if body, err = rawjson.Set(body, "anthropic_beta", withBeta(nil)); err != nil {
			return h, next.Body, err
		}
	}
	if !changed {
		return h, next.Body, nil
	}
	return h, body, nil
}

// whyUnsuited returns the reason not to ask Anthropic for a compaction of a request, "" for none.
func whyUnsuited(r *wire.Request) string {
	for i := range r.Messages {
		for _, p := range r.Messages[i].Parts {
			if slices.Contains(toolChanges, p.Type) {
				return "it changes its tools on the way"
			}
		}
	}
	// A call without result at the end: the page says that the request is refused then.
	last := &r.Messages[len(r.Messages)-1]
	if last.Role == wire.RoleAssistant && slices.ContainsFunc(last.Parts, func(p wire.Part) bool {
		return p.Kind == wire.Call && !slices.ContainsFunc(last.Parts, func(q wire.Part) bool { return q.Kind == wire.Result && q.CallID == p.CallID })
	}) {
		return "it ends with a tool call that has no result"
	}
	return ""
}

// rebuildObject returns a JSON object with each member's value replaced by what keep returns for it; for nil the member is left out.
// Everything else keeps its bytes. keep's error ends it.
func rebuildObject(object []byte, keep func(key string, value []byte) ([]byte, error)) ([]byte, error) {
	out := append(make([]byte, 0, len(object)+256), '{')
	for m, err := range rawjson.Members(object, 0) {
		if err != nil {
			return nil, fmt.Errorf("native: %w", err)
		}
		value, err := keep(string(m.Key), object[m.Value.Start:m.Value.End])
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, object[m.Name.Start:m.Name.End]...), ':'), value...)
	}
	return append(out, '}'), nil
}

// removeMembers returns a JSON object without the members at some paths, each a list of keys. Any other value is returned as it is.
func removeMembers(value []byte, paths ...[]string) ([]byte, error) {
	if len(value) == 0 || value[0] != '{' {
		return value, nil
	}
	found := false
	out, err := rebuildObject(value, func(key string, inner []byte) ([]byte, error) {
		for _, p := range paths {
			switch {
			case p[0] != key:
			case len(p) == 1:
				found = true
				return nil, nil
			default:
				less, err := removeMembers(inner, p[1:])
				found = found || !bytes.Equal(less, inner)
				return less, err
			}
		}
		return inner, nil
	})
	if err != nil || !found {
		return value, err
	}
	return out, nil
}

// unforced returns a tool_choice as it is, or nil if it forces a call.
func unforced(value []byte) []byte {
	switch kind, _ := rawjson.Text(value, "type"); kind {
	case "any", "tool":
		return nil
	}
	return value
}

// raiseMaxTokens returns the value of max_tokens, of which asked is the number, or minOutput if it is too little for a summary.
func raiseMaxTokens(value []byte, asked int) []byte {
	if asked > 0 && asked < minOutput || string(value) == "0" {
		return fmt.Append(nil, minOutput)
	}
	return value
}

// withoutCompactions returns a context_management without the edits that compact, or nil if no other edit is left. A value that cannot be
// parsed is returned as it is.
func withoutCompactions(value []byte) []byte {
	var of struct {
		Edits []json.RawMessage `json:"edits"`
	}
	if json.Unmarshal(value, &of) != nil {
		return value
	}
	kept := slices.DeleteFunc(slices.Clone(of.Edits), func(edit json.RawMessage) bool {
		kind, _ := rawjson.Text(edit, "type")
		return strings.HasPrefix(kind, "compact_")
	})
	switch {
	case len(kept) == len(of.Edits):
		return value
	case len(kept) == 0:
		return nil
	}
	edits, err := json.Marshal(kept)
	if err != nil {
		return value
	}
	if out, err := rawjson.Set(value, "edits", edits); err == nil {
		return out
	}
	return value
}

// hasMember reports whether a JSON object has a member of that key.
func hasMember(object []byte, key string) bool {
	for m, err := range rawjson.Members(object, 0) {
		if err == nil && string(m.Key) == key {
			return true
		}
	}
	return false
}

// withBeta returns the anthropic_beta list in value with the beta added; nil stands for no list. A value that is not a list stays as it is.
func withBeta(value []byte) []byte {
	var names []string
	if len(value) > 0 && json.Unmarshal(value, &names) != nil {
		return value
	}
	if slices.Contains(names, Beta) {
		return value
	}
	out, err := json.Marshal(append(names, Beta))
	if err != nil {
		return value
	}
	return out
}

// hasBeta reports whether the headers ask for the beta of compaction.
func hasBeta(h http.Header) bool {
	for _, line := range h.Values(betaHeader) {
		for name := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(name) == Beta {
				return true
			}
		}
	}
	return false
}

// addBeta adds the beta to the client's, on the one line in which Anthropic's libraries write them.
func addBeta(h http.Header) {
	if hasBeta(h) {
		return
	}
	h.Set(betaHeader, strings.Join(append(slices.Clone(h.Values(betaHeader)), Beta), ","))
}
