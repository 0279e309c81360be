package repair

import (
	"bytes"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// replaceLate replaces results that come too late, where they stand, by words of the user that tell them: their call and something in place
// of the result were sent before. A second result would be refused, and the model has read that there is none; now it reads the result. It
// returns r itself if there are none.
func replaceLate(r *wire.Request, frozen int) (*wire.Request, []Action, error) {
	p := pair(r)
	var d *wire.Draft
	for i := range p.results {
		res := &p.results[i]
		if res.msg < frozen || !p.isLate(res, frozen) {
			continue
		}
		if d == nil {
			d = r.Draft()
		}
		part := p.resultPart(res)
		replaceByText(d, r, p.rules, res.msg, res.part, part)
		p.addAction(Late, res.msg, part.CallID, 0)
	}
	if d == nil {
		return r, nil, nil
	}
	next, err := d.Build()
	return next, p.actions, err
}

// isLate reports whether the call of a result was sent before without this result, and something else after it instead. frozen is the
// number of messages that were sent before.
func (p *pairing) isLate(res *result, frozen int) bool {
	k := res.call
	if k == none {
		k = res.second
	}
	if k == none || p.calls[k].msg >= frozen {
		return false
	}
	if res.call == none {
		s := p.calls[k].result
		return s != none && p.results[s].msg < frozen
	}
	// Its result comes in time where nothing but its own turn was sent behind it.
	for i := p.calls[k].msg + 1; i < frozen; i++ {
		if !p.rules.Items || p.r.Messages[i].Role != wire.RoleAssistant {
			return !p.hasOnlyResults(i)
		}
	}
	return false
}

// hasOnlyResults reports whether a message consists of results, in a dialect where each result may have a message of its own. Then other
// calls of the same turn were answered before it.
func (p *pairing) hasOnlyResults(message int) bool {
	m := &p.r.Messages[message]
	if p.rules.Results.Together() {
		return false
	}
	for i := range m.Parts {
		if m.Parts[i].Kind != wire.Result {
			return false
		}
	}
	return len(m.Parts) > 0
}

// replaceByText replaces a result, where it stands, by words of the user that say that it came late and what it was. Its blocks stay as
// they are if a user's message may have them.
func replaceByText(d *wire.Draft, r *wire.Request, rules *wire.Rules, msg, part int, p *wire.Part) {
	head := "[The result of the call " + p.CallID + " came late"
	if p.Name != "" {
		head += ", of " + p.Name
	}
	head += ".]"
	var blocks [][]byte
	text := r.Words(p)
	if !p.Content.IsZero() && !rules.ObjectResults && r.Body[p.Content.Start] == '[' {
		if own, ok := userBlocks(r, p); ok {
			blocks, text = own, ""
		}
	} else if len(p.Texts) == 0 && !p.Raw.IsZero() {
		text = string(r.Raw(p.Raw))
	}
	if text != "" {
		head += "\n" + text
	}
	switch {
	case rules.Results.Together():
		d.InsertPart(msg, part, wire.TextElement(r.Dialect, wire.RoleUser, head))
		for _, b := range blocks {
			d.InsertPart(msg, part, b)
		}
		d.DropPart(msg, part)
	default:
		if blocks == nil {
			d.ReplaceMessages(msg, msg+1, wire.TextMessage(r.Dialect, wire.RoleUser, head))
			return
		}
		raw := append([]byte(`{"role":"user","content":[`), wire.TextElement(r.Dialect, wire.RoleUser, head)...)
		for _, b := range blocks {
			raw = append(append(raw, ','), b...)
		}
		d.ReplaceMessages(msg, msg+1, append(raw, "]}"...))
	}
}

// userBlockTypes are the types of blocks that may stand both in results and in a user's message.
var userBlockTypes = map[string]bool{
	"text": true, "image": true, "document": true, "search_result": true, // Messages
	"input_text": true, "input_image": true, "input_file": true, // Responses
	"image_url": true, // Chat
}

// userBlocks returns the blocks of a result; false unless all of them may stand in a user's message.
func userBlocks(r *wire.Request, p *wire.Part) (blocks [][]byte, ok bool) {
	list := r.Raw(p.Content)
	for e, err := range rawjson.Elements(list, 0) {
		if err != nil {
			return nil, false
		}
		raw := e.Of(list)
		kind := ""
		for m, err := range rawjson.Members(raw, 0) {
			if err != nil {
				return nil, false
			}
			if string(m.Key) == "type" {
				kind = string(m.Value.Of(raw))
			}
		}
		if len(kind) < 2 || !userBlockTypes[kind[1:len(kind)-1]] {
			return nil, false
		}
		blocks = append(blocks, raw)
	}
	return blocks, len(blocks) > 0
}

// sameBeginning reports whether the first frozen messages of two requests are identical to the byte.
func sameBeginning(before, after *wire.Request, frozen int) bool {
	for i := range min(frozen, len(before.Messages)) {
		if i >= len(after.Messages) || !bytes.Equal(before.Raw(before.Messages[i].Span), after.Raw(after.Messages[i].Span)) {
			return false
		}
	}
	return true
}
