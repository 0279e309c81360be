package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Bounds of a request beside its size. Decoded, each value costs about a hundred
// bytes more than its text, so a message of brackets would be many times its size.
const (
	maxDepth  = 64
	maxValues = 100_000
)

// checkShape returns an error if a JSON body has more than maxValues values or is nested deeper than maxDepth. It does not decode the body.
func checkShape(body []byte) error {
	depth, values := 0, 0
	quoted := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("byte %d: nested deeper than %d: send it flatter, or as text", i, maxDepth)
			}
			values++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
		if values > maxValues {
			return fmt.Errorf("byte %d: more than %d values: send them as text", i, maxValues)
		}
	}
	return nil
}

// envelope is the part of a JSON-RPC request that the server reads before the SDK does.
type envelope struct {
	method string
	id     json.RawMessage // as it came; nil when there is none that can be answered to
}

var (
	errNotJSON = errors.New("the body is no JSON")
	errNoCall  = errors.New("the body is no JSON-RPC request")
)

// openEnvelope reads the members of a JSON-RPC request. An error wraps errNotJSON or errNoCall.
func openEnvelope(body []byte) (envelope, error) {
	var e envelope
	if span, err := rawjson.Only(body); err != nil {
		return e, fmt.Errorf("%w: %w", errNotJSON, err)
	} else if body[span.Start] == '[' {
		return e, fmt.Errorf("%w: a batch is not part of A2A; send one request at a time", errNoCall)
	} else if body[span.Start] != '{' {
		return e, fmt.Errorf("%w: it is not an object", errNoCall)
	}
	if !json.Valid(body) {
		return e, errNotJSON
	}
	var id json.RawMessage
	var version string
	method := false
	for m, err := range rawjson.Members(body, 0) {
		if err != nil {
			return e, fmt.Errorf("%w: %w", errNotJSON, err)
		}
		value := m.Value.Of(body)
		// The SDK decodes with encoding/json, which does not care for case: neither may this,
		// or the two could read different requests.
		switch strings.ToLower(string(m.Key)) {
		case "jsonrpc":
			_ = json.Unmarshal(value, &version)
		case "method":
			method = json.Unmarshal(value, &e.method) == nil
		case "id":
			id = bytes.Clone(value)
		}
	}
	if err := checkID(id); err != nil {
		return e, fmt.Errorf("%w: %w", errNoCall, err)
	}
	e.id = id
	switch {
	case version != "2.0":
		return e, fmt.Errorf(`%w: "jsonrpc" is not "2.0"`, errNoCall)
	case !method || e.method == "":
		return e, fmt.Errorf(`%w: "method" is no name`, errNoCall)
	}
	return e, nil
}

// checkID returns an error for an id that an answer could not repeat exactly, because the SDK reads numbers as floating point.
func checkID(id json.RawMessage) error {
	if len(id) == 0 || id[0] == '"' || string(id) == "null" {
		return nil
	}
	var n float64
	if json.Unmarshal(id, &n) == nil {
		if again, err := json.Marshal(n); err == nil && bytes.Equal(again, id) {
			return nil
		}
	}
	return errors.New(`"id" is not a text or a whole number below 2^53`)
}
