// Package transcripts makes request bodies for tests and benchmarks of the window plane, in every dialect:
//
//   - [Valid] makes a random history that the provider accepts, with all that clients send.
//   - [Broken] damages one until a strict validator refuses it, and says what a repair must not lose.
//   - [NewSession] makes a long session that is resent in full at every turn: turn n extends turn n-1 byte for byte but for cache marks.
//   - [History] writes a conversation that a test spells out; [Growth] gives the requests by which a client came to one.
//
// The same arguments give the same bytes. Texts that a test looks for are markers of plain ASCII (user-17-…, result-4-…), which stand in the
// body unescaped. Functions are safe for concurrent use; a Session is not. The package shares no code with window/wire's validators, by
// which it is tested.
package transcripts

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Valid returns the body of a random request that the dialect's provider accepts.
func Valid(d wire.Dialect, seed uint64) []byte {
	m := newMaker(d, seed)
	m.addConversation()
	return m.encode()
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
		m.addConversation()
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
		if body := m.encode(); wire.Validate(d, body) != nil {
			return body, done, m.inventory()
		}
	}
}

func marked(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// inventory lists what a repair of the history has to keep.
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

// A Turn is one of a history that is written by hand: either words of the user, or an answer of the model with its calls and their results.
type Turn struct {
	User  string
	Say   string
	Calls []Made
}

// Made is a call with its result. Arguments are the JSON text of an object.
type Made struct {
	Name, Arguments, Result string
	Failed                  bool
}

// History returns the body of a request with these turns, in the dialect's own form. Gemini's calls have no ids, as most of its clients send
// none.
func History(d wire.Dialect, turns ...Turn) []byte {
	m := &maker{d: d, r: rand.New(rand.NewPCG(1, 1)), style: plain}
	for _, t := range turns {
		if t.User != "" {
			m.entries = append(m.entries, entry{role: "user", texts: []string{t.User}})
			continue
		}
		answer, results := entry{role: "assistant"}, entry{role: "results"}
		if t.Say != "" {
			answer.texts = []string{t.Say}
		}
		for _, c := range t.Calls {
			m.ids++
			id := fmt.Sprintf("call_%06d", m.ids)
			if d == wire.Gemini {
				id = ""
			}
			answer.calls = append(answer.calls, call{id: id, name: c.Name, args: c.Arguments})
			results.results = append(results.results, result{id: id, name: c.Name, text: c.Result, failed: c.Failed})
		}
		m.entries = append(m.entries, answer)
		if len(t.Calls) > 0 {
			m.entries = append(m.entries, results)
		}
	}
	return m.encode()
}

// Growth yields the requests by which a client has come to a history: one before each answer of the model, and the history itself. They are
// views of the same body.
func Growth(r *wire.Request) iter.Seq[*wire.Request] {
	return func(yield func(*wire.Request) bool) {
		for n := 1; n <= len(r.Messages); n++ {
			asked := r.Messages[n-1].Role != wire.RoleAssistant
			if !asked || n < len(r.Messages) && r.Messages[n].Role != wire.RoleAssistant {
				continue
			}
			request := *r
			request.Messages = r.Messages[:n:n]
			if !yield(&request) {
				return
			}
		}
	}
}
