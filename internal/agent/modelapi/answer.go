package modelapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/limit"
)

// Event is one server-sent event. Data is valid until the next one.
type Event struct {
	Type string
	Data []byte
}

// Answer is the body of an answer.
type Answer struct {
	// Whole is set when it is one JSON value, and no stream: some servers know no other.
	Whole bool

	x    *Exchange
	r    *bufio.Reader
	kind string // the media type
	code int
}

// Answer looks at what kind an answer is. HTML is an error.
func (x *Exchange) Answer(res *http.Response) (*Answer, error) {
	a := &Answer{x: x, r: bufio.NewReaderSize(res.Body, 32<<10), code: res.StatusCode}
	a.kind, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type"))
	if coding := res.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, x.fail(&agent.ModelError{Failure: agent.NotAnAPI, Status: res.StatusCode, Text: fmt.Sprintf("the answer is encoded as %q, which was not asked for", coding)})
	}
	first, err := a.peekByte()
	switch {
	case err == io.EOF:
		return nil, x.Broken("the answer is empty", nil)
	case err != nil:
		return nil, x.Failure(err)
	case first == '<' || a.kind == "text/html":
		page, _ := io.ReadAll(io.LimitReader(a.r, maxError))
		return nil, x.fail(&agent.ModelError{Failure: agent.NotAnAPI, Status: a.code, Text: htmlWords(page)})
	}
	a.Whole = first == '{' || first == '['
	return a, nil
}

// peekByte skips white space and a byte order mark, and returns the next byte without reading it.
func (a *Answer) peekByte() (byte, error) {
	for {
		b, err := a.r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			continue
		}
		return b, a.r.UnreadByte()
	}
}

// Bytes reads a whole answer.
func (a *Answer) Bytes() ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(a.r, int64(MaxAnswer)+1))
	switch {
	case err != nil:
		return nil, a.x.Failure(err)
	case len(body) > int(MaxAnswer):
		return nil, a.x.Oversized(fmt.Sprintf("the answer is longer than %s", MaxAnswer.Human()))
	}
	a.x.ended = true
	return body, nil
}

// Decode reads a whole answer into v. An answer that is an error is returned as one.
func (a *Answer) Decode(v any) error {
	raw, err := a.Bytes()
	if err != nil {
		return err
	}
	if err := a.x.EventError(Event{Data: raw}); err != nil {
		return err
	}
	if Decode(raw, v) != nil {
		return a.x.Broken("the answer is not the JSON of one", nil)
	}
	return nil
}

// Events yields the events of a stream up to its end or "[DONE]", which is not yielded. Comments and events without data are skipped. If
// there is an error it is the last thing that is yielded.
func (a *Answer) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		events := sse.NewReader(a.r, int(MaxEvent))
		for found := false; ; {
			e, data, rest, err := events.Next()
			switch {
			case err == io.EOF && !found:
				yield(Event{}, a.emptyStreamError())
				return
			case err == io.EOF:
				return
			case err == nil && rest != nil:
				n, broken := rest.Read(make([]byte, 1))
				if n > 0 {
					yield(Event{}, a.x.Oversized(fmt.Sprintf("one event of the answer is longer than %s", MaxEvent.Human())))
					return
				}
				if broken != io.ErrUnexpectedEOF { // the last event may have no empty line behind it
					err = broken
				}
			}
			if err != nil {
				yield(Event{}, a.x.Failure(err))
				return
			}
			data = bytes.TrimSpace(data)
			if len(data) == 0 {
				continue
			}
			if bytes.Equal(data, []byte("[DONE]")) {
				a.x.ended = true
				return
			}
			found = true
			if !yield(Event{Type: e.Name[:min(len(e.Name), 64)], Data: data}, nil) {
				return
			}
		}
	}
}

// Decode reads an event of the answer into v. An event that is an error is returned as one.
func (x *Exchange) Decode(e Event, v any) error {
	if err := x.EventError(e); err != nil {
		return err
	}
	if !json.Valid(e.Data) {
		return x.Broken("an event of the answer is not JSON", nil)
	}
	if err := Decode(e.Data, v); err != nil {
		return x.Broken("an event of the answer is no part of one", err)
	}
	return nil
}

// emptyStreamError returns the error of a stream without events.
func (a *Answer) emptyStreamError() error {
	if a.kind == "text/event-stream" {
		return a.x.Broken("the stream ended without an event", nil)
	}
	return a.x.fail(&agent.ModelError{Failure: agent.NotAnAPI, Status: a.code, Text: fmt.Sprintf("the answer is %q, and neither JSON nor a stream of events", a.kind)})
}

// maxTokens is more than any request has; some servers report absurd numbers.
const maxTokens = 1 << 40

// Usage returns a provider's count. Input includes cached tokens.
func Usage(input, cached, output int64) agent.Usage {
	sane := func(n int64) int { return int(min(max(n, 0), maxTokens)) }
	return agent.Usage{Input: sane(input), Cached: min(sane(cached), sane(input)), Output: sane(output)}
}

// checkHeader returns the error of a key or headers that can't be sent. The values are not repeated.
func checkHeader(key string, header map[string]string) error {
	unfit := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
	}
	if unfit(key) || strings.ContainsAny(key, " \t") {
		return errors.New("the key has a space or a control character in it; was more than the key copied?")
	}
	for name, value := range header {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) {
			return fmt.Errorf("the header %q has no name that can be sent", name)
		}
		if unfit(value) {
			return fmt.Errorf("the value of the header %q has a control character in it", name)
		}
	}
	return nil
}

// maxText bounds the text of an error in bytes.
const maxText = 300

// hidden stands for a credential.
const hidden = "[hidden]"

// secretsOf returns a key and the values of headers that may be credentials. Values of less than eight characters are left out: hiding them
// would hide common words.
func secretsOf(key string, header map[string]string) []string {
	list := []string{key}
	for _, value := range header {
		if len(value) >= 8 {
			list = append(list, value)
		}
	}
	return list
}

// secretReplacer returns a replacer that puts a placeholder in the place of secrets. Those of less than four characters are skipped,
// because hiding them would hide common words.
func secretReplacer(secrets []string) *strings.Replacer {
	var pairs []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) < 4 {
			continue
		}
		pairs = append(pairs, s, hidden)
		// "Bearer sk-…" as a header's value is said again without its first word.
		if _, token, ok := strings.Cut(s, " "); ok && len(token) >= 8 {
			pairs = append(pairs, token, hidden)
		}
	}
	return strings.NewReplacer(pairs...)
}

// cleanLine returns a text as one printable line of at most maxText bytes.
func cleanLine(s string) string {
	var b strings.Builder
	space := false
	for i, r := range s {
		switch {
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				r = '?'
			}
		case unicode.IsSpace(r) || !unicode.IsPrint(r):
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return limit.Short(b.String(), maxText)
}

// sanitize makes a text of the endpoint's safe to show. Secrets are hidden before the text is cut, so that no part of one remains.
func (e *Endpoint) sanitize(s string) string { return cleanLine(e.secrets.Replace(s)) }
