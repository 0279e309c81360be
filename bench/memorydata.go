package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/limit"
)

// A dialogue is a set of conversations and the questions about it.
type dialogue struct {
	name      string
	turns     []dialogueTurn
	questions []dialogueQuestion
}

// dialogueTurn is one message.
type dialogueTurn struct {
	id      string
	session string
	number  int // in its session
	speaker string
	origin  memory.Origin
	text    string
	said    time.Time // zero where the data do not tell
}

type dialogueQuestion struct {
	text     string
	category string
	evidence []string // ids of turns
}

var locomoCategories = map[int]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

var locomoID = regexp.MustCompile(`D:?(\d+):(\d+)`)

// readLoCoMo reads data/locomo10.json of the repository snap-research/LoCoMo. Questions without evidence that is there are left out; bad is
// how many ids of the key name no turn.
func readLoCoMo(file string) (all []dialogue, bad int) {
	var samples []struct {
		ID           string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []struct {
			Question string   `json:"question"`
			Category int      `json:"category"`
			Evidence []string `json:"evidence"`
		} `json:"qa"`
	}
	readJSON(file, &samples)
	for _, s := range samples {
		d := dialogue{name: s.ID}
		for n := range 100 {
			session := "session_" + strconv.Itoa(n+1)
			raw, ok := s.Conversation[session]
			if !ok {
				continue
			}
			var turns []struct {
				Speaker string `json:"speaker"`
				ID      string `json:"dia_id"`
				Text    string `json:"text"`
			}
			check(json.Unmarshal(raw, &turns))
			var date string // of the session
			check(json.Unmarshal(s.Conversation[session+"_date_time"], &date))
			said := must(time.Parse("3:04 pm on 2 January, 2006", date))
			for i, t := range turns {
				// Both speak as people do with each other: both are the user's side of a conversation.
				d.turns = append(d.turns, dialogueTurn{t.ID, session, i + 1, t.Speaker, memory.OriginUser, t.Text, said})
			}
		}
		for _, q := range s.QA {
			var evidence []string
			for _, m := range locomoID.FindAllStringSubmatch(strings.Join(q.Evidence, " "), -1) {
				evidence = append(evidence, fmt.Sprintf("D%d:%d", must(strconv.Atoi(m[1])), must(strconv.Atoi(m[2]))))
			}
			bad += d.addQuestion(q.Question, locomoCategories[q.Category], evidence)
		}
		all = append(all, d)
	}
	return all, bad
}

// addQuestion adds a question, unless no turn is its evidence. It returns how many of the ids name no turn.
func (d *dialogue) addQuestion(text, category string, ids []string) (bad int) {
	q := dialogueQuestion{text: text, category: category}
	for _, id := range ids {
		switch {
		case !slices.ContainsFunc(d.turns, func(t dialogueTurn) bool { return t.id == id }):
			bad++
		case !slices.Contains(q.evidence, id):
			q.evidence = append(q.evidence, id)
		}
	}
	if len(q.evidence) > 0 {
		d.questions = append(d.questions, q)
	}
	return bad
}

// readBEAM reads the chats of one size below the folder chats of the repository mohammadtavakoli78/BEAM.
func readBEAM(dir, size string) []dialogue {
	files := must(filepath.Glob(filepath.Join(dir, "chats", size, "*", "chat.json")))
	if len(files) == 0 {
		check(fmt.Errorf("no chats of %s in %s", size, dir))
	}
	var all []dialogue
	for _, file := range files {
		var batches []struct {
			Turns [][]struct {
				Role    string `json:"role"`
				ID      int    `json:"id"`
				Content string `json:"content"`
				Anchor  string `json:"time_anchor"` // the date of this message and those behind it
			} `json:"turns"`
		}
		readJSON(file, &batches)
		d := dialogue{name: size + "/" + filepath.Base(filepath.Dir(file))}
		var said time.Time
		for b, batch := range batches {
			number := 0
			for _, exchange := range batch.Turns {
				for _, m := range exchange {
					origin := memory.OriginAgent
					if m.Role == "user" {
						origin = memory.OriginUser
					}
					text, _, _ := strings.Cut(m.Content, "->->") // a mark of the generator
					number++
					if date, err := time.Parse("January-02-2006", m.Anchor); err == nil {
						said = date
					}
					d.turns = append(d.turns, dialogueTurn{strconv.Itoa(m.ID), "batch_" + strconv.Itoa(b), number, "", origin, text, said})
				}
			}
		}
		var probes map[string][]struct {
			Question string          `json:"question"`
			Sources  json.RawMessage `json:"source_chat_ids"`
		}
		readJSON(filepath.Join(filepath.Dir(file), "probing_questions", "probing_questions.json"), &probes)
		for category, questions := range probes {
			for _, q := range questions {
				d.addQuestion(q.Question, category, digits.FindAllString(string(q.Sources), -1)) // whose keys have none
			}
		}
		all = append(all, d)
	}
	return all
}

func readJSON(file string, v any) {
	if err := json.Unmarshal(must(os.ReadFile(file)), v); err != nil {
		check(fmt.Errorf("%s: %w", file, err))
	}
}

var digits = regexp.MustCompile(`\d+`)

// passages cuts a message into what fits a record, at white space.
func passages(text string) []string {
	var out []string
	for len(text) > memory.MaxEpisode {
		head := limit.Clip(text, memory.MaxEpisode)
		if i := strings.LastIndexAny(head, " \n"); i > memory.MaxEpisode/2 {
			head = head[:i]
		}
		out = append(out, head)
		text = text[len(head):]
	}
	if strings.TrimSpace(text) != "" {
		out = append(out, text)
	}
	return out
}

// timeOfQuestions returns when the questions are asked: the day after the last turn, or now if no turn has a date.
func (d *dialogue) timeOfQuestions() time.Time {
	last := time.Time{}
	for _, t := range d.turns {
		if t.said.After(last) {
			last = t.said
		}
	}
	if last.IsZero() {
		return time.Now()
	}
	return last.Add(24 * time.Hour)
}

// records returns a dialogue as the product stores it.
func (d *dialogue) records() (records []memory.Record, turnOf []int) {
	asked := d.timeOfQuestions()
	for i, t := range d.turns {
		said := t.said
		if said.IsZero() {
			said = asked.Add(-24 * time.Hour)
		}
		for _, p := range passages(t.text) {
			records = append(records, memory.Record{
				Origin: t.origin, Namespace: "project/" + d.name, Text: p, Said: said.Add(time.Duration(i) * time.Second),
				Source: memory.Source{Conversation: t.session, Turn: t.number, Speaker: t.speaker},
			})
			turnOf = append(turnOf, i)
		}
	}
	return records, turnOf
}

// passages returns the texts of the records.
func (d *dialogue) passages() (texts []string, turnOf []int) {
	records, turnOf := d.records()
	for _, r := range records {
		texts = append(texts, r.Text)
	}
	return texts, turnOf
}

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
