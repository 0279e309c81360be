package traces

import (
	"bytes"
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
)

// The messages of OTLP as JSON (opentelemetry-proto, "OTLP/JSON"): ids in hexadecimal, 64-bit numbers as strings, enumerations as
// numbers, names in camel case.
type (
	spanMessage struct {
		TraceID    string         `json:"traceId"`
		SpanID     string         `json:"spanId"`
		ParentID   string         `json:"parentSpanId,omitempty"`
		Flags      uint32         `json:"flags,omitempty"`
		Name       string         `json:"name"`
		Kind       int            `json:"kind"`
		Start      int64          `json:"startTimeUnixNano,string"`
		End        int64          `json:"endTimeUnixNano,string"`
		Attributes attributes     `json:"attributes,omitempty"`
		Events     []eventMessage `json:"events,omitempty"`
		Links      []linkMessage  `json:"links,omitempty"`
		Status     *statusMessage `json:"status,omitempty"`
	}
	eventMessage struct {
		Time       int64      `json:"timeUnixNano,string"`
		Name       string     `json:"name"`
		Attributes attributes `json:"attributes,omitempty"`
	}
	linkMessage struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
	}
	statusMessage struct {
		Code int `json:"code"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text   *string  `json:"stringValue,omitempty"`
		Number *string  `json:"intValue,omitempty"`
		Real   *float64 `json:"doubleValue,omitempty"`
		Truth  *bool    `json:"boolValue,omitempty"`
		List   *values  `json:"arrayValue,omitempty"`
	}
	values struct {
		Values []value `json:"values"`
	}
	attributes []attribute
)

// Of enumerations of OTLP.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
	// flagsKnown and flagsRemote together mean that a span's parent is in another process (bits 8 and 9 of flags).
	flagsKnown, flagsRemote = 0x100, 0x200
)

// maxText bounds a text in a span, in bytes.
const maxText = 128

// cleanText returns a text fit for a span: at most maxText bytes, one line, without control characters, and credentials masked.
func cleanText(s string) string {
	return limit.Clip(strings.TrimSpace(printable.Name(secrets.Text(limit.Clip(strings.ToValidUTF8(s, "�"), 2*maxText)))), maxText)
}

// addText adds a text, unless it is empty.
func (a *attributes) addText(key, v string) {
	if v = cleanText(v); v != "" {
		*a = append(*a, attribute{key, value{Text: &v}})
	}
}

// addList adds a list with one text, unless that is empty.
func (a *attributes) addList(key, v string) {
	if v = cleanText(v); v != "" {
		*a = append(*a, attribute{key, value{List: &values{[]value{{Text: &v}}}}})
	}
}

// addServer adds a host and its port, 443 when it has none; nothing for "".
func (a *attributes) addServer(host string) {
	if host == "" {
		return
	}
	address, port := host, "443"
	if h, p, err := net.SplitHostPort(host); err == nil {
		address, port = h, p
	}
	a.addText("server.address", strings.Trim(address, "[]"))
	if n, err := strconv.ParseInt(port, 10, 32); err == nil {
		a.addNumber("server.port", n)
	}
}

// addNumber adds a number, 0 too.
func (a *attributes) addNumber(key string, v int64) {
	*a = append(*a, attribute{key, value{Number: new(strconv.FormatInt(v, 10))}})
}

// addKnown adds a number, unless it is 0, which means unknown.
func (a *attributes) addKnown(key string, v int64) {
	if v != 0 {
		a.addNumber(key, v)
	}
}

// addSeconds adds a duration in seconds.
func (a *attributes) addSeconds(key string, d time.Duration) {
	*a = append(*a, attribute{key, value{Real: new(d.Seconds())}})
}

// addTrue adds true, and nothing for false.
func (a *attributes) addTrue(key string, v bool) {
	if v {
		*a = append(*a, attribute{key, value{Truth: &v}})
	}
}

// envelope is the part of a request before and after its spans.
type envelope struct{ before, after []byte }

// schema is the version of the semantic conventions whose names are used: the last one with those for generative AI and MCP in it.
const schema = "https://opentelemetry.io/schemas/1.41.0"

// scope names this package as the one that makes the spans.
const scope = "github.com/plimsoll/plimsoll"

// newEnvelope returns the part of all requests that names this program, its version and the host.
func newEnvelope(version, host string) envelope {
	var resource attributes
	resource.addText("service.name", "plimsoll")
	resource.addText("service.version", version)
	resource.addText("host.name", host)
	const mark = `"SPANS"`
	whole, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource": map[string]any{"attributes": resource}, "schemaUrl": schema,
		"scopeSpans": []any{map[string]any{
			"scope": map[string]any{"name": scope, "version": cleanText(version)}, "schemaUrl": schema, "spans": []any{json.RawMessage(mark)},
		}},
	}}})
	if err != nil {
		panic(err) // of texts and lists
	}
	before, after, _ := bytes.Cut(whole, []byte(mark))
	return envelope{before, after}
}

// body returns the body of a request with these spans.
func (e envelope) body(spans []queued) []byte {
	size := len(e.before) + len(e.after)
	for _, s := range spans {
		size += len(s.text) + 1
	}
	out := append(make([]byte, 0, size), e.before...)
	for i, s := range spans {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, s.text...)
	}
	return append(out, e.after...)
}
