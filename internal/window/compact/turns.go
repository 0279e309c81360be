package compact

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

// turnsOf returns the texts in some messages, for a summary, and the part that each is from. Reasoning is left out: it led to what was said
// and done. A result that was masked before is represented by the lines that its mask quotes.
func (w *work) turnsOf(messages []int) (list []extract.Turn, from []target) {
	r := w.base
	for _, i := range messages {
		m := &r.Messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			t := extract.Turn{Tool: p.Name, ID: p.CallID, Failed: p.Failed}
			switch {
			case p.Kind == wire.Call:
				t.Kind, t.Text = extract.Call, resultText(r, p)
			case p.Kind == wire.Result:
				t.Kind, t.Text, t.Tool = extract.Result, partText(r, p)+numbersIn(r, p), w.toolName(target{i, j})
				if isMask(t.Text) {
					t.Text, t.Failed = quotedLines(t.Text)
				}
			case p.End == wire.Closes:
				t.Kind, t.Text = extract.Result, searchText(r, p)
			case p.Kind != wire.Text, m.Role == wire.RoleSystem:
				continue
			case m.Role == wire.RoleAssistant:
				t.Kind, t.Text = extract.Assistant, partText(r, p)
			case m.Role == wire.RoleUser:
				t.Text = partText(r, p)
				if extract.IsSummary(t.Text) {
					t.Kind = extract.Prior
				}
			default:
				t.Kind, t.Text = extract.Result, partText(r, p)
			}
			if t.Text != "" || t.Kind == extract.Result { // a result that says nothing is one: of a command that did well
				list, from = append(list, t), append(from, target{i, j})
			}
		}
	}
	return list, from
}

// partText returns the words of a part, without the JSON around them; for a part without texts its raw JSON.
func partText(r *wire.Request, p *wire.Part) string {
	if len(p.Texts) == 0 && !p.Raw.IsZero() {
		return string(r.Raw(p.Raw))
	}
	return r.Words(p)
}

// numbersIn returns the numbers and booleans of a result that is a JSON object, one a line with their names, such as a command's exit code.
// It is "" for any other result.
func numbersIn(r *wire.Request, p *wire.Part) string {
	if p.Raw.IsZero() || len(p.Texts) == 0 {
		return ""
	}
	var b strings.Builder
	raw := r.Raw(p.Raw)
	for m, err := range rawjson.Members(raw, 0) {
		if err != nil || b.Len() > 400 {
			break
		}
		if c := raw[m.Value.Start]; (c == 't' || c == 'f' || c == '-' || c >= '0' && c <= '9') && len(m.Key) < 40 {
			b.WriteString("\n" + string(m.Key) + ": " + string(m.Value.Of(raw)))
		}
	}
	return b.String()
}

const (
	foundBytes = 8 << 10 // of what a tool at the provider found, for a summary
	foundDepth = 8
)

// searchText returns what a tool on the provider's side found, as text: the strings of a block of unknown form, each on a line of its own,
// without names, ids and data that only the provider can read.
func searchText(r *wire.Request, p *wire.Part) string {
	var b strings.Builder
	var read func(raw []byte, depth int)
	read = func(raw []byte, depth int) {
		if depth > foundDepth || len(raw) == 0 {
			return
		}
		switch raw[0] {
		case '[':
			for at, err := range rawjson.Elements(raw, 0) {
				if err != nil || b.Len() > foundBytes {
					return
				}
				read(at.Of(raw), depth+1)
			}
		case '{':
			for m, err := range rawjson.Members(raw, 0) {
				if err != nil || b.Len() > foundBytes {
					return
				}
				if !isTechnical(strings.ToLower(string(m.Key))) {
					read(m.Value.Of(raw), depth+1)
				}
			}
		case '"':
			b.Write(rawjson.Unquote(nil, raw[:min(len(raw), foundBytes)]))
			b.WriteByte('\n')
		}
	}
	read(r.Raw(p.Span), 0)
	return strings.TrimSpace(strings.ToValidUTF8(b.String(), "\uFFFD"))
}

// isTechnical reports whether a member with that name, in lower case, has a value of no use to a reader.
func isTechnical(key string) bool {
	for _, end := range [...]string{"type", "id", "signature", "token"} { // type and toolType, id and call_id
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return key == "fingerprint" || key == "status" || strings.HasPrefix(key, "encrypted")
}

// misplacedSystem returns for each message of the base whether it is a system message that Anthropic would refuse where it stands now:
// behind a user's message it "must precede an 'assistant' message or end the array". It is false if the neighbours are still those that the
// client sent.
func (w *work) misplacedSystem() []bool {
	found := make([]bool, len(w.base.Messages))
	if !w.base.Dialect.Rules().SystemBetween {
		return found
	}
	const none, note = -1, -2
	before := none
	var last int // the last system message that was kept, while nothing follows it
	last = none
	for i := range len(w.base.Messages) + 1 {
		if i == w.lay.at && w.note != "" {
			if last != none {
				found[last] = true // a user's message follows
			}
			before, last = note, none
		}
		if i == len(w.base.Messages) || w.dropped[i] {
			continue
		}
		role := w.base.Messages[i].Role
		if last != none && i != last+1 && role != wire.RoleAssistant {
			found[last] = true
		}
		last = none
		if role == wire.RoleSystem {
			last = i
			behindUser := before == note || before != none && (w.base.Messages[before].Role == wire.RoleUser || found[before])
			if before != i-1 && !behindUser {
				found[i] = true
				last = none
			}
		}
		before = i
	}
	return found
}

// reminder returns system message i as a user's message, in the tags in which Anthropic's own client sends such messages to models that
// allow no system messages there.
func (w *work) reminder(i int) []byte {
	var text strings.Builder
	text.WriteString("<system-reminder>\n")
	for _, p := range w.base.Messages[i].Parts {
		if p.Kind == wire.Text {
			text.WriteString(partText(w.base, &p) + "\n")
		}
	}
	return wire.TextMessage(w.base.Dialect, wire.RoleUser, text.String()+"</system-reminder>")
}
