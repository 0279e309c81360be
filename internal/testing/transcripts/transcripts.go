package transcripts

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Valid returns the body of a random request that the dialect's provider accepts.
func Valid(d wire.Dialect, seed uint64) []byte {
	m := newMaker(d, seed)
	m.conversation()
	return m.body()
}

// An Inventory names what stands in a history, by markers that are found in the bytes of a
// body whatever its escapes: for tests that nothing real is lost.
type Inventory struct {
	Users   []string // one in every text of the user
	Results []string // one in every result whose call stands before it, exactly once
	// Unclear are in results that have no call, come twice, or whose id several calls have:
	// what becomes of them is for a repair to decide.
	Unclear []string
}

// Damage is one thing that was done to a history.
type Damage struct {
	Kind   string // one of Damages
	CallID string // "" where none is concerned
}

// Broken returns a history that the dialect's provider refuses, what was done to it, and
// what a repair has to keep. Up to three kinds of damage come together.
func Broken(d wire.Dialect, seed uint64) ([]byte, []Damage, Inventory) {
	for try := uint64(0); ; try++ {
		m := newMaker(d, seed+try<<40)
		m.conversation()
		var done []Damage
		for range 1 + m.r.IntN(3) {
			name := Damages[m.r.IntN(len(Damages))]
			if id, ok := damages[name](m); ok {
				done = append(done, Damage{name, id})
			}
		}
		if len(done) == 0 || len(m.entries) == 0 {
			continue
		}
		if body := m.body(); wire.Validate(d, body) != nil {
			return body, done, m.inventory()
		}
	}
}

func marked(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

func (m *maker) inventory() Inventory {
	var inv Inventory
	calls, results := map[string]int{}, map[string]int{}
	for _, e := range m.entries {
		for _, c := range e.calls {
			calls[c.id]++
		}
		for _, r := range e.results {
			results[r.id]++
		}
	}
	open := map[string]bool{}
	for _, e := range m.entries {
		for _, c := range e.calls {
			open[c.id] = true
		}
		for _, r := range e.results {
			if r.id != "" && open[r.id] && calls[r.id] == 1 && results[r.id] == 1 {
				inv.Results = append(inv.Results, marked(r.text))
			} else {
				inv.Unclear = append(inv.Unclear, marked(r.text))
			}
		}
		texts := []string{e.before, e.after}
		if e.role == "user" {
			texts = append(texts, e.texts...)
		}
		for _, t := range texts {
			if t != "" {
				inv.Users = append(inv.Users, marked(t))
			}
		}
	}
	inv.Unclear = slices.Compact(inv.Unclear)
	return inv
}
