package main

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// syntheticDialogues returns dialogues that are small and made here, for a run without data of others: people tell each other when, where
// and with whom something was done, and are asked in other words, with what was said in between. They show that the machinery works;
// figures to quote are those of real conversations.
func syntheticDialogues() []dialogue {
	r := rand.New(rand.NewPCG(17, 2))
	one := func(list []string) string { return list[r.IntN(len(list))] }
	people := []string{"Ada", "Bruno", "Chen", "Dara"}
	things := strings.Split("sailing pottery chess cycling baking climbing painting gardening swimming karate astronomy knitting fencing surfing juggling archery", " ")
	places := strings.Split("harbour attic library mill castle meadow station quarry lighthouse barn orchard cellar", " ")
	friends := strings.Split("Emil Fatima Goran Hilde Ivo Jun Kira Lars Mona Nils Oda Pavel", " ")
	chatter := []string{"How are you today?", "Nice weather, is it not?", "I am tired after work.", "Did you sleep well?", "That sounds great!", "Tell me more.", "Let us talk tomorrow.", "The train was late again."}
	var all []dialogue
	for n := range 4 {
		d := dialogue{name: fmt.Sprintf("synthetic-%d", n)}
		for session := range 12 {
			number := 0
			say := func(who, text string) string {
				number++
				id := fmt.Sprintf("%d:%d", session, number)
				d.turns = append(d.turns, dialogueTurn{id, fmt.Sprintf("s%d", session), number, who, memory.OriginUser, text, time.Time{}})
				return id
			}
			who, other := people[n], people[(n+1)%len(people)]
			thing, place, friend := things[(session+3*n)%len(things)], one(places), one(friends)
			say(other, one(chatter))
			say(who, one(chatter))
			told := say(who, fmt.Sprintf("Yesterday I tried %s for the first time.", thing))
			say(other, "Oh, where was that, and who came with you?")
			where := say(who, fmt.Sprintf("At the %s, and %s came along.", place, friend))
			for range 20 {
				say(one([]string{who, other}), one(chatter))
			}
			verb := map[bool]string{true: "start", false: "begin"}[r.IntN(2) == 0]
			d.questions = append(d.questions,
				dialogueQuestion{fmt.Sprintf("When did %s %s with %s?", who, verb, strings.TrimSuffix(thing, "ing")), "single-hop", []string{told}},
				dialogueQuestion{fmt.Sprintf("Where did %s go %s, and with whom?", who, thing), "multi-hop", []string{told, where}},
			)
		}
		all = append(all, d)
	}
	return all
}

//go:embed testdata/paraphrases.tsv
var paraphraseLines string

// paraphrases returns the questions of testdata/paraphrases.tsv over all of its records, each record a conversation of its own. They share
// next to no words with their answers.
func paraphrases() []dialogue {
	d := dialogue{name: "paraphrases"}
	for line := range strings.Lines(paraphraseLines) {
		question, answer, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		id := fmt.Sprintf("p%d", len(d.turns)+1)
		d.turns = append(d.turns, dialogueTurn{id, id, 1, "", memory.OriginUser, answer, time.Time{}})
		d.questions = append(d.questions, dialogueQuestion{question, "paraphrase", []string{id}})
	}
	return []dialogue{d}
}
