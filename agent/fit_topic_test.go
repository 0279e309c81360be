package agent

import (
	"fmt"
	"strings"
	"testing"
)

// Where room has to be made and a new question begins, what belongs to it stays whole; where none has to be made, a new question makes
// none.
func TestFitBetweenQuestions(t *testing.T) {
	history := []Message{userSays("The first question.")}
	for i := range 24 {
		id := fmt.Sprint("c", i)
		history = append(history, modelCalls(id), toolSays(id, fitWords(700, uint64(i))))
	}
	asked := append(history[:len(history):len(history)], modelSays("The first answer."), userSays("The second question."))
	fit := func(window int, ms []Message) ([]Message, fitResult) {
		return mustFit(t, newFitter(fitModel(window), Limits{Window: window, Trigger: 0.8, Target: 0.5}, nil), "", ms)
	}
	_, did := fit(100_000, asked)
	near, due := did.Tokens*10/7, did.Tokens*10/9 // the conversation takes 0.7 of it, and 0.9
	for name, c := range map[string]struct {
		window        int
		ms            []Message
		made, between bool
	}{
		"a new question":                         {due, asked, true, true},
		"a new question, and nothing is due":     {near, asked, false, false},
		"in the middle of a question":            {due, history, true, false},
		"after the first step of a new question": {due, append(asked[:len(asked):len(asked)], modelCalls("z"), toolSays("z", "x")), true, false},
	} {
		out, did := fit(c.window, c.ms)
		if did.Between != c.between || did.MadeRoom != c.made {
			t.Errorf("%s: %+v", name, did)
		}
		if c.between && (did.Before-did.Tokens < c.window*3/10*9/10 || !strings.Contains(fmt.Sprint(out), "The second question.") || !strings.Contains(fmt.Sprint(out), "The first answer.")) {
			t.Errorf("%s: %d tokens became %d of %d, in %d messages", name, did.Before, did.Tokens, did.Limit, len(out))
		}
	}
}

// The next steps of the question begin with what was sent at its first one.
func TestFitBetweenQuestionsKeepsThePrefix(t *testing.T) {
	ms := []Message{userSays("Question 0.")}
	f := newFitter(fitModel(12_000), Limits{Window: 12_000, Trigger: 0.8, Target: 0.5}, nil)
	var before []Message
	between := 0
	for n := range 200 {
		out, did := mustFit(t, f, "", ms)
		if did.Between {
			between++
			if n%4 != 0 {
				t.Fatalf("step %d is none of a new question: %+v", n, did)
			}
		}
		if !did.MadeRoom {
			if len(out) < len(before) || fmt.Sprint(out[:len(before)]) != fmt.Sprint(before) {
				t.Fatalf("step %d does not begin with the one before", n)
			}
		}
		before = out
		f.report(Usage{Input: did.Tokens})
		id := fmt.Sprint("c", n)
		if n%4 == 3 {
			ms = append(ms, modelSays(fmt.Sprint("Answer ", n/4)), userSays(fmt.Sprint("Question ", n/4+1, fitWords(900, uint64(n)))))
		} else {
			ms = append(ms, modelCalls(id), toolSays(id, fitWords(900, uint64(n))))
		}
	}
	if between == 0 {
		t.Error("room was never made between questions")
	}
}
