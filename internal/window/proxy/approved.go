package proxy

import (
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/tokens"
)

// maxApproved bounds how many replays are remembered that broke no rule, by half. A conversation that goes on gets the
// same messages put in at the same place with every turn, and holding all of it to the
// rules costs more than all else that is done with it.
const maxApproved = 2048

// A replayed identifies the log that was put into a conversation, with the first message behind what it covers. The zero value stands for
// any other edit, which is never approved for later.
type replayed struct {
	chain      tokens.Digest // of the messages it covers and the one that follows
	generation int
	patches    int
	bytes      int
}

func nameReplay(v *compact.View, chain []tokens.Digest) replayed {
	r := replayed{chain: chain[min(v.Covers(), len(chain)-1)], generation: v.Generation(), patches: len(v.Patches)}
	for _, p := range v.Patches {
		for _, raw := range p.With {
			r.bytes += len(raw)
		}
	}
	return r
}
