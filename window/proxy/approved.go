package proxy

import (
	"sync"

	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/tokens"
)

// maxApproved bounds how many replays are remembered; over it all are forgotten, and held to
// the rules again.
const maxApproved = 4096

// A replayed names a checkpoint put into a conversation, with the first message behind it, and what was added to its prompts;
// zero is any other edit, which is never approved for later.
type replayed struct {
	chain      tokens.Digest // of the messages it covers and the one that follows
	generation int
	tokens     int
	added      additions
}

// additions name what was added to the prompts of a conversation.
type additions struct {
	chain tokens.Digest // of the client's messages up to the one behind the last addition
	count int
	bytes int
}

func nameReplay(c *checkpoint.Checkpoint, chain []tokens.Digest) replayed {
	return replayed{chain: chain[min(c.Covers, len(chain)-1)], generation: c.Generation, tokens: c.Tokens}
}

// approved remembers the replays that broke no rule. A conversation that goes on gets the
// same messages put in at the same place with every turn, and holding all of it to the
// rules costs more than all else that is done with it.
type approved struct {
	mu    sync.Mutex
	known map[replayed]bool
}

func (a *approved) has(r replayed) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[r]
}

func (a *approved) add(r replayed) {
	if r == (replayed{}) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxApproved {
		a.known = map[replayed]bool{}
	}
	a.known[r] = true
}
