package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/testing/heldout"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A taskSession is a session of several tasks.
type taskSession struct {
	name  string
	whole *wire.Request
	facts []taskFact
	tasks []int // the message with which each task but the first begins
}

// A taskFact is a fact that is said in a message, by its position.
type taskFact struct {
	codingFact
	at int
}

// placed finds out where facts are said.
func (s *taskSession) placed(facts []codingFact) {
	said := make([]string, len(s.whole.Messages))
	for i, m := range s.whole.Messages {
		said[i] = texts(s.whole.Raw(m.Span))
	}
	for _, f := range facts {
		at := slices.IndexFunc(said, func(text string) bool {
			return slices.ContainsFunc(f.anyOf, func(key string) bool { return strings.Contains(text, key) })
		})
		if at >= 0 {
			s.facts = append(s.facts, taskFact{f, at})
		}
	}
}

// answered makes a held-out session one of several tasks: where the user spoke while tools ran, the agent has answered before. The
// last word of the user stays what it is: nothing comes after it that a new task could be seen by.
func answered(one heldout.Session) (s taskSession, err error) {
	s.name = one.Name
	r, err := wire.Parse(one.Dialect, one.Body)
	if err != nil {
		return s, err
	}
	d := r.Draft()
	for i := 1; i < len(r.Messages)-1; i++ {
		if prompts(r, i) && !prompts(r, i-1) && r.Messages[i-1].Role != wire.RoleAssistant {
			d.InsertMessages(i, wire.TextMessage(r.Dialect, wire.RoleAssistant, "That part is done."))
		}
	}
	if s.whole, err = d.Build(); err != nil {
		return s, err
	}
	var facts []codingFact
	for _, f := range one.Facts {
		facts = append(facts, codingFact{f.Kind, f.AnyOf})
	}
	s.placed(facts)
	s.mark("")
	return s, nil
}

func prompts(r *wire.Request, i int) bool {
	return r.Messages[i].Role == wire.RoleUser && !slices.ContainsFunc(r.Messages[i].Parts, func(p wire.Part) bool { return p.Kind != wire.Text })
}

// mark notes where tasks begin: at what the user says after an answer, with the word that a task is told by.
func (s *taskSession) mark(word string) {
	for i := 1; i < len(s.whole.Messages); i++ {
		if prompts(s.whole, i) && s.whole.Messages[i-1].Role == wire.RoleAssistant && strings.Contains(texts(s.whole.Raw(s.whole.Messages[i].Span)), word) {
			s.tasks = append(s.tasks, i)
		}
	}
}

// newTasks plays a session of tasks of 8 to 40 steps, each with a prompt, a list of things to do of its own and a final answer. Now
// and then the user has an answer to the answer, which is no other task at all, though it looks like one.
func newTasks(d wire.Dialect, seed uint64) (s taskSession, err error) {
	c := newCoding(d, seed)
	const tasks = 12
	for task := range tasks {
		c.b.user(fmt.Sprintf("Task %d: the %s of the %s is wrong for %s-%d. Find out why and mend it.", task+1, c.word(), c.word(), c.word(), 1000+c.r.IntN(9000)))
		c.todos, c.done = nil, 0
		for i := range 5 {
			c.todos = append(c.todos, fmt.Sprintf("%s the %s %s behind %s-%d", c.one("wire up", "document", "rewrite", "measure", "delete"), c.word(), c.word(), c.word(), 10_000*(task+1)+100*i+c.r.IntN(99)))
		}
		steps := 8 + c.r.IntN(33)
		for n := range steps {
			if n%8 == 2 {
				c.plan()
			}
			words := c.chatter()
			if c.r.IntN(12) == 0 {
				words = c.decides(words)
			}
			if c.r.IntN(4) == 0 {
				c.edits(c.chatter())
			}
			switch {
			case c.r.IntN(20) == 0:
				c.fails(words, c.r.IntN(1000))
			case c.r.IntN(3) == 0:
				c.sees(words)
			default:
				c.looks(words)
			}
			if c.r.IntN(15) == 0 {
				c.says(fmt.Sprintf("Before I go on: shall I take %s or %s?", c.camel(), c.word()))
				c.userSays()
			}
		}
		c.says(fmt.Sprintf("Done: the %s is mended, and %s is green.", c.word(), c.camel()))
	}
	for _, todo := range c.todos { // the lists of the tasks before were replaced
		c.fact("todo", todo)
	}
	c.b.user("Thanks. Is there anything left to do?")
	if s.whole, err = wire.Parse(d, c.b.bytes()); err != nil {
		return s, err
	}
	s.name = fmt.Sprintf("%v %d", d, seed)
	s.placed(c.facts)
	s.mark("Task ")
	return s, nil
}

// says adds an answer without a call.
func (c *coding) says(text string) {
	switch c.d {
	case wire.Gemini:
		c.b.messages = append(c.b.messages, fields{"role": "model", "parts": []any{fields{"text": text}}})
	case wire.Responses:
		c.b.says(text)
	default:
		c.b.messages = append(c.b.messages, fields{"role": "assistant", "content": text})
	}
}

// seen is a kind of fact that no summary claims to keep: a name in the middle of what a tool printed.
const seen = "seen"

// sees adds a step in which a name stands in the middle of a result.
func (c *coding) sees(words string) {
	name := fmt.Sprintf("%s_%s_%x", c.word(), c.word(), c.r.IntN(1<<24))
	lines := c.noise()
	at := c.r.IntN(len(lines))
	lines[at] += " " + name
	c.shell(words, fmt.Sprintf("cat logs/%s-%d.txt", c.word(), c.r.IntN(9999)), strings.Join(lines, "\n"), 0)
	c.fact(seen, name)
}

// requests returns where a client asks: before the model speaks. The last one is the whole.
func (s *taskSession) requests() (ends []int) {
	for i := 1; i < len(s.whole.Messages); i++ {
		if s.whole.Messages[i].Role == wire.RoleAssistant && s.whole.Messages[i-1].Role != wire.RoleAssistant {
			ends = append(ends, i)
		}
	}
	return append(ends, len(s.whole.Messages))
}
