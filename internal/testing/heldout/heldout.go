// Package heldout has sessions of coding agents, in four dialects, with the facts that a good summary of them keeps. They were written by
// somebody who had not read the extractor, and nothing is to be tuned on them: what `go run ./bench facts` says of them is
// what is claimed. Whoever changes the extractor after a look at them has to have others written.
//
// The talk (what users ask and say in passing, what agents decide, what is to be done, what fails) is written by hand, in four
// languages; what agents read is made by a seeded generator, and most of the bytes. Four sessions more are of the extractor's own author:
// they say in prose what is open, what the cause was and what was decided. Three of them were looked at while its rules for prose were made, the
// Japanese one was not. A Portuguese and a Korean one of the same kind are by somebody who had not read it, and so are six in two languages
// each, whose talk stands where it came to their author's mind: the first of them had been written when nothing was known of the extractor,
// the second when its reading of failures was, the third after a look at the second, the fourth when all of it was known and before it was run. The last two are by somebody
// who had seen nothing of it, and were run when it was as it is.
package heldout

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/plimsoll/plimsoll/window/wire"
)

// A Session is a request of an agent after about 300 steps, and what of it must not be lost.
type Session struct {
	Name    string
	Dialect wire.Dialect
	Body    []byte
	Facts   []Fact
}

// A Fact survives when one of AnyOf is a substring of a string of the request. Kind is "user", "decision", "edited file", "todo" or
// "test error".
type Fact struct {
	Kind  string
	AnyOf []string
}

//go:embed sessions/*.toml
var files embed.FS

// Sessions returns the sessions of one set, the same ones at every call: "first" to "fifth", or a language (the first of two). Each file in
// sessions is one, and begins with who wrote it and whether what the extractor lost of it has been looked at since.
func Sessions(set string) ([]Session, error) {
	entries, err := files.ReadDir("sessions")
	if err != nil {
		return nil, err
	}
	var list []Session
	for _, e := range entries {
		if base := strings.TrimSuffix(e.Name(), ".toml"); base != set && !strings.HasPrefix(base, set+"-") {
			continue
		}
		s, err := readSession(e.Name())
		if err != nil {
			return nil, fmt.Errorf("held-out session %s: %w", e.Name(), err)
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no held-out session is in a set %q", set)
	}
	return list, nil
}

// readSession returns the session that a file describes. The same file gives the same session.
func readSession(file string) (Session, error) {
	text, err := files.ReadFile("sessions/" + file)
	if err != nil {
		return Session{}, err
	}
	var head struct {
		Name, Dialect, Agent, Lines string
		Seed                        uint64
		Chat                        []string
	}
	if err := toml.Unmarshal(text, &head); err != nil {
		return Session{}, err
	}
	dialect, ok := wire.ParseDialect(head.Dialect)
	if !ok {
		return Session{}, fmt.Errorf("no dialect %q", head.Dialect)
	}
	agent, ok := agents[head.Agent]
	if !ok {
		return Session{}, fmt.Errorf("no agent %q", head.Agent)
	}
	var talk interface {
		play(Session, *rand.Rand, *writer) Session
	} = &script{}
	switch {
	case head.Lines != "":
		talk = &dialogue{}
	case head.Chat != nil:
		talk = &story{}
	}
	if err := toml.Unmarshal(text, talk); err != nil {
		return Session{}, err
	}
	r := rand.New(rand.NewPCG(0x5eed, head.Seed))
	return talk.play(Session{Name: head.Name, Dialect: dialect}, r, agent.writer()), nil
}
