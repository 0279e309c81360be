package transcripts

import (
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/plimsoll/plimsoll/window/wire"
)

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
	return m.body()
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
