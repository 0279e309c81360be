package server

import (
	"math/big"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

const (
	// headerParam begins the names of headers that repeat an argument of a tool.
	headerParam = "Mcp-Param-"
	// maxNested bounds the depth of a schema in which arguments are searched.
	maxNested = 32
)

// checkMirrored compares the headers that repeat arguments of a tools/call with the arguments, and returns the refusal if they differ, else
// nil. schema is the tool's inputSchema, whose x-mcp-header names the headers.
func checkMirrored(header http.Header, params, schema []byte) *Refusal {
	var arguments []byte
	if span := rawjson.Get(params, "arguments"); !span.IsZero() {
		arguments = span.Of(params)
	}
	return checkProperties(header, arguments, schema, 0)
}

func checkProperties(header http.Header, arguments, schema []byte, depth int) *Refusal {
	properties := rawjson.Get(schema, "properties")
	if properties.IsZero() || depth == maxNested {
		return nil
	}
	for m, err := range rawjson.Members(properties.Of(schema), 0) {
		if err != nil {
			return nil // an invalid schema names no headers
		}
		property := m.Value.Of(properties.Of(schema))
		var value []byte
		if len(arguments) > 0 {
			if span := rawjson.Get(arguments, string(m.Key)); !span.IsZero() {
				value = span.Of(arguments)
			}
		}
		if name, ok := rawjson.Text(property, "x-mcp-header"); ok && name != "" {
			if bad := checkArgument(header.Values(headerParam+name), headerParam+name, value); bad != nil {
				return bad
			}
		}
		if bad := checkProperties(header, value, property, depth+1); bad != nil {
			return bad
		}
	}
	return nil
}

// checkArgument returns the refusal if the header of an argument has another value than the argument, which is nil if there is none; else
// nil.
func checkArgument(values []string, name string, argument []byte) *Refusal {
	if string(argument) == "null" {
		argument = nil
	}
	switch {
	case len(values) > 1:
		return mismatch("%s is there more than once", name)
	case len(values) == 0 && argument == nil:
		return nil
	case len(values) == 0:
		return mismatch("%s is missing", name)
	}
	value, ok := decodeName(values[0])
	switch {
	case !ok:
		return mismatch("%s is neither plain ASCII nor valid Base64 between =?base64? and ?=", name)
	case argument == nil:
		return mismatch("%s is there, the argument is not", name)
	case argument[0] == '"' && value == string(rawjson.Unquote(nil, argument)),
		argument[0] != '"' && sameNumber(value, string(argument)):
		return nil
	}
	return mismatch("%s does not match the argument", name)
}

// sameNumber reports whether two texts are the same number (42.0 is 42) or the same text. Numbers with an exponent are compared as text:
// expanding one can take any amount of memory.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	if len(a) > 64 || len(b) > 64 || strings.ContainsAny(a+b, "eExX/_pP") {
		return false
	}
	x, ok := new(big.Rat).SetString(a)
	if !ok {
		return false
	}
	y, ok := new(big.Rat).SetString(b)
	return ok && x.Cmp(y) == 0
}
