package admission

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"time"
)

// A card is the part of a [Holder] that is read from its claim file, which is hardly ever written anew: who lists the runs each second, as
// every supervisor of many and every viewer does, asks only whether it is still the same file.
type card struct {
	tool, project, variant, staleWhy string
	remains                          json.RawMessage // shared by all who ask; nobody changes it
}

// cards keeps what was read by the id of the claim.
type cards struct {
	mu    sync.Mutex
	known map[string]knownCard
}

type knownCard struct {
	card
	file os.FileInfo
}

// unsettled is the age below which the time of a file does not tell it from another: the clocks of file systems have steps of up to 10 ms,
// and an inode is given away again at once.
const unsettled = time.Second

// card reads a claim file, or what is known of it when it is the file that was read before.
func (l *Ledger) card(id string) (card, error) {
	file, err := os.Lstat(l.claimFilePath(id)) // before it is read: when it is replaced in between, the next look finds another
	if err != nil {
		return card{}, err
	}
	l.cards.mu.Lock()
	defer l.cards.mu.Unlock()
	if k, ok := l.cards.known[id]; ok && os.SameFile(k.file, file) && k.file.Size() == file.Size() && k.file.ModTime().Equal(file.ModTime()) {
		return k.card, nil
	}
	delete(l.cards.known, id)
	c, err := l.readClaimFile(id)
	if err != nil {
		return card{}, err
	}
	out := card{
		tool: strings.Clone(c.Entry.Tool), project: strings.Clone(c.Entry.Project), variant: strings.Clone(c.Entry.Variant), staleWhy: strings.Clone(c.Entry.StaleWhy),
		remains: c.Remains,
	}
	if time.Since(file.ModTime()) > unsettled {
		if l.cards.known == nil {
			l.cards.known = map[string]knownCard{}
		}
		l.cards.known[id] = knownCard{out, file}
	}
	return out, nil
}

// keep forgets the cards of claims that are gone.
func (c *cards) keep(living []*entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) <= len(living) {
		return
	}
	ids := make(map[string]bool, len(living))
	for _, e := range living {
		ids[e.ID] = true
	}
	for id := range c.known {
		if !ids[id] {
			delete(c.known, id)
		}
	}
}
