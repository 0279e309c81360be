package wire

import "strings"

// Bypass is the set of reasons why a request is not the whole history of a conversation, or why its length is not managed. Several
// reasons may hold at once; 0 is none. What follows from each is one table:
//
//	             pairs are mended among       room is made  after "too long"  the provider reads
//	none         all messages                 at a trigger  yes               what is sent
//	Stored       what is sent; a result may   at the limit  yes               more than that
//	             answer a call that is kept
//	Referenced   as above                     at the limit  yes               more than that
//	Compacted    what stands behind the       at the limit  yes               less: what stands before may
//	             compaction; as above                                         not be looked at
//	Compacting   all messages                 never         yes               what is sent
//	Summarising  all messages                 never         yes               what is sent
//
// Calls and results are mended in any case, see package repair: a request with a hole in it is refused whoever compacts. Room before
// sending is another matter. What is to be summarised now must not be cut before. What is compacted once is short as a rule; it is cut
// where the provider would refuse it, and the client is left to compact by itself until then. And after a refusal anything that makes it
// shorter is better than the refusal.
type Bypass uint8

// The reasons.
const (
	Stored      Bypass = 1 << iota // previous_response_id, conversation: what was said before is kept by the provider
	Referenced                     // item_reference, cachedContent: parts of what was said are
	Compacted                      // a compaction of the provider's stands among the messages, see [Compaction]
	Compacting                     // this request lets the provider compact: a trigger, a parameter, a compact_* edit
	Summarising                    // this request is the agent's own for a summary of its history
)

var bypassNames = [...]string{"stored", "referenced", "compacted", "compacting", "summarising"}

// String returns the reasons as short stable words, joined with commas; "" for none.
func (b Bypass) String() string {
	var words []string
	for i, name := range bypassNames {
		if b>>i&1 == 1 {
			words = append(words, name)
		}
	}
	return strings.Join(words, ",")
}

// Partial reports whether the request continues a history it does not contain, so that a result may answer a call that is not in it.
func (b Bypass) Partial() bool { return b&(Stored|Referenced|Compacted) != 0 }

// Whole reports whether the provider reads exactly what is sent, so that its input count can be compared with ours.
func (b Bypass) Whole() bool { return b&(Stored|Referenced|Compacted|Compacting) == 0 }

// Room selects when a request may be shortened before it is sent. After a refusal for its length it may be shortened in any case.
type Room uint8

// When there may be room made.
const (
	RoomAtTrigger Room = iota // as early as is set
	RoomAtLimit               // only where the provider would refuse it
	RoomNever                 // not before it has refused it
)

// Room returns when room may be made in the request. Of several reasons the strictest counts.
func (b Bypass) Room() Room {
	switch {
	case b&(Compacting|Summarising) != 0:
		return RoomNever
	case b.Partial():
		return RoomAtLimit
	}
	return RoomAtTrigger
}

// reasons returns the reasons why a request is not a whole history or not ours to shorten.
func (r *Request) reasons() Bypass {
	b := r.outer | summarising(r)
	for i := range r.Messages {
		b |= r.Messages[i].bypass
	}
	return b
}

// compaction reads a member of a request that has no other meaning here. If its name begins with "compact" and it is set, it lets the
// provider compact: "compaction" of Messages (platform.claude.com, compaction-on-demand, 2026-11-26), and any later one with such a name.
func (p *parser) compaction(name []byte) {
	if !strings.HasPrefix(string(name), "compact") {
		p.Skip()
	} else if p.isSet() {
		p.r.outer |= Compacting
	}
}

// Edge returns the position just behind the newest compaction made by the provider, as a message and a part of it. It is (0, 0) if
// nothing is compacted, otherwise part is at least 1. What stands before the edge must not be edited.
func (r *Request) Edge() (msg, part int) {
	if r.Bypass&Compacted == 0 {
		return 0, 0
	}
	for i := len(r.Messages) - 1; i >= 0; i-- {
		parts := r.Messages[i].Parts
		for j := len(parts) - 1; j >= 0; j-- {
			if parts[j].Kind == Compaction {
				return i, j + 1
			}
		}
	}
	return 0, 0
}

// Unread returns the number of leading messages that the provider ignores because a later compaction replaces them; they may be left out.
// Anthropic drops what stands before the block (platform.claude.com, compaction, 2026-11-26). OpenAI's compaction stands for what came
// before it too, but the window that /responses/compact returns is to come back as it is, with the messages of the user that it kept
// before the item (developers.openai.com, compaction, 2026-11-26): there it is 0.
func (r *Request) Unread() int {
	if !r.Dialect.Rules().Replaces {
		return 0
	}
	msg, _ := r.Edge()
	return msg
}
