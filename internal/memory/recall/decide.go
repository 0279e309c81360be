package recall

import (
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// Candidates is the number of records that a caller searches for: the best ones are told from the rest by comparing them.
const Candidates = 32

// Most lines that one prompt gets, and that one gets which asks for a list.
const (
	MaxLines = 3
	MaxList  = 7
)

// Prompt is a prompt that was read. [Read] makes it.
type Prompt struct {
	// Why says why nothing is added, whatever is found; "" if something may be.
	Why string
	// Query is what to search for.
	Query string
	// List is set if the prompt asks for a list.
	List bool

	text string
}

// Line is a record to give.
type Line struct {
	memory.Record
	// Score is how much more of the prompt the record meets than one of the store would by chance: 1 at the floor.
	Score float64 `json:"score"`
	// Count is the number of records that say the same, this one included.
	Count int `json:"count"`
	// Words are those of the prompt that the record was found by.
	Words []string `json:"words,omitempty"`
	// Replaced is the record that this one took the place of; nil for none.
	Replaced *memory.Replaced `json:"replaced,omitempty"`
}

// Miss is a record that was found and is not given.
type Miss struct {
	memory.Record
	Score float64 `json:"score"`
	Why   string  `json:"why"`
}

// Decision says what to add to a prompt.
type Decision struct {
	Given  []Line `json:"given"`
	Missed []Miss `json:"missed,omitempty"`
	// Why says why nothing is given; "" if something is.
	Why string `json:"why,omitempty"`
}

// Read reads a prompt.
func Read(text string) Prompt {
	p := Prompt{text: text, Query: text}
	if text == "" {
		p.Why = "the prompt is empty"
	}
	return p
}

// Decide chooses from what was found for a prompt. found is the answer to [Prompt.Query], with the counts of its words.
func Decide(p Prompt, found memory.Results, now time.Time) Decision {
	d := Decision{Why: p.Why}
	if d.Why != "" {
		return d
	}
	for _, item := range found.Items {
		if len(d.Given) < MaxLines {
			d.Given = append(d.Given, Line{Record: item.Record, Score: item.Score, Count: 1, Replaced: item.Replaced})
			continue
		}
		d.Missed = append(d.Missed, Miss{Record: item.Record, Score: item.Score, Why: "three lines are given already"})
	}
	if len(d.Given) == 0 {
		d.Why = "nothing was found"
	}
	return d
}
