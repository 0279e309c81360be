package setup

import (
	"fmt"
	"strings"
)

// Question is a question for a person.
type Question struct {
	Number  int    // among those that are asked, from 1 on
	Flag    string // the flag of plimsoll setup that answers it
	Text    string // "Run claude and codex in their limits …?"
	About   string // what it changes
	Answers string // what may be answered
	// Given is an answer from the command line.
	Given string
	// Say is shown before the question: why the last answer was not understood, or the change that was asked for.
	Say string
	// names are the words of an answer; nil makes it a question of yes or no.
	names []string
	// no makes an empty answer a no.
	no bool
}

// tries bounds how often one question is asked.
const tries = 10

// answer returns the answer to a question: "all", "none" or names with blanks between for the question about names, else "yes" or "no". It is the
// one given on the command line, else the person's, else the proposed one. If the person answers "?", it prints what show returns and asks again.
func (s *site) answer(q Question, show func() string) (string, error) {
	if q.Given != "" {
		answer, err := q.parse(q.Given)
		if err != nil {
			return "", err
		}
		return answer, nil
	}
	if s.o.Yes || s.o.Ask == nil {
		return q.parse("")
	}
	s.asked++
	q.Number = s.asked
	for range tries {
		said, err := s.o.Ask(q)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(said) == "?" {
			q.Say = show()
			continue
		}
		answer, err := q.parse(said)
		if err == nil {
			return answer, nil
		}
		q.Say = err.Error()
	}
	return "", fmt.Errorf("no answer to question %d could be understood; nothing was changed", q.Number)
}

// parse returns an answer in the form of [site.answer]; "" means the proposed one. One that is not understood is an error. Names from the
// command line are not checked.
func (q Question) parse(said string) (string, error) {
	said = strings.ToLower(strings.TrimSpace(said))
	yes, no := "yes", "no"
	if q.names != nil {
		yes, no = "all", "none"
	}
	if said == "" && q.no {
		return no, nil
	}
	switch said {
	case "", "y", "yes", "all":
		return yes, nil
	case "n", "no", "none":
		return no, nil
	}
	words := strings.FieldsFunc(said, func(r rune) bool { return r == ',' || r == ' ' })
	if q.names == nil || len(words) == 0 {
		return "", fmt.Errorf("%.40q is no answer: %s", said, q.Answers)
	}
	for _, word := range words {
		found := false
		for _, name := range q.names {
			found = found || name == word
		}
		if !found && q.Given == "" {
			return "", fmt.Errorf("%.40q is not among them: %s", word, strings.Join(q.names, ", "))
		}
	}
	return strings.Join(words, " "), nil
}

// list joins names as in a sentence, with word before the last one.
func list(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + word + " " + names[len(names)-1]
}

// firstName returns the first of names, or "NAME".
func firstName(names []string) string {
	if len(names) == 0 {
		return "NAME"
	}
	return names[0]
}
