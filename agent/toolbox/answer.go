package toolbox

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/limit"
)

// MaxText is the most of one result that is held, in bytes. What servers made here answer
// is less (see [Options].MaxResult); it bounds a Gateway that was told to let everything pass.
const MaxText = 256 * limit.KiB

const (
	// maxSmall bounds names, types and addresses, in bytes.
	maxSmall = 1 << 10
	// maxError bounds the message of an error, maxData what comes with it.
	maxError = 16 << 10
	maxData  = 2 << 10
)

// metaKey is where the gateway says what page of which result this is; see result.MetaKey.
const metaKey = "plimsoll/result"

// nothing stands for a result without content: models take an empty one for a mistake.
const nothing = "(no output)"

// answer is the response to a call, as far as a model is given of it.
type answer struct {
	text   clipped
	blocks int
	// structured is structuredContent as it stands there.
	structured clipped
	failed     bool
	// whole is the size of the kept result of which the text is a page; 0 where it is all.
	whole int64
	// refusal is the message of a JSON-RPC error.
	refusal *clipped
	code    string
	data    clipped
	result  bool // there was one
}

// decode reads a response to tools/call. It holds at most max bytes of text, whatever comes.
func decode(r io.Reader, most int) (*answer, error) {
	a := &answer{text: clipped{max: most}, structured: clipped{max: most}, data: clipped{max: maxData}}
	s := newScanner(r)
	err := s.object(func(key string) error {
		switch key {
		case "result":
			a.result = true
			if !s.is('{') {
				return s.skip()
			}
			return s.object(func(key string) error { return a.member(s, key) })
		case "error":
			return a.refuse(s)
		}
		return s.skip()
	})
	if err != nil {
		return nil, err
	}
	if !a.result && a.refusal == nil {
		return nil, errors.New("it has neither a result nor an error")
	}
	return a, nil
}

// member reads one member of the result.
func (a *answer) member(s *scanner, key string) error {
	switch key {
	case "content":
		if !s.is('[') {
			return s.skip()
		}
		return s.array(func() error { return a.block(s) })
	case "structuredContent":
		a.structured = clipped{max: a.structured.max}
		return s.raw(&a.structured)
	case "isError":
		word := clipped{max: 8}
		err := s.raw(&word)
		a.failed = word.whole() == "true"
		return err
	case "_meta":
		if !s.is('{') {
			return s.skip()
		}
		return s.object(func(key string) error {
			if key != metaKey || !s.is('{') {
				return s.skip()
			}
			return s.object(func(key string) error {
				word := clipped{max: 32}
				err := s.raw(&word)
				if n, e := strconv.ParseInt(word.whole(), 10, 64); e == nil && key == "bytes" && n > 0 {
					a.whole = n
				}
				return err
			})
		})
	}
	return s.skip()
}

// refuse reads an error.
func (a *answer) refuse(s *scanner) error {
	a.refusal = &clipped{max: maxError}
	if !s.is('{') {
		return s.raw(a.refusal)
	}
	return s.object(func(key string) error {
		switch key {
		case "message":
			return s.word(a.refusal)
		case "code":
			code := clipped{max: 32}
			err := s.raw(&code)
			a.code = code.whole()
			return err
		case "data":
			return s.raw(&a.data)
		}
		return s.skip()
	})
}

// add adds a text as a block of its own.
func (a *answer) add(t *clipped) {
	a.separate()
	before := a.text.size
	for _, c := range t.b {
		a.text.add(c)
	}
	a.text.size = before + t.size
	a.text.full = a.text.full || t.full
}

// say adds a remark about content that is no text.
func (a *answer) say(remark string) {
	a.separate()
	for _, r := range "[" + remark + "]" {
		a.text.rune(r)
	}
}

func (a *answer) separate() {
	if a.blocks++; a.blocks > 1 && a.text.size > 0 {
		a.text.add('\n')
	}
}

// output is what the model is given. server is who answered.
func (a *answer) output(server string) agent.Output {
	if !a.result {
		return agent.Output{Text: a.refused(server), Failed: true}
	}
	out := agent.Output{Text: string(a.text.b), Failed: a.failed, Size: max(a.text.size, a.whole)}
	left := a.text.size - int64(len(a.text.b))
	if a.text.size == 0 && a.structured.size > 0 && string(a.structured.b) != "null" {
		out.Text, out.Size = string(a.structured.b), max(a.structured.size, a.whole)
		left = a.structured.size - int64(len(a.structured.b))
	}
	switch {
	case left > 0:
		out.Text += fmt.Sprintf("\n[%d more bytes were left out: ask for less, or for a part]", left)
	case out.Text == "":
		out.Text, out.Size = nothing, 0
	}
	return out
}

// refused says a JSON-RPC error in words.
func (a *answer) refused(server string) string {
	text := string(a.refusal.b)
	if text == "" {
		text = server + " refused the call without saying why"
	}
	if a.code != "" {
		text += fmt.Sprintf(" (code %s)", a.code)
	}
	// Where the gateway says what it kept the message has it in words.
	if data := a.data.whole(); data != "" && data != "null" && !strings.Contains(data, metaKey) {
		text += ": " + data
	}
	return text
}
