package main

import (
	"encoding/json"
	"errors"
	"fmt"
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
func readLoCoMo(file string) (all []dialogue, bad int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, err
	}
	var samples []struct {
		ID           string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []struct {
			Question string   `json:"question"`
			Category int      `json:"category"`
			Evidence []string `json:"evidence"`
		} `json:"qa"`
	}
	if err := json.Unmarshal(text, &samples); err != nil {
		return nil, 0, fmt.Errorf("%s is not LoCoMo's locomo10.json: %w", file, err)
	}
	for _, s := range samples {
		d := dialogue{name: s.ID}
		there := map[string]bool{}
		for n := 1; ; n++ {
			session := "session_" + strconv.Itoa(n)
			raw, ok := s.Conversation[session]
			if !ok {
				if n > 100 {
					break
				}
				continue
			}
			var turns []struct {
				Speaker string `json:"speaker"`
				ID      string `json:"dia_id"`
				Text    string `json:"text"`
			}
			if err := json.Unmarshal(raw, &turns); err != nil {
				return nil, 0, fmt.Errorf("%s: %s of %s: %w", file, session, s.ID, err)
			}
			var date string // of the session
			if err := json.Unmarshal(s.Conversation[session+"_date_time"], &date); err != nil {
				return nil, 0, fmt.Errorf("%s: the date of %s of %s: %w", file, session, s.ID, err)
			}
			said, err := time.Parse("3:04 pm on 2 January, 2006", date)
			if err != nil {
				return nil, 0, fmt.Errorf("%s: the date of %s of %s: %w", file, session, s.ID, err)
			}
			for i, t := range turns {
				there[t.ID] = true
				// Both speak as people do with each other: both are the user's side of a conversation.
				d.turns = append(d.turns, dialogueTurn{t.ID, session, i + 1, t.Speaker, memory.OriginUser, t.Text, said})
			}
		}
		for _, q := range s.QA {
			one := dialogueQuestion{text: q.Question, category: locomoCategories[q.Category]}
			for _, e := range q.Evidence {
				for _, m := range locomoID.FindAllStringSubmatch(e, -1) {
					page, _ := strconv.Atoi(m[1])
					line, _ := strconv.Atoi(m[2])
					id := fmt.Sprintf("D%d:%d", page, line)
					switch {
					case !there[id]:
						bad++
					case !slices.Contains(one.evidence, id):
						one.evidence = append(one.evidence, id)
					}
				}
			}
			if len(one.evidence) > 0 {
				d.questions = append(d.questions, one)
			}
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, 0, errors.New("no conversation in " + file)
	}
	return all, bad, nil
}

// readBEAM reads the chats of one size below the folder chats of the repository mohammadtavakoli78/BEAM.
func readBEAM(dir, size string) ([]dialogue, error) {
	files, err := filepath.Glob(filepath.Join(dir, "chats", size, "*", "chat.json"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no chats of %s in %s", size, dir))
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
		if err := readJSON(file, &batches); err != nil {
			return nil, err
		}
		d := dialogue{name: size + "/" + filepath.Base(filepath.Dir(file))}
		there := map[string]bool{}
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
					id := strconv.Itoa(m.ID)
					there[id] = true
					number++
					if date, err := time.Parse("January-02-2006", m.Anchor); err == nil {
						said = date
					}
					d.turns = append(d.turns, dialogueTurn{id, "batch_" + strconv.Itoa(b), number, "", origin, text, said})
				}
			}
		}
		var probes map[string][]struct {
			Question string          `json:"question"`
			Sources  json.RawMessage `json:"source_chat_ids"`
		}
		if err := readJSON(filepath.Join(filepath.Dir(file), "probing_questions", "probing_questions.json"), &probes); err != nil {
			return nil, err
		}
		for category, questions := range probes {
			for _, q := range questions {
				one := dialogueQuestion{text: q.Question, category: category}
				for _, id := range numbers(q.Sources) {
					if there[id] && !slices.Contains(one.evidence, id) {
						one.evidence = append(one.evidence, id)
					}
				}
				if len(one.evidence) > 0 {
					d.questions = append(d.questions, one)
				}
			}
		}
		all = append(all, d)
	}
	return all, nil
}

func readJSON(file string, v any) error {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

var digits = regexp.MustCompile(`\d+`)

// numbers returns all numbers in some JSON, whose keys have none.
func numbers(raw json.RawMessage) []string { return digits.FindAllString(string(raw), -1) }

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

// asked returns when the questions are asked: the day after the last turn.
func (d *dialogue) asked() time.Time {
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
	asked := d.asked()
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
