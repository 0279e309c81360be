package modelapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/window/overflow"
)

// maxAfter bounds what an endpoint may ask to wait; the loop waits less.
const maxAfter = 24 * time.Hour

const noReason = "no reason is given"

// refusalError returns the failure of an answer with an error status.
func (e *Endpoint) refusalError(res *http.Response, body []byte) *agent.ModelError {
	contentType := res.Header.Get("Content-Type")
	html := isHTML(contentType, body)
	said := readError(body)
	if html {
		said = errorText{text: htmlWords(body)}
	}
	out := &agent.ModelError{Model: e.info, Status: res.StatusCode, Tries: 1, Text: said.text}
	switch over, ok := overflow.Classify(res.StatusCode, contentType, body); {
	case ok:
		out.Failure, out.Limit, out.Actual = agent.TooLong, over.Limit, over.Actual
	case res.StatusCode < 400:
		out.Failure = agent.NotAnAPI
		out.Text = "it sends on to another address"
		if to, err := url.Parse(res.Header.Get("Location")); err == nil && to.Host != "" {
			out.Text += ": " + Shown(to)
		}
	case html && res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusRequestTimeout:
		out.Failure = agent.NotAnAPI
	default:
		out.Failure = said.kindOf(res.StatusCode, e.info.Name)
	}
	if out.Failure == agent.Busy {
		if out.After = retryDelay(res.Header); out.After == 0 {
			out.After = retryInfo(body)
		}
	}
	if out.Text = e.sanitize(out.Text); out.Text == "" {
		out.Text = noReason
	}
	return out
}

// EventError returns the error that an event, or a whole answer, has in place of an answer; nil if it is none. After an error the exchange
// has ended.
func (x *Exchange) EventError(v Event) error {
	if v.Type != "error" && !bytes.Contains(v.Data, []byte(`"error"`)) {
		return nil
	}
	var top struct {
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	// What is no object, or of other types, is not this.
	if err := json.Unmarshal(v.Data, &top); err != nil && v.Type != "error" {
		return nil
	}
	if v.Type != "error" && top.Type != "error" && (len(top.Error) == 0 || string(top.Error) == "null") {
		return nil
	}
	said := readError(v.Data)
	out := &agent.ModelError{Failure: said.kindOf(said.status, x.e.info.Name), Status: said.status, Text: said.text}
	if over, ok := overflow.Event(v.Data); ok {
		out.Failure, out.Limit, out.Actual = agent.TooLong, over.Limit, over.Actual
	}
	if out.Failure == agent.Busy {
		out.After = retryInfo(v.Data)
	}
	if x.e.sanitize(out.Text) == "" {
		out.Text = noReason
	}
	x.ended = true
	return x.fail(out)
}

// errorText is the text of an error.
type errorText struct {
	text   string
	codes  string // code, type and status, in lower case, each behind a space
	status int    // of HTTP, when the body names one
}

// hasCode reports whether one of some texts is in the codes of the error.
func (w errorText) hasCode(any ...string) bool {
	for _, s := range any {
		if strings.Contains(w.codes, s) {
			return true
		}
	}
	return false
}

// kindOf returns the kind of an error that is not about the length of the request. Status 0 stands for an error in a stream that began
// well.
func (w errorText) kindOf(status int, model string) agent.Failure {
	text := strings.ToLower(w.text)
	about := strings.Contains(text, "model") || model != "" && strings.Contains(text, strings.ToLower(model))
	switch {
	case w.hasCode("insufficient_quota", "billing"):
		return agent.Refused // waiting does not help
	case w.hasCode("model_not_found", "deploymentnotfound"):
		return agent.NoModel
	case w.hasCode("invalid_api_key", "api_key_invalid") || status == 400 && strings.Contains(text, "api key not valid"):
		return agent.Key
	case status == 400 && (strings.Contains(text, "not a valid model") || strings.Contains(text, "model not exist") || strings.Contains(text, "model does not exist")):
		return agent.NoModel // OpenRouter, DeepSeek
	case status == 401 || status == 403:
		return agent.Key
	case status == 404 && about:
		return agent.NoModel
	case status == 404 || status == 405 || status == 501:
		return agent.NotAnAPI
	case status == 408 || status == 409 || status == 425 || status == 429 || status >= 500:
		return agent.Busy
	case status >= 400:
		return agent.Refused
	case w.hasCode("overloaded", "rate_limit", "server_error", "api_error", "internal", "timeout", "unavailable", "exhausted"):
		return agent.Busy
	case w.hasCode("authentication", "permission"):
		return agent.Key
	case w.hasCode("not_found") && about:
		return agent.NoModel
	case w.hasCode("invalid_request", "badrequest", "bad_request", "invalid_argument"):
		return agent.Refused
	}
	return agent.Broken
}

// readError returns the text, the codes and the status that an error in a body has, in all the forms that providers use. Other bodies are
// the text as they are.
func readError(body []byte) errorText {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return errorText{text: string(body)}
	}
	var w errorText
	w.addNested(v, 0)
	if w.text == "" {
		w.text = string(body)
	}
	return w
}

// addNested adds the text, codes and status of an error in a JSON value and in what is nested in it, at most four levels deep. The
// innermost text wins.
func (w *errorText) addNested(v any, depth int) {
	if depth > 4 {
		return
	}
	switch v := v.(type) {
	case string:
		if w.text == "" {
			w.text = v
		}
	case []any:
		if len(v) > 0 {
			w.addNested(v[0], depth+1)
		}
	case map[string]any:
		for _, name := range [...]string{"code", "type", "status", "status_code"} {
			w.addCode(v[name])
		}
		// The innermost words are the provider's own; a gateway's are around them.
		if m, ok := v["metadata"].(map[string]any); ok {
			if raw, ok := m["raw"].(string); ok && raw != "" {
				w.addNested(decodeNested(raw), depth+1)
			}
		}
		for _, name := range [...]string{"error", "errors", "message", "detail", "msg", "error_message", "base_resp", "status_msg"} {
			if inner, ok := v[name]; ok {
				w.addNested(inner, depth+1)
			}
		}
	}
}

// decodeNested returns the value of raw if it is JSON, as some servers put it into a string; else raw itself.
func decodeNested(raw string) any {
	var v any
	if json.Unmarshal([]byte(raw), &v) == nil {
		return v
	}
	return raw
}

// addCode adds a code of an error, a string or a number. The first number from 400 to 599 becomes the status.
func (w *errorText) addCode(v any) {
	var s string
	switch v := v.(type) {
	case string:
		s = strings.ToLower(v)
	case float64:
		s = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return
	}
	if len(s) > 64 || len(w.codes) > 1024 {
		return
	}
	w.codes += " " + s
	if n, err := strconv.Atoi(s); err == nil && n >= 400 && n < 600 && w.status == 0 {
		w.status = n
	}
}

// retryDelay reads how long an answer asks to wait: in seconds, in milliseconds, or until a date.
func retryDelay(h http.Header) time.Duration {
	unit := time.Millisecond
	s := strings.TrimSpace(h.Get("Retry-After-Ms"))
	if s == "" {
		unit, s = time.Second, strings.TrimSpace(h.Get("Retry-After"))
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil || math.IsInf(n, 1) {
		if math.IsNaN(n) || n <= 0 {
			return 0
		}
		return time.Duration(min(n*float64(unit), float64(maxAfter)))
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(max(time.Until(at), 0), maxAfter)
	}
	return 0
}

// retryInfo reads how long Google asks to wait, in the details of an error: {"@type": ".../google.rpc.RetryInfo",
// "retryDelay": "17.5s"}. It is 0 where there is none.
func retryInfo(body []byte) time.Duration {
	if !bytes.Contains(body, []byte("retryDelay")) {
		return 0
	}
	type said struct {
		Error struct {
			Details []struct {
				RetryDelay string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	list := make([]said, 1)
	if Decode(body, &list[0]) != nil || len(list[0].Error.Details) == 0 {
		if Decode(body, &list) != nil { // a request for a stream gets an array
			return 0
		}
	}
	for _, one := range list {
		for _, d := range one.Error.Details {
			if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
				return min(wait, maxAfter)
			}
		}
	}
	return 0
}

func isHTML(contentType string, body []byte) bool {
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "text/html") {
		return true
	}
	return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

// htmlWords returns words for a web page that came in place of an answer, with its title, which usually names the fault.
func htmlWords(page []byte) string {
	low := bytes.ToLower(page)
	if from := bytes.Index(low, []byte("<title>")); from >= 0 && len(low) == len(page) {
		from += len("<title>")
		if to := bytes.Index(low[from:], []byte("</title>")); to >= 0 {
			return fmt.Sprintf("a web page, %q", cleanLine(string(page[from:from+to])))
		}
	}
	return "a web page"
}
