package admission

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"time"
)

// card is the part of a [Holder] that is read from its claim file. That file is hardly ever written anew, so that whoever lists the runs
// each second, as every supervisor of many and every viewer does, only checks whether it is still the same file.
type card struct {
	tool, project, variant, staleWhy string
	remains                          json.RawMessage // shared by all who ask; nobody changes it
}

// cards stores the cards that were read, by the ID of the claim.
type cards struct {
	mu    sync.Mutex
	known map[string]knownCard
}

type knownCard struct {
	card
	file os.FileInfo
}

// unsettled is the age up to which a file is read again in any case: a newer file may have the same time and inode, because the clocks of
// file systems have steps of up to 10 ms and an inode is given away again at once.
const unsettled = time.Second

// card returns the card of a claim, from memory when its file is still the one that was read before.
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

// keep drops the cards of claims that are not in living.
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
