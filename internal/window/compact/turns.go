package compact

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

// turns returns the texts of some messages, for a summary, and for each the part it is from. Reasoning is left out: it led to what was said
// and done. Of a result that was masked before it has the lines that the mask quotes.
func (w *work) turns(messages []int) (list []extract.Turn, from []target) {
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
				t.Kind, t.Text, t.Tool = extract.Result, partText(r, p)+numbers(r, p), w.tool(target{i, j})
				if isMask(t.Text) {
					t.Text, t.Failed = unmasked(t.Text)
				}
			case p.End == wire.Closes:
				t.Kind, t.Text = extract.Result, found(r, p)
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

// partText returns the words of a part, without the JSON around them; of a part without texts its raw JSON.
func partText(r *wire.Request, p *wire.Part) string {
	if len(p.Texts) == 0 && !p.Raw.IsZero() {
		return string(r.Raw(p.Raw))
	}
	return r.Words(p)
}

// numbers returns the numbers and booleans of a result that is a JSON object, one a line with their names: a command's exit code is among
// them. It is "" for any other result.
func numbers(r *wire.Request, p *wire.Part) string {
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
