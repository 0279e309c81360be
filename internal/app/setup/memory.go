package setup

import (
	"context"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config"
)

// factsTokens is the daily budget that is agreed to with a model for facts: the default of facts_tokens, written out.
const factsTokens = 20_000

var memoryOn = setting{"memory", []pair{{"on", true}}}

// planMemory asks whether the memory is to be on, and plans the change. If a model server answers on this machine, it also asks about facts
// and searches by meaning. Unless somebody says yes, nothing changes.
func (s *site) planMemory(ctx context.Context) error {
	own, err := config.NewDirs(s.o.Getenv).ConfigFile()
	if err != nil {
		return err
	}
	answer, err := s.answer(Question{
		Flag: "memory", Text: "Remember what you and agents say, on this machine, and give agents what you said before?",
		About: "The configuration gets on = true in [memory]: every turn is kept, your own words are added to prompts they are about, and agents get tools to search. " +
			"Nothing leaves the machine but what you say to a model anyway.",
		Answers: "Enter: no; y: yes", Given: s.o.Memory, no: true,
	}, func() string { return preview(s.planInsertion(whatMemory, own, memoryOn.text)) })
	if err != nil || answer == "no" {
		return err
	}
	f, i, err := s.planInsertion(whatMemory, own, memoryOn.text)
	if err := s.addInsertion(Change{What: whatMemory, File: own}, f, i, err); err != nil {
		return err
	}
	if s.o.Facts == "" && s.o.Meaning == "" && (s.o.Yes || s.o.Ask == nil) {
		return nil // a model is never agreed to by --yes
	}
	return s.planMemoryModels(ctx, own)
}

// planMemoryModels asks whether local models may draw facts and make vectors for searches by meaning, and plans the changes of the
// configuration file own.
func (s *site) planMemoryModels(ctx context.Context, own string) error {
	servers := s.o.modelServers
	if servers == nil {
		servers = modelServers
	}
	facts, meaning := found{}, found{}
	for _, server := range askServers(ctx, servers) {
		for _, model := range server.models {
			of := &facts
			if embeds(model) {
				of = &meaning
			}
			if of.model == "" {
				*of = found{server: server.name, url: server.url, model: model}
			}
		}
	}
	offers := []struct {
		what, flag, given string
		found
		setting
		text, about string
	}{
		{
			whatFacts, "facts", s.o.Facts, facts,
			setting{"memory", []pair{{"facts", true}, {"facts_url", facts.url}, {"facts_model", facts.model}, {"facts_tokens", int64(factsTokens)}}},
			fmt.Sprintf("May %s of %s at %s draw facts from what is said, with at most %d tokens a day?", facts.model, facts.server, facts.url, factsTokens),
			"plimsoll serve asks it in the background; what is said goes to that address and to no other.",
		},
		{
			whatMeaning, "meaning", s.o.Meaning, meaning,
			setting{"memory", []pair{{"embed_url", meaning.url}, {"embed_model", meaning.model}}},
			fmt.Sprintf("May %s of %s at %s make vectors, so that searches go by meaning too?", meaning.model, meaning.server, meaning.url),
			"What is remembered and what is searched for goes to that address and to no other.",
		},
	}
	for _, o := range offers {
		change := Change{What: o.what, File: own}
		if o.model == "" {
			if strings.HasPrefix(strings.ToLower(o.given), "y") {
				s.note(change, Left, "no such model answers on this machine; looked at "+list(addresses(servers), "and"))
			}
			continue
		}
		if o.given == "" && (s.o.Yes || s.o.Ask == nil) {
			continue
		}
		answer, err := s.answer(Question{
			Flag: o.flag, Text: o.text, About: o.about, Answers: "Enter: no; y: yes", Given: o.given, no: true,
		}, func() string { return preview(s.planInsertion(o.what, own, o.setting.text)) })
		if err != nil {
			return err
		}
		if answer == "no" {
			continue
		}
		f, i, err := s.planInsertion(o.what, own, o.setting.text)
		if err := s.addInsertion(change, f, i, err); err != nil {
			return err
		}
	}
	return nil
}
