package repair

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	// minMaxID leaves eight characters of an id readable beside its digest.
	minMaxID = 24
	// maxPlainID is the longest that an id may become by a number behind it: OpenAI takes 64 characters.
	maxPlainID = 64
	digestLen  = 16
)

// chooseIDs sets newID of the calls that need another id, and drop of those that are copies of another call in the same message.
func (p *pairing) chooseIDs(o Options) {
	used := map[string]bool{}
	for k := range p.calls {
		used[p.calls[k].id] = true
	}
	numbers := map[string]int{} // id → the last number that was put behind it
	taken := map[string]int{}   // id → the call that has it for longest
	for k := range p.calls {
		c := &p.calls[k]
		if c.id == "" || c.group == p.open {
			continue // shape is not pairing, and the open turn is left alone
		}
		if old, ok := taken[c.id]; ok && p.mustDiffer(&p.calls[old], c, o) {
			if c.result == none && p.calls[old].group == c.group && p.same(&p.calls[old], c) {
				c.drop = true
				p.addAction(Duplicate, c.msg, c.id, p.partOf(c).Span.Len())
				continue
			}
			c.newID = unusedID(c.id, numbers, used, o)
			used[c.newID] = true
		} else if !ok || !p.rules.Items || p.answeredBefore(&p.calls[old]) < p.answeredBefore(c) {
			taken[c.id] = k
		}
		// What only a model that made it may have is not for a name of ours.
		ours := o
		ours.AnyID = o.AnyID && c.newID == ""
		if name := cmp.Or(c.newID, c.id); badID(p.rules, name, ours) {
			c.newID = shortenID(name, o)
		}
		if c.newID != "" {
			p.addAction(Renamed, c.msg, c.id, 0)
		}
	}
}

// mustDiffer reports whether a call may not share the id of an earlier one.
func (p *pairing) mustDiffer(old, c *call, o Options) bool {
	switch {
	case p.rules.UniqueIDs || o.UniqueIDs:
		return true
	case p.rules.Items:
		return p.answeredBefore(old) > c.msg // an id is free when its call is answered
	}
	return old.group == c.group
}

// answeredBefore returns the index of the message before which a call of Responses will have its output once the repair is done.
func (p *pairing) answeredBefore(c *call) int {
	if c.result != none && p.results[c.result].msg > c.msg {
		return p.results[c.result].msg
	}
	if c.group == p.open {
		return len(p.r.Messages)
	}
	return p.endOfCalls(c.msg)
}

// endOfCalls returns the index of the message after all calls that were made together with the one in message msg, and after the outputs
// that follow them.
func (p *pairing) endOfCalls(msg int) int {
	if msg >= p.run[0] && msg < p.run[1] {
		return p.run[1]
	}
	p.run = [2]int{msg, msg + 1}
	for kind := wire.Call; p.run[1] < len(p.r.Messages); p.run[1]++ {
		m := &p.r.Messages[p.run[1]]
		if len(m.Parts) == 1 && m.Parts[0].Kind == wire.Result {
			kind = wire.Result
		}
		if len(m.Parts) != 1 || m.Parts[0].Kind != kind {
			break
		}
	}
	return p.run[1]
}

// same reports whether two calls are identical to the byte.
func (p *pairing) same(a, b *call) bool {
	return bytes.Equal(p.r.Raw(p.partOf(a).Span), p.r.Raw(p.partOf(b).Span))
}

// unusedID returns id with the first number appended that makes it unused. The same history always gives the same id.
func unusedID(id string, numbers map[string]int, used map[string]bool, o Options) string {
	longest := maxPlainID
	if o.MaxID > 0 {
		longest = o.MaxID
	}
	for {
		numbers[id] = max(numbers[id]+1, 2)
		suffix := "_" + strconv.Itoa(numbers[id])
		name := id + suffix
		if utf8.RuneCountInString(name) > longest {
			name = idDigest(id+suffix, longest)
		}
		if !used[name] {
			return name
		}
	}
}

// badID reports whether a provider refuses an id for its length or characters.
func badID(rules *wire.Rules, id string, o Options) bool {
	if o.NineIDs {
		return !isNine(id)
	}
	if o.MaxID > 0 && len(id) > o.MaxID && utf8.RuneCountInString(id) > o.MaxID {
		return true
	}
	if o.PlainIDs {
		return strings.ContainsFunc(id, func(c rune) bool { return c > 0x7f || !isPlain(byte(c)) })
	}
	if rules.IDMarks == "" || o.AnyID && !rules.Mixed {
		return false
	}
	for i := range len(id) {
		if !isPlain(id[i]) && strings.IndexByte(rules.IDMarks, id[i]) < 0 {
			return true
		}
	}
	return false
}

// isPlain reports whether every provider accepts a character in an id.
func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// isNine reports whether an id is nine letters and digits.
func isNine(id string) bool {
	for i := range len(id) {
		if c := id[i]; !isPlain(c) || c == '_' || c == '-' {
			return false
		}
	}
	return len(id) == 9
}

// shortenID returns the id that replaces one that the provider refuses.
func shortenID(id string, o Options) string {
	if o.NineIDs {
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:])[:9]
	}
	if o.MaxID > 0 {
		return idDigest(id, o.MaxID)
	}
	return idDigest(id, maxPlainID)
}

// idDigest returns an id of at most longest characters that every provider takes: the beginning of id and a digest of all of it. Equal ids
// give equal results, different ids different ones.
func idDigest(id string, longest int) string {
	sum := sha256.Sum256([]byte(id))
	head := make([]byte, 0, longest)
	for i := 0; i < len(id) && len(head) < longest-digestLen-1; i++ {
		if c := id[i]; isPlain(c) {
			head = append(head, c)
		} else if n := len(head); n == 0 || head[n-1] != '_' {
			head = append(head, '_')
		}
	}
	return string(head) + "_" + hex.EncodeToString(sum[:digestLen/2])
}
