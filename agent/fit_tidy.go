package agent

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/window/repair"
)

const (
	// beginning is put before a conversation that lost its first messages: some providers require that the user speaks first.
	beginning = "[The beginning of this conversation is not part of it any more.]"
	// silence is put in the place of a user's message without text, which some providers refuse.
	silence = "[The user sent no text.]"
)

// tidy drops messages that no provider accepts: those of unknown roles, and empty ones of the model. Empty ones of the user get the text
// silence. It returns ms itself if there are none, and the number of such messages.
func tidy(ms []Message) ([]Message, int) {
	n := 0
	for i := range ms {
		if hasFlaws(&ms[i]) {
			n++
		}
	}
	if n == 0 {
		return ms, 0
	}
	out := make([]Message, 0, len(ms))
	for i := range ms {
		m := ms[i]
		if hasFlaws(&m) {
			if m.Role != RoleUser {
				continue
			}
			m.Text = silence
		}
		out = append(out, m)
	}
	return out, n
}

func hasFlaws(m *Message) bool {
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
	if renames(out, strict) {
		out, n = rename(out, strict), n+1
	}
	return out, n
}

// nameBytes is the length of the longest name of a tool that all providers take, in bytes.
const nameBytes = 64

// dropUncallable replaces names and arguments in calls that providers do not accept, and returns the number of such calls: a model may have
// called a tool that does not exist, by a name that is not allowed, or its answer may have ended within the arguments, and every later
// request would be refused for it. Names of known tools are left to the adapter.
func dropUncallable(ms []Message, known func(string) bool) (out []Message, n int) {
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

// renames reports whether an id has to be replaced: it is empty, used twice or, with strict, has other characters.
func renames(ms []Message, strict bool) bool {
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
	if id == "" {
		id = "call"
	}
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
