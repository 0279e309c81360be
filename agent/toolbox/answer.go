package toolbox

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// MaxText is the largest part of one result that is held, in bytes. Servers made here give smaller results (see [Options].MaxResult); it
// bounds a Gateway that was configured to let everything pass.
const MaxText = 256 * limit.KiB

const (
	// maxSmall bounds names, types and addresses, in bytes.
	maxSmall = 1 << 10
	// maxError bounds the message of an error, maxData what comes with it.
	maxError = 16 << 10
	maxData  = 2 << 10
)

// metaKey is the key under which the gateway names the result and the page; see result.MetaKey.
const metaKey = "plimsoll/result"

// nothing is the text of a result without content: models take an empty one for a mistake.
const nothing = "(no output)"

// answer is the response to a call, as far as the model gets it.
type answer struct {
	text   jsonstream.Clip
	blocks int
	// structured is the JSON of structuredContent.
	structured jsonstream.Clip
	failed     bool
	// whole is the size of the kept result if the text is a page of one, else 0.
	whole int64
	// digest is that of the whole kept result if the text is a page of one, else "".
	digest string
	// refusal is the message of a JSON-RPC error.
	refusal *jsonstream.Clip
	code    string
	data    jsonstream.Clip
	result  bool // there was one
}

// decode reads the response to tools/call. It holds at most maxBytes of text, however long the response is. It returns an error for a
// response without result and error.
func decode(r io.Reader, maxBytes int) (*answer, error) {
	a := &answer{text: jsonstream.Clip{Max: maxBytes}, structured: jsonstream.Clip{Max: maxBytes}, data: jsonstream.Clip{Max: maxData}}
	s := jsonstream.NewReader(r, jsonstream.Options{})
	err := s.Object(func(key string) error {
		switch key {
		case "result":
			a.result = true
			if !s.Is('{') {
				return s.Skip()
			}
			return s.Object(func(key string) error { return a.readMember(s, key) })
		case "error":
			return a.readError(s)
		}
		return s.Skip()
	})
	if err != nil {
		return nil, err
	}
	if !a.result && a.refusal == nil {
		return nil, errors.New("it has neither a result nor an error")
	}
	return a, nil
}

// readMember reads one member of the result and skips members that are not for the model.
func (a *answer) readMember(s *jsonstream.Reader, key string) error {
	switch key {
	case "content":
		if !s.Is('[') {
			return s.Skip()
		}
		return s.Array(func() error { return a.addBlock(s) })
	case "structuredContent":
		a.structured = jsonstream.Clip{Max: a.structured.Max}
		return s.Copy(&a.structured)
	case "isError":
		word := jsonstream.Clip{Max: 8}
		err := s.Copy(&word)
		a.failed = word.Whole() == "true"
		return err
	case "_meta":
		if !s.Is('{') {
			return s.Skip()
		}
		return s.Object(func(key string) error {
			if key != metaKey || !s.Is('{') {
				return s.Skip()
			}
			return s.Object(func(key string) error {
				word := jsonstream.Clip{Max: 80} // a number, or a digest of 64 digits
				err := s.Copy(&word)
				if key == "sha256" {
					a.digest = strings.Trim(word.Whole(), `"`)
				}
				if n, e := strconv.ParseInt(word.Whole(), 10, 64); e == nil && key == "bytes" && n > 0 {
					a.whole = n
				}
				return err
			})
		})
	}
	return s.Skip()
}

// readError reads the error of the response: its message, code and data, each cut to a bound.
func (a *answer) readError(s *jsonstream.Reader) error {
	a.refusal = &jsonstream.Clip{Max: maxError}
	if !s.Is('{') {
		return s.Copy(a.refusal)
	}
	return s.Object(func(key string) error {
		switch key {
		case "message":
			return readString(s, a.refusal)
		case "code":
			code := jsonstream.Clip{Max: 32}
			err := s.Copy(&code)
			a.code = code.Whole()
			return err
		case "data":
			return s.Copy(&a.data)
		}
		return s.Skip()
	})
}

// appendBlock appends a text as a block of its own.
func (a *answer) appendBlock(t *jsonstream.Clip) {
	a.beginBlock()
	before := a.text.Size
	for _, c := range t.Text {
		a.text.Byte(c)
	}
	a.text.Size = before + t.Size
	a.text.Full = a.text.Full || t.Full
}

// addRemark appends a note about content that is not text, in brackets.
func (a *answer) addRemark(remark string) {
	a.beginBlock()
	for _, r := range "[" + remark + "]" {
		a.text.Rune(r)
	}
}

// beginBlock counts a block, and separates it from text before it by a line feed.
func (a *answer) beginBlock() {
	if a.blocks++; a.blocks > 1 && a.text.Size > 0 {
		a.text.Byte('\n')
	}
}

// output returns the answer as the output for the model. server is the name of the server, for errors.
func (a *answer) output(server string) agent.Output {
	if !a.result {
		return agent.Output{Text: a.errorWords(server), Failed: true}
	}
	out := agent.Output{Text: string(a.text.Text), Failed: a.failed, Size: max(a.text.Size, a.whole), Digest: a.digest}
	left := a.text.Size - int64(len(a.text.Text))
	if a.text.Size == 0 && a.structured.Size > 0 && string(a.structured.Text) != "null" {
		out.Text, out.Size = string(a.structured.Text), max(a.structured.Size, a.whole)
		left = a.structured.Size - int64(len(a.structured.Text))
	}
	switch {
	case left > 0:
		out.Text += fmt.Sprintf("\n[%d more bytes were left out: ask for less, or for a part]", left)
	case out.Text == "":
		out.Text, out.Size = nothing, 0
	}
	return out
}

// errorWords returns the JSON-RPC error of the response in words.
func (a *answer) errorWords(server string) string {
	text := string(a.refusal.Text)
	if text == "" {
		text = server + " refused the call without saying why"
	}
	if a.code != "" {
		text += fmt.Sprintf(" (code %s)", a.code)
	}
	// When the gateway reports there what it kept, the message has it in words.
	if data := a.data.Whole(); data != "" && data != "null" && !strings.Contains(data, metaKey) {
		text += ": " + data
	}
	return text
}

// keptHandle matches a handle in the note beside a page.
var keptHandle = lazy.Regexp(`\{"handle":"(r_[0-9a-z]{8,64})"`)

// maxKept bounds the end of a text that is searched for the note beside a page, which comes last.
const maxKept = 4 << 10

// Keep stores a result that leaves the window, and returns the call by which the model can read it again. A page of a kept result is not
// stored; the call then names that result. It returns "" if no connected server has a tool for reading, or the text could not be stored.
func (b *Toolbox) Keep(tool, text string) string {
	page := ""
	for _, l := range b.sessions {
		l.mu.Lock()
		if l.reads {
			page = nameOfRole(l.names, pageRole)
		}
		l.mu.Unlock()
		if page != "" {
			break
		}
	}
	if page == "" {
		return ""
	}
	found := keptHandle().FindStringSubmatch(text[max(0, len(text)-maxKept):])
	if found != nil {
		if kept, err := b.spool.Read(b.principal, found[1]); err == nil {
			_ = kept.Close()
			return fmt.Sprintf(`%s {"handle":"%s"}`, page, found[1])
		}
	}
	w, err := b.spool.Create(spool.Source{Principal: b.principal, Server: functionsName, Tool: clip(tool, maxShown)})
	if err != nil {
		return ""
	}
	if _, err = w.Write([]byte(text)); err == nil {
		err = w.Complete(spool.Final{})
	}
	if err != nil {
		_ = w.Discard()
		return ""
	}
	return fmt.Sprintf(`%s {"handle":"%s"}`, page, w.Handle())
}
