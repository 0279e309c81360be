package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// isPaired reports whether each message with calls is followed by exactly their results, in any order, so that package repair has nothing
// to do. An id that is empty, longer than maxID (0: any length) or used twice in one message makes it false. The calls of the last message
// may have no results. Ids may be used again in a later step: see completeCalls.
func isPaired(ms []Message, maxID int) bool {
	for i := 0; i < len(ms); {
		calls := ms[i].Calls
		if ms[i].Role == RoleTool {
			return false
		}
		i++
		for k, c := range calls {
			if c.ID == "" || maxID > 0 && len(c.ID) > maxID || slices.ContainsFunc(calls[:k], func(o Call) bool { return o.ID == c.ID }) {
				return false
			}
		}
		if i == len(ms) {
			break
		}
		if len(ms)-i < len(calls) {
			return false
		}
		results := ms[i : i+len(calls)]
		for _, c := range calls {
			if !slices.ContainsFunc(results, func(m Message) bool { return m.Role == RoleTool && m.CallID == c.ID }) {
				return false
			}
		}
		i += len(calls)
	}
	return true
}

// mend pairs calls and results by package repair: a process may have died between them, or a conversation been cut. It returns the
// messages, which are ms itself if nothing had to be done, and the number of repairs.
func (f *fitter) mend(ms []Message) ([]Message, int, error) {
	k := newKeyedMessages(f.seed, ms)
	r, err := wire.Parse(wire.Chat, chatBody(f.info.Name, "", k.raw, nil))
	if err != nil {
		return nil, 0, uncountable(ms, err)
	}
	next, actions, err := repair.Repair(r, repair.Options{MaxID: f.maxID})
	if err != nil {
		return nil, 0, fmt.Errorf("agent: %w; begin a new session", err)
	}
	if next != r {
		ms, err = k.repaired(next)
	}
	return ms, len(actions), err
}

// uncountable returns the error of a conversation that cannot be encoded, and so not be counted.
func uncountable(ms []Message, err error) error {
	return fmt.Errorf("agent: a conversation of %d messages and %d bytes can't be counted: %w; begin a new session", len(ms), sizeOf(ms), err)
}

// keyName begins a member that no provider knows. It comes first in each encoded message and identifies, by a digest, the message of the
// history that it was made from, whatever a repair does to the rest.
const keyName = `{"plimsoll_message":"`

const keyDigits = 16

// keyedMessages are messages in the form of OpenAI's Chat Completions, each with a key.
type keyedMessages struct {
	ms    []Message
	raw   [][]byte // of each message
	byKey map[string]int
}

// newKeyedMessages encodes messages as JSON, each with a key made of its hash, by which find recognises it after a repair.
func newKeyedMessages(seed maphash.Seed, ms []Message) *keyedMessages {
	c := &keyedMessages{ms: ms, raw: make([][]byte, len(ms)), byKey: make(map[string]int, len(ms))}
	for i := range ms {
		m := &ms[i]
		b := append(make([]byte, 0, chatSize(m)), keyName...)
		at := len(b)
		b = append(b, strings.Repeat("0", keyDigits)...)
		b = append(appendMessage(append(b, `",`...), m), '}')
		var h maphash.Hash
		h.SetSeed(seed)
		_, _ = h.Write(b)
		_, _ = h.WriteString(m.Name) // the request does not have it
		if m.Failed {
			_ = h.WriteByte(1)
		}
		digits := strconv.FormatUint(h.Sum64(), 16)
		copy(b[at+keyDigits-len(digits):], digits)
		c.raw[i] = b
		c.byKey[string(b[at:at+keyDigits])] = i
	}
	return c
}

// repaired returns the history after a repair of r. Messages that were not edited are returned as they were in the history, and a result
// that the repair has added is marked as failed.
func (c *keyedMessages) repaired(r *wire.Request) ([]Message, error) {
	out := make([]Message, 0, len(r.Messages))
	for i := range r.Messages {
		raw := r.Raw(r.Messages[i].Span)
		at, known := c.find(raw)
		if known && bytes.Equal(raw, c.raw[at]) {
			out = append(out, c.ms[at])
			continue
		}
		m, err := decodeMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("agent: read a message of %d bytes after an edit: %w", len(raw), err)
		}
		if known {
			m = c.merge(at, m)
		} else if m.Role == RoleTool {
			m.Failed = m.Text == repair.Note
			m.Name = toolOfCall(out, m.CallID)
		}
		out = append(out, m)
	}
	return out, nil
}

// find returns the index of the message that raw was made from, by its key; false for a message without a known key.
func (c *keyedMessages) find(raw []byte) (int, bool) {
	rest, ok := bytes.CutPrefix(raw, []byte(keyName))
	if !ok || len(rest) < keyDigits {
		return 0, false
	}
	at, ok := c.byKey[string(rest[:keyDigits])]
	return at, ok
}

// merge returns a copy of a message of the history with the text, id and calls of the edited one. If the number of calls has changed,
// Opaque is dropped.
func (c *keyedMessages) merge(at int, edited Message) Message {
	m := c.ms[at]
	was, err := decodeMessage(c.raw[at])
	if err != nil { // we wrote it
		return edited
	}
	if edited.Text != was.Text {
		m.Text = edited.Text
	}
	m.CallID = edited.CallID
	if !slices.Equal(edited.Calls, was.Calls) {
		if len(edited.Calls) != len(was.Calls) {
			m.Opaque = nil // it may speak of a call that is gone
		}
		m.Calls = edited.Calls
	}
	return m
}

// toolOfCall returns the name of the tool in the newest call with an id, "" if there is none.
func toolOfCall(ms []Message, id string) string {
	for _, m := range slices.Backward(ms) {
		for _, call := range slices.Backward(m.Calls) {
			if call.ID == id {
				return call.Name
			}
		}
	}
	return ""
}

// decodeMessage reads a message in the JSON of Chat Completions, in which newKeyedMessages writes it.
func decodeMessage(raw []byte) (Message, error) {
	var in struct {
		Role    Role   `json:"role"`
		Content string `json:"content"`
		CallID  string `json:"tool_call_id"`
		Calls   []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Message{}, err
	}
	m := Message{Role: in.Role, Text: in.Content, CallID: in.CallID}
	for _, call := range in.Calls {
		m.Calls = append(m.Calls, Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return m, nil
}

const (
	// beginning is put before a conversation that lost its first messages: some providers require that the user speaks first.
	beginning = "[The beginning of this conversation is not part of it any more.]"
	// silence is put in the place of a user's message without text, which some providers refuse.
	silence = "[The user sent no text.]"
)

// dropUnsendable drops messages that no provider accepts: those of unknown roles, and empty ones of the model. An empty message of the user
// gets a text instead. It returns the number of such messages, and ms itself if there are none.
func dropUnsendable(ms []Message) ([]Message, int) {
	n := 0
	for i := range ms {
		if isUnsendable(&ms[i]) {
			n++
		}
	}
	if n == 0 {
		return ms, 0
	}
	out := make([]Message, 0, len(ms))
	for i := range ms {
		m := ms[i]
		if isUnsendable(&m) {
			if m.Role != RoleUser {
				continue
			}
			m.Text = silence
		}
		out = append(out, m)
	}
	return out, n
}

// isUnsendable reports whether a message is empty or has an unknown role. A result may be empty.
func isUnsendable(m *Message) bool {
	switch m.Role {
	case RoleUser:
		return isBlank(m.Text)
	case RoleAssistant:
		return len(m.Calls) == 0 && isBlank(m.Text)
	case RoleTool:
		return false
	}
	return true
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// completeCalls repairs what package repair does not, in messages whose calls and results are paired: it adds results to calls of the last
// message, replaces ids that are empty or used twice, and puts a user's message first. strict ids consist of letters, digits, - and _, as
// Anthropic requires. It returns ms itself if nothing had to be done, and the number of repairs.
func completeCalls(ms []Message, strict bool) (out []Message, n int) {
	out = ms
	if len(ms) == 0 || ms[0].Role != RoleUser {
		out, n = append([]Message{{Role: RoleUser, Text: beginning}}, ms...), 1
	}
	if last := out[len(out)-1]; last.Role == RoleAssistant && len(last.Calls) > 0 {
		out = slices.Clip(out)
		for _, call := range last.Calls {
			out = append(out, Message{Role: RoleTool, CallID: call.ID, Name: call.Name, Text: repair.Note, Failed: true})
			n++
		}
	}
	if mustRename(out, strict) {
		out, n = rename(out, strict), n+1
	}
	return out, n
}

// nameBytes is the length of the longest name of a tool that all providers take, in bytes.
const nameBytes = 64

// fixCalls replaces the names and arguments of calls that providers would refuse with every later request: a model may have called a tool
// by a name that is not allowed, or its answer may have been cut within the arguments. Names that known accepts are left to the adapter. It
// returns the number of such calls, and ms itself if there are none.
func fixCalls(ms []Message, known func(string) bool) (out []Message, n int) {
	out = ms
	for i := range ms {
		for k, call := range ms[i].Calls {
			fit := call
			fit.Arguments = mend.Arguments(call.Arguments)
			if !known(call.Name) && (call.Name == "" || len(call.Name) > nameBytes || !isPlainID(call.Name)) {
				fit.Name = cmp.Or(sanitizeID(call.Name), "unknown")
				fit.Name = fit.Name[:min(len(fit.Name), nameBytes)]
			}
			if fit == call {
				continue
			}
			if n == 0 {
				out = slices.Clone(ms)
			}
			if &out[i].Calls[0] == &ms[i].Calls[0] {
				out[i].Calls = slices.Clone(ms[i].Calls)
			}
			out[i].Calls[k] = fit
			n++
		}
	}
	return out, n
}

// mustRename reports whether the id of any call has to be replaced: one is empty, used twice or, with strict, has a character other than
// letters, digits, - and _.
func mustRename(ms []Message, strict bool) bool {
	seen := map[string]bool{}
	for i := range ms {
		for _, call := range ms[i].Calls {
			if seen[call.ID] || call.ID == "" || strict && !isPlainID(call.ID) {
				return true
			}
			seen[call.ID] = true
		}
	}
	return false
}

// rename returns the messages with new ids for calls whose ids cannot stay, and for their results. The same history always gets the same
// ids.
func rename(ms []Message, strict bool) []Message {
	out := slices.Clone(ms)
	used := map[string]bool{}
	for i := range ms {
		for _, call := range ms[i].Calls {
			used[call.ID] = true // a new id must not be one that comes later
		}
	}
	seen := map[string]bool{}
	for i := range out {
		m := &out[i]
		if len(m.Calls) == 0 {
			continue
		}
		calls := slices.Clone(m.Calls)
		end := i + 1 // of its results, which follow it in any order
		for end < len(ms) && ms[end].Role == RoleTool {
			end++
		}
		answered := make([]bool, end-i)
		for k := range calls {
			id := calls[k].ID
			if seen[id] || id == "" || strict && !isPlainID(id) {
				calls[k].ID = unusedID(id, strict, used)
				used[calls[k].ID] = true
			}
			seen[id], seen[calls[k].ID] = true, true
			for at := i + 1; at < end; at++ {
				if !answered[at-i] && ms[at].CallID == id {
					out[at].CallID, answered[at-i] = calls[k].ID, true
					break
				}
			}
		}
		m.Calls = calls
	}
	return out
}

// unusedID returns the id ("call" for an empty one, sanitized with strict) with a number appended, so that it is not in used.
func unusedID(id string, strict bool, used map[string]bool) string {
	if strict {
		id = sanitizeID(id)
	}
	id = cmp.Or(id, "call")
	for n := 1; ; n++ {
		if next := id + "_" + strconv.Itoa(n); !used[next] {
			return next
		}
	}
}

// sanitizeID returns an id in which each character other than ASCII letters, digits, - and _ is replaced by _.
func sanitizeID(id string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && plainByte(byte(r)) {
			return r
		}
		return '_'
	}, id)
}

func isPlainID(id string) bool {
	for i := range len(id) {
		if !plainByte(id[i]) {
			return false
		}
	}
	return true
}

func plainByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
