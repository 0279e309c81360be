package transcripts

import (
	"bytes"
	"fmt"
)

// A Fact is something a session says once and that an agent may need much later.
type Fact struct {
	Kind string // one of FactKinds
	// Text is the text to look for: plain ASCII that stands in a body as it is.
	Text string
	// Sentence is the sentence that states it.
	Sentence string
	Turn     int
	Where    string // "user", "assistant", "arguments", "result"
}

// FactKinds are the kinds, evenly planted.
var FactKinds = []string{"identifier", "path", "number", "instruction"}

// In reports whether a request body still has the fact.
func (f Fact) In(body []byte) bool { return bytes.Contains(body, []byte(f.Text)) }

// Facts returns what the options ordered to plant, in order of the turns. A fact is in the
// body from the request of its Turn on.
func (s *Session) Facts() []Fact { return s.facts }

// plant makes the facts and plans where they go. Instructions are the user's; identifiers
// are what the model decided on; paths are in arguments; numbers are in results.
func (s *Session) plant() {
	s.plan = map[int][]Fact{}
	for i := range s.o.Facts {
		// Turn 0 is the task alone, and the last turns would survive any cut.
		turn := 1 + i*max(1, s.o.Turns-1)/s.o.Facts
		f := Fact{Kind: FactKinds[i%len(FactKinds)], Turn: turn}
		tag := fmt.Sprintf("%04x%03d", s.r.Uint32()&0xffff, i)
		switch f.Kind {
		case "identifier":
			f.Where, f.Text = "assistant", "LedgerV"+tag
			f.Sentence = "Decision: the new type is called " + f.Text + "."
		case "path":
			f.Where, f.Text = "arguments", "/srv/app/mod"+tag+"/handler.go"
			f.Sentence = f.Text
		case "number":
			f.Where, f.Text = "result", fmt.Sprintf("%d", 1_000_000_000+int(s.r.Uint32()%8_000_000)*1000+i)
			f.Sentence = "error: build " + f.Text + " failed: exit status 2"
		case "instruction":
			f.Where, f.Text = "user", "RULE-"+tag
			f.Sentence = "From now on always keep to " + f.Text + ": no global state."
			// The user speaks only every so often: at the next such turn.
			f.Turn = (turn + s.o.UserEvery - 1) / s.o.UserEvery * s.o.UserEvery
			if s.o.Turns > 0 && f.Turn >= s.o.Turns {
				f.Turn = max(0, f.Turn-s.o.UserEvery)
			}
		}
		s.facts = append(s.facts, f)
		s.plan[f.Turn] = append(s.plan[f.Turn], f)
	}
}

func (s *Session) planted(turn int, where string) []string {
	var texts []string
	for _, f := range s.plan[turn] {
		if f.Where == where {
			texts = append(texts, f.Sentence)
		}
	}
	return texts
}
