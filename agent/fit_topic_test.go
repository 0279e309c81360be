package agent

import (
	"fmt"
	"strings"
	"testing"
)

// Near the trigger, room is made before a new question is begun and not in the middle of it; below the line, and without one, nothing
// is touched.
func TestFitBetweenQuestions(t *testing.T) {
	history := []Message{userSays("The first question.")}
	for i := range 24 {
		id := fmt.Sprint("c", i)
		history = append(history, modelCalls(id), toolSays(id, fitWords(700, uint64(i))))
	}
	asked := append(history[:len(history):len(history)], modelSays("The first answer."), userSays("The second question."))
	fit := func(window int, topic float64, ms []Message) ([]Message, fitResult) {
		return mustFit(t, newFitter(fitModel(window), Limits{Window: window, Trigger: 0.8, Target: 0.5, Topic: topic}, nil), "", ms)
	}
	_, did := fit(100_000, 0, asked)
	window := did.Tokens * 10 / 7 // the conversation takes 0.7 of it
	for name, c := range map[string]struct {
		window int
		topic  float64
		ms     []Message
		want   bool
	}{
		"a new question":                         {window, 0.6, asked, true},
		"without a line":                         {window, 0, asked, false},
		"below the line":                         {window * 2, 0.6, asked, false},
		"in the middle of a question":            {window, 0.6, history, false},
		"after the first step of a new question": {window, 0.6, append(asked[:len(asked):len(asked)], modelCalls("z"), toolSays("z", "x")), false},
	} {
		out, did := fit(c.window, c.topic, c.ms)
		if did.Between != c.want || did.MadeRoom != c.want {
			t.Errorf("%s: %+v", name, did)
		}
		if c.want && (did.Before-did.Tokens < c.window*3/10*9/10 || !strings.Contains(fmt.Sprint(out), "The second question.") || !strings.Contains(fmt.Sprint(out), "The first answer.")) {
			t.Errorf("%s: %d tokens became %d of %d, in %d messages", name, did.Before, did.Tokens, did.Limit, len(out))
		}
	}
}

// The next steps of the question begin with what was sent at its first one.
func TestFitBetweenQuestionsKeepsThePrefix(t *testing.T) {
	ms := []Message{userSays("Question 0.")}
	f := newFitter(fitModel(12_000), Limits{Window: 12_000, Trigger: 0.8, Target: 0.5, Topic: 0.6}, nil)
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
			ms = append(ms, modelSays(fmt.Sprint("Answer ", n/4)), userSays(fmt.Sprint("Question ", n/4+1)))
		} else {
			ms = append(ms, modelCalls(id), toolSays(id, fitWords(900, uint64(n))))
		}
	}
	if between == 0 {
		t.Error("room was never made between questions")
	}
}
