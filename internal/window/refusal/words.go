// Package refusal reads what a model provider says in the body of an error: its texts, codes and the member at fault. Packages overflow and
// reasoning tell one refusal from another by it; they look for phrases in the texts, which [Normal] has brought into one form.
//
// Of a body [MaxBody] is read, of each text 8 KiB; broken JSON, HTML and plain text are one text. Only members with words of the provider are
// read, never the echo of a request, and of a 200 only what lies under an error member, so that a model that writes about an error is not
// taken for one. All functions are pure.
package refusal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/sse"
)

// Words are the parts of a body in which a provider speaks.
type Words struct {
	Texts []string // as [Normal] leaves them
	Codes []string // values of code, type, status, … in lower case
	Param string   // the member of the request that is at fault, where OpenAI names it
	// Places are the texts that stand beside a loc, behind it: "messages.31.assistant.reasoning_content: extra inputs are not permitted".
	// Its names may be the client's, so they are not in Texts, where any word of them might be taken for the provider's.
	Places []string
	// Status is the HTTP status that the body names, 0 when it names none.
	Status int
	// Counts are numeric members by name: llama.cpp's n_ctx and n_prompt_tokens. An absurd
	// number (over 10^12) is 0.
	Counts map[string]int
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
	maxPlace = 256 // bytes of a place, and of what is said of it
)

// MaxBody bounds how much of an error body is read, in bytes. The longest real ones are a few KiB.
const MaxBody = 64 << 10

// Read collects the words of a body, of which it reads the first [MaxBody] bytes. With errorsOnly it takes only those inside of an error
// member, or all of an object whose type is "error". A body that is not JSON is one text; of JSON that breaks off, it keeps what came
// before.
func Read(body []byte, errorsOnly bool) Words {
	body = body[:min(len(body), MaxBody)]
	w := Words{Counts: map[string]int{}}
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 {
		return w
	}
	if trimmed[0] != '{' && trimmed[0] != '[' && trimmed[0] != '"' {
		if !errorsOnly {
			w.addText(string(trimmed))
		}
		return w
	}
	w.readJSON(trimmed, errorsOnly)
	return w
}

// addText adds a text in the form of [Normal], unless it is empty or there are too many.
func (w *Words) addText(s string) {
	if s = Normal(s); s != "" && len(w.Texts) < maxTexts {
		w.Texts = append(w.Texts, s)
	}
}

// frame is one open object or array.
type frame struct {
	name     string // the member that holds it; of an array's elements the array's
	object   bool
	member   string // in an object: the name whose value comes next
	valueDue bool
	inError  bool
	loc, msg string // of an object: the place that a validator names, and what it says of it
}

// locMember is the member with the place of a fault, a list of names and indices, as validators of Python write it (Mistral, vLLM).
const locMember = "loc"

// addPlace records what a validator says of a place, once it has said both. A place with other than plain names is no path.
func (w *Words) addPlace(f *frame) {
	place, ok := strings.CutPrefix(strings.ToLower(f.loc), ".")
	place = strings.TrimPrefix(place, "body.")
	if !ok || f.msg == "" || len(place) > maxPlace || len(w.Places) == maxTexts {
		return
	}
	if strings.Trim(place, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == "" {
		w.Places = append(w.Places, place+": "+Normal(f.msg))
	}
}

// readJSON collects the words of a JSON body. With errorsOnly it takes only what is inside of an error.
func (w *Words) readJSON(body []byte, errorsOnly bool) {
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
		if top != nil && !top.object && top.name == locMember && top.inError && len(open) > 1 && len(open[len(open)-2].loc) <= maxPlace {
			if _, nests := token.(json.Delim); !nests {
				open[len(open)-2].loc += fmt.Sprint(".", token)
				continue
			}
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
				w.addPlace(top)
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
				w.addString(name, v)
			}
			if inError && name == "msg" {
				top.msg = v[:min(len(v), maxPlace)]
			}
		case json.Number:
			if inError {
				w.addNumber(name, v.String())
			}
		}
	}
}

// addString adds a string by the name of its member: as a text, a code or the parameter at fault.
func (w *Words) addString(name, v string) {
	switch {
	case name == "" || slices.Contains(textMembers, name):
		w.addText(v)
	case name == "param" && w.Param == "":
		w.Param = v[:min(len(v), 128)]
	case slices.Contains(codeMembers, name) && len(w.Codes) < maxTexts && len(v) <= 128:
		w.Codes = append(w.Codes, strings.ToLower(v))
		w.setStatus(name, v)
	}
}

// addNumber adds a number by the name of its member: as a code or status, or as a count.
func (w *Words) addNumber(name, digits string) {
	value, err := strconv.Atoi(digits)
	if err != nil {
		return
	}
	switch {
	case slices.Contains(codeMembers, name):
		if len(w.Codes) < maxTexts {
			w.Codes = append(w.Codes, digits)
		}
		w.setStatus(name, digits)
	case len(w.Counts) < maxTexts:
		w.Counts[name] = plausibleCount(value)
	}
}

// setStatus sets the HTTP status that a body names, if v is one. A code such as 1261 is none.
func (w *Words) setStatus(name, v string) {
	if n, err := strconv.Atoi(v); err == nil && n >= 400 && n < 600 && name != "type" {
		w.Status = n
	}
}

// Events yields the data of each event in a stream, which may break off. The data is valid until the next is yielded.
func Events(stream []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for r := sse.NewReader(bytes.NewReader(stream), MaxBody); ; {
			_, data, _, err := r.Next()
			if err != nil || len(data) > 0 && !yield(data) {
				return
			}
		}
	}
}

// plausibleCount returns n, or 0 if it cannot be a count of tokens.
func plausibleCount(n int) int {
	if n < 0 || n > 1_000_000_000_000 {
		return 0
	}
	return n
}

// maxText bounds one text: providers' words come first, an echo of the request after them.
const maxText = 8 << 10

// Normal brings a text into the form that phrases are written in: ASCII letters in lower
// case, every run of white space one blank, typographic apostrophes plain, and no
// backquotes, quotation marks or backslashes, which the same words carry in one wrapping
// and not in another.
func Normal(text string) string {
	text = text[:min(len(text), maxText)]
	var b strings.Builder
	b.Grow(len(text))
	blank := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == ' ' || r == '\n' || r == '\r' || r == '\t' || r == '\u00a0' || r == '\u202f':
			blank = true
			continue
		case r == '`' || r == '"' || r == '\\':
			continue
		case r == '’':
			r = '\''
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		}
		if blank && b.Len() > 0 {
			b.WriteByte(' ')
		}
		blank = false
		b.WriteRune(r)
	}
	return b.String()
}
