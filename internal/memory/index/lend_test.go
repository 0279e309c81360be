package index

import (
	"math"
	"testing"
)

// scores are those of all documents for a query, by number.
func scores(x *Index, text string) map[int]float64 {
	out := map[int]float64{}
	hits, _ := x.Search(Query{Text: text, Limit: 100})
	for _, h := range hits {
		out[h.Doc] = h.Score
	}
	return out
}

// TestAnswers: between people what was said to a question is before the question; what a model says to a person has its weight from its lane.
func TestAnswers(t *testing.T) {
	for _, answer := range []Lane{User, Agent} {
		x := New(Defaults())
		x.Add(Doc{Text: "Hello there.", Conversation: 1, Turn: 1})
		x.Add(Doc{Text: "Which database do you use? ", Conversation: 1, Turn: 2})
		x.Add(Doc{Lane: answer, Text: "SQLite, on a laptop.", Conversation: 1, Turn: 3})
		got := scores(x, "database")
		if ahead := got[2] > got[1]; ahead != (answer == User) {
			t.Errorf("an answer of lane %d has %g, its question %g", answer, got[2], got[1])
		}
	}
	// A question that nobody answered counts whole.
	x := New(Defaults())
	x.Add(Doc{Text: "Which database?", Conversation: 1, Turn: 1})
	y := New(Defaults())
	y.Add(Doc{Text: "Which database.", Conversation: 1, Turn: 1})
	if a, b := scores(x, "database")[0], scores(y, "database")[0]; a != b || a == 0 {
		t.Errorf("%g with a question mark, %g without", a, b)
	}
}

// TestPeak: of the parts that one word gives a document by several of its neighbours, the largest counts whole and the others as Peak says; those of
// different words are added up.
func TestPeak(t *testing.T) {
	for _, peak := range []float64{0, 0.7, 1} {
		p := Params{K1: 0.9, B: 0, Near: [2]float64{0.5, 0.25}, Ahead: 1, Peak: peak, Name: 1, Lanes: [lanes]float64{1, 1, 1, 1, 1}}
		x := New(p)
		for turn, text := range []string{"budget", "nothing", "budget", "green", "nothing"} {
			x.Add(Doc{Text: text, Conversation: 1, Turn: turn + 1})
		}
		one := math.Log(1 + (5-2+0.5)/(2+0.5)) // of a document with "budget"
		other := math.Log(1 + (5-1+0.5)/(1+0.5))
		got := scores(x, "green budget")
		for n, parts := range [][]float64{{one, 0.25 * one}, {0.5 * one, 0.5 * one}, {one, 0.25 * one}, {0.5 * one}, {0.25 * one}} {
			want := [...]float64{0, 0.25, 0.5, 1, 0.5}[n] * other
			largest, sum := 0.0, 0.0
			for _, part := range parts {
				largest, sum = max(largest, part), sum+part
			}
			if want += peak*largest + (1-peak)*sum; math.Abs(got[n]-want) > 1e-4 {
				t.Errorf("peak %g: document %d has %g, want %g", peak, n, got[n], want)
			}
		}
	}
}

func TestSpread(t *testing.T) {
	x := New(Params{Near: [2]float64{0.5, 0.25}, Lanes: [lanes]float64{User: 1, Agent: 0.5}})
	for turn := range 4 {
		x.Add(Doc{Text: "x", Conversation: 1, Turn: turn + 1})
	}
	x.Add(Doc{Text: "x"})
	x.Remove(1)
	x.Add(Doc{Lane: Agent, Text: "x", Conversation: 1, Turn: 5})
	for alone, all := range map[bool][]float32{false: {1, 0, 1, 1.25, 2, 2}, true: {1, 0, 0, 0, 2, 2}} {
		for n, got := range x.Spread([]float32{1, 0, 0, 0, 2, 4}, alone) {
			if got != all[n] {
				t.Errorf("alone %v: document %d has %g, want %g", alone, n, got, all[n])
			}
		}
	}
}
