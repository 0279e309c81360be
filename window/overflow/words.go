package overflow

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sse"
)

// words are the parts of a body in which a provider speaks.
type words struct {
	texts []string // normalised
	codes []string // values of code, type, status, … in lower case
	// status is the HTTP status that the body names, 0 when it names none.
	status int
	// counts are numeric members by name: llama.cpp's n_ctx and n_prompt_tokens.
	counts map[string]int
}

// Members that hold words, and members that hold a code. Everything else, such as the
// input that a validator echoes, is not read.
var (
	textMembers = []string{"message", "error", "detail", "msg", "raw", "status_msg", "error_message", "errormessage", "description", "title"}
	codeMembers = []string{"code", "type", "status", "__type", "reason", "error_type", "status_code", "http_code", "error_code"}
	// A member of one of these names holds an error, also in a 200.
	errorMembers = []string{"error", "errors", "base_resp", "last_error"}
)

// Bounds on what is kept of one body, far above any real one.
const (
	maxTexts = 32
	maxDepth = 64
)

// read collects the words of a body. With errorsOnly it takes only what lies under an
// error member, or all of an object whose type is "error". What is no JSON is one text;
// of JSON that breaks off, what came before is kept.
func read(body []byte, errorsOnly bool) words {
	w := words{counts: map[string]int{}}
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 {
		return w
	}
	if trimmed[0] != '{' && trimmed[0] != '[' && trimmed[0] != '"' {
		if !errorsOnly {
			w.text(string(trimmed))
		}
		return w
	}
	w.json(trimmed, errorsOnly)
	return w
}

func (w *words) text(s string) {
	if s = normal(s); s != "" && len(w.texts) < maxTexts {
		w.texts = append(w.texts, s)
	}
}

// frame is one open object or array.
type frame struct {
	name     string // the member that holds it; of an array's elements the array's
	object   bool
	member   string // in an object: the name whose value comes next
	valueDue bool
	inError  bool
}

func (w *words) json(body []byte, errorsOnly bool) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var open []frame
	for {
		token, err := dec.Token()
		if err != nil {
			return
		}
		var top *frame
		if len(open) > 0 {
			top = &open[len(open)-1]
		}
		if name, isName := token.(string); isName && top != nil && top.object && !top.valueDue {
			top.member, top.valueDue = strings.ToLower(name), true
			continue
		}
		name, inError := "", !errorsOnly
		if top != nil {
			name, inError = top.name, top.inError
			if top.object {
				name, top.valueDue = top.member, false
			}
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '}' || v == ']' {
				open = open[:len(open)-1]
				if len(open) > 0 {
					open[len(open)-1].valueDue = false
				}
				continue
			}
			if len(open) == maxDepth {
				return
			}
			open = append(open, frame{name: name, object: v == '{', inError: inError || slices.Contains(errorMembers, name)})
		case string:
			if name == "type" && v == "error" && top != nil && len(open) == 1 {
				top.inError = true // {"type":"error","code":…,"message":…} as an event
				continue
			}
			if inError || slices.Contains(errorMembers, name) {
				w.value(name, v)
			}
		case json.Number:
			if inError {
				w.number(name, v.String())
			}
		}
	}
}

func (w *words) value(name, v string) {
	switch {
	case name == "" || slices.Contains(textMembers, name):
		w.text(v)
	case slices.Contains(codeMembers, name) && len(w.codes) < maxTexts && len(v) <= 128:
		w.codes = append(w.codes, strings.ToLower(v))
		w.named(name, v)
	}
}

func (w *words) number(name, digits string) {
	value, size := number(digits)
	if size != len(digits) {
		return
	}
	switch {
	case slices.Contains(codeMembers, name):
		if len(w.codes) < maxTexts {
			w.codes = append(w.codes, digits)
		}
		w.named(name, digits)
	case len(w.counts) < maxTexts:
		w.counts[name] = value
	}
}

// named keeps the HTTP status that a body names. A code such as 1261 is none.
func (w *words) named(name, v string) {
	if n, err := strconv.Atoi(v); err == nil && n >= 400 && n < 600 && name != "type" {
		w.status = n
	}
}

// events yields the data of each event in a stream, as far as it has come. It is valid until the next.
func events(stream []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for r := sse.NewReader(bytes.NewReader(stream), maxBody); ; {
			_, data, _, err := r.Next()
			if err != nil || len(data) > 0 && !yield(data) {
				return
			}
		}
	}
}
