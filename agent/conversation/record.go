package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/limit"
)

// format and version stand in the head, the first record of a file.
const (
	format  = "plimsoll-conversation"
	version = 1
)

// headerRecord is the first record of a file.
type headerRecord struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Session string    `json:"session"`
	Created time.Time `json:"created"`
	Title   string    `json:"title,omitempty"`
}

// messageRecord is each further record.
type messageRecord struct {
	At      time.Time      `json:"at"`
	Message *agent.Message `json:"message"`
}

// appendRecord appends v as a line to buf. On an error it returns buf unchanged.
func appendRecord(buf []byte, v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text) // it ends the text with a line feed
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return buf, err
	}
	return store.AppendLine(buf, bytes.TrimSuffix(text.Bytes(), []byte("\n"))), nil
}

// parseHeader parses the first line of a file. Any other line is an error.
func parseHeader(line []byte) (headerRecord, error) {
	text, err := store.Text(line)
	if err != nil {
		return headerRecord{}, err
	}
	var h headerRecord
	if err := json.Unmarshal(text, &h); err != nil {
		return headerRecord{}, fmt.Errorf("the first record is no head: %w", err)
	}
	if h.Format != format || checkID(h.Session) != nil {
		return headerRecord{}, errors.New("the first record is no head")
	}
	return h, nil
}

// parseMessage parses the line of a message.
func parseMessage(line []byte) (agent.Message, error) {
	text, err := store.Text(line)
	if err != nil {
		return agent.Message{}, err
	}
	var b messageRecord
	if err := json.Unmarshal(text, &b); err != nil {
		return agent.Message{}, fmt.Errorf("a record is no message: %w", err)
	}
	if b.Message == nil {
		return agent.Message{}, errors.New("a record is no message")
	}
	return *b.Message, nil
}

// appendMessage appends the record of a message to buf, of at most maxBytes. From a larger message it leaves out Opaque, and then the end
// of the text or other large fields; cut reports that.
func appendMessage(buf []byte, m agent.Message, at time.Time, maxBytes int) (_ []byte, cut bool) {
	if len(m.Opaque) > 0 && !json.Valid(m.Opaque) {
		m.Opaque, cut = nil, true
	}
	try := func() bool {
		next, err := appendRecord(buf, messageRecord{At: at, Message: &m})
		if err != nil || len(next)-len(buf) > maxBytes {
			return false
		}
		buf = next
		return true
	}
	if try() {
		return buf, cut
	}
	// What only the model's provider can read goes first, then the end of the words.
	m.Opaque = nil
	if try() {
		return buf, true
	}
	whole := m.Text
	for keep := len(whole) / 2; keep > 0; keep /= 2 {
		m.Text = clip(whole, keep) + fmt.Sprintf("\n[cut: %d of %d bytes are kept]", len(clip(whole, keep)), len(whole))
		if try() {
			return buf, true
		}
	}
	m.Text, m.Calls = whole, append([]agent.Call(nil), m.Calls...)
	for i := range m.Calls {
		m.Calls[i].Arguments = "{}"
	}
	for keep := len(whole); ; keep /= 2 {
		if try() {
			return buf, true
		}
		if keep == 0 {
			break
		}
		m.Text = clip(whole, keep/2) + fmt.Sprintf("\n[cut: %d of %d bytes are kept]", len(clip(whole, keep/2)), len(whole))
	}
	// Names and ids of kilobytes: there is nothing in it that could be gone on with.
	m = agent.Message{Role: agent.Role(clip(string(m.Role), 16)), Text: "[left out: too large]"}
	try()
	return buf, true
}

// clip returns at most the first n bytes of s, cut between characters.
func clip(s string, n int) string { return limit.Clip(s, n) }

// maxTitle bounds the title of a session, in bytes.
const maxTitle = 120

// titleOf returns the beginning of a question as one line of at most maxTitle bytes, without control characters.
func titleOf(question string) string {
	line := strings.Join(strings.FieldsFunc(clip(question, 8*maxTitle), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	return limit.Short(line, maxTitle)
}

// checkID returns an [ErrSession] if a text cannot be the id of a session.
func checkID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty", ErrSession)
	case len(id) > MaxID:
		return fmt.Errorf("%w: %q… has %d bytes; at most %d are allowed", ErrSession, clip(id, 32), len(id), MaxID)
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: %q is not UTF-8", ErrSession, id)
	}
	return nil
}
