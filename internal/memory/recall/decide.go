// Package recall decides what is added to a prompt: nothing, unless it would help.
//
//	prompt := recall.Read(text)
//	if prompt.Why == "" { // it may want something
//		res, err := store.Search(ctx, memory.Query{Text: prompt.Query, Loose: true, Limit: recall.Candidates})
//		decision := recall.Decide(prompt, res, time.Now())
//	}
//
// It is pure: no disk, no model, no clock of its own.
package recall

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// Candidates is the number of records that a caller searches for: the best ones are told from the rest by comparing them.
const Candidates = 32

// Most lines that one prompt gets, and that one gets which asks for a list, or names as many things itself.
const (
	MaxLines = 3
	MaxList  = 7
)

// Line is a record to give.
type Line struct {
	memory.Record
	// Score compares the prompt's words in the record with those that one of the store would have by chance: 1 at the floor.
	Score float64 `json:"score"`
	// Count is the number of records that say the same, this one included: of notes and facts how often they were added, of what was said in
	// conversations, which clients send again, each once.
	Count int `json:"count"`
	// Words are those of the prompt that the record was found by.
	Words []string `json:"words,omitempty"`
	// Replaced is the record that this one took the place of; nil for none.
	Replaced *memory.Replaced `json:"replaced,omitempty"`
}

// maxBefore bounds what a line says of the record that it replaced, in bytes.
const maxBefore = 160

// What stands behind the text of a line begins with one of these.
const (
	saidMark     = "said "
	replacedMark = "since then no longer, from "
)

// Sentence returns what is added to the prompt: the text, how often it was said, and what it has taken the place of.
func (l *Line) Sentence() string { return l.Text + l.suffix() }

// SentenceWithin returns the sentence in at most size bytes. It shortens the text, and never what stands behind it.
func (l *Line) SentenceWithin(size int) string {
	more := l.suffix()
	return limit.Clip(l.Text, max(size-len(more), 0)) + more
}

// suffix returns what is added to the text of a line, in parentheses with a blank before them: how many times it was said, and the older
// text that it replaces. It is "" if there is neither.
func (l *Line) suffix() string {
	var more []string
	if l.Count > 1 {
		more = append(more, fmt.Sprintf("%s%d times", saidMark, l.Count))
	}
	if r := l.Replaced; r != nil {
		more = append(more, fmt.Sprintf("%s%s: %q", replacedMark, r.Said.UTC().Format(time.DateOnly), limit.Short(r.Text, maxBefore)))
	}
	if len(more) == 0 {
		return ""
	}
	return " (" + strings.Join(more, "; ") + ")"
}

// WithoutSuffix returns a sentence without what [Line.Sentence] has added to the text, because that may be another one the next time.
func WithoutSuffix(sentence string) string {
	for at := 0; ; {
		i := strings.Index(sentence[at:], " (")
		if i < 0 {
			return sentence
		}
		at += i
		rest := sentence[at+2:]
		said, ok := strings.CutPrefix(rest, saidMark)
		if digits := strings.TrimLeft(said, "0123456789"); strings.HasPrefix(rest, replacedMark) || ok && digits != said && strings.HasPrefix(digits, " times") {
			return sentence[:at]
		}
		at += 2
	}
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

// Decide chooses from what was found for a prompt. found is the answer to [Prompt.Query] of a [memory.Query] with Loose set.
func Decide(p Prompt, found memory.Results, now time.Time) Decision {
	d := Decision{Given: []Line{}, Why: p.Why}
	if p.Why != "" {
		for i := range found.Items {
			d.addMissed(&found.Items[i].Record, 0, p.Why)
		}
		return d
	}
	var all []*candidate
	names := map[string]bool{}
	for i := range found.Items {
		item := &found.Items[i]
		if item.Said.After(now.Add(24 * time.Hour)) {
			d.addMissed(&item.Record, 0, "it is dated in the future")
			continue
		}
		j := &candidate{item: item, statement: readStatement(item.Text), matched: map[int]float64{}, count: 1}
		if item.Kind != memory.KindEpisode {
			j.count = max(item.Count, 1)
		}
		for _, m := range j.statement.mentions {
			if m.name {
				names[m.Term] = true
			}
		}
		all = append(all, j)
	}
	for _, j := range all {
		p.judgeRecord(j, names, found.StatementsWith, found.Statements)
	}
	all = d.dropReplaced(all, found.Items)
	all = slices.DeleteFunc(all, func(j *candidate) bool {
		if j.evidence <= 0 {
			d.addMissed(&j.item.Record, 0, "it has no telling word of the prompt")
		} else if j.statement.past {
			d.addMissed(&j.item.Record, j.relevance(), "it says what was, and is no longer")
		}
		return j.evidence <= 0 || j.statement.past
	})
	sorting.StableBy(all, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.evidence-b.floor, a.evidence-a.floor), b.item.Said.Compare(a.item.Said))
	})
	all = d.mergeSame(all)
	all = d.dropWeaker(p, all)
	most := MaxLines
	if p.List || countTopics(all) > MaxLines {
		most = MaxList
	}
	for _, j := range all {
		switch {
		case j.evidence < j.floor:
			d.addMissed(&j.item.Record, j.relevance(), "too little of the prompt is in it: "+strings.Join(j.words, ", "))
		case len(d.Given) == most:
			d.addMissed(&j.item.Record, j.relevance(), fmt.Sprintf("%d lines are given already", most))
		default:
			d.Given = append(d.Given, Line{Record: j.item.Record, Score: j.relevance(), Count: j.count, Words: j.words, Replaced: j.item.Replaced})
		}
	}
	if len(d.Given) == 0 {
		d.Why = "nothing that is kept is about it"
	}
	return d
}

// dropReplaced drops records that a newer one replaces. The newer one takes over the words that the dropped one has in common with the prompt. A
// record is also dropped if its newer one was not found, because it is no longer so.
func (d *Decision) dropReplaced(all []*candidate, items []memory.Item) []*candidate {
	of := map[string]*candidate{}
	for _, j := range all {
		of[j.item.ID] = j
	}
	next := map[string]string{}
	for i := range items {
		next[items[i].ID] = items[i].ReplacedBy
	}
	return slices.DeleteFunc(all, func(j *candidate) bool {
		id := j.item.ReplacedBy
		if id == "" {
			return false
		}
		for range items { // a value may have changed more than once
			if next[id] == "" {
				break
			}
			id = next[id]
		}
		if newer := of[id]; newer != nil && newer.evidence-newer.floor < j.evidence-j.floor {
			newer.evidence, newer.floor, newer.matched, newer.words, newer.rareWords = j.evidence, j.floor, j.matched, j.words, j.rareWords
		}
		d.addMissed(&j.item.Record, j.relevance(), "a newer one has taken its place: "+id)
		return true
	})
}

// addMissed enters a record that is not given, with the reason.
func (d *Decision) addMissed(r *memory.Record, score float64, why string) {
	d.Missed = append(d.Missed, Miss{*r, score, why})
}

// dropWeaker drops a record if, for each prompt word that it was found by, another record matches better: that word itself, or more of the words that
// tell something.
func (d *Decision) dropWeaker(p Prompt, all []*candidate) (kept []*candidate) {
	for _, j := range all {
		tells := slices.ContainsFunc(slices.Collect(maps.Keys(j.matched)), func(i int) bool { return p.words[i].rank == rare })
		better := func(o *candidate) bool {
			if o != j && o.evidence >= o.floor && p.isBesideNamed(j, o) {
				return true
			}
			if o == j || o.evidence < o.floor || o.evidence < j.evidence && !(tells && o.tellingWeight(p) > j.tellingWeight(p)) {
				return false
			}
			more, less, equal, covers := false, false, true, true
			for i, weight := range j.matched {
				if tells && p.words[i].rank != rare {
					continue
				}
				other := o.matched[i]
				less = less || weight > 1.001*other
				covers = covers && other > 0
				equal = equal && other > 0 && weight >= equalTo*other
			}
			for i := range o.matched {
				more = more || j.matched[i] == 0 && (p.words[i].rank == rare || !tells)
			}
			return !less && (more || !equal) || more && covers && o.relevance() >= farAhead*j.relevance()
		}
		if i := slices.IndexFunc(all, better); i >= 0 && j.evidence >= j.floor {
			d.addMissed(&j.item.Record, j.relevance(), "another record is more about "+strings.Join(j.words, ", "))
		} else {
			kept = append(kept, j)
		}
	}
	return kept
}

// isBesideNamed reports whether c has only common words of a prompt while other has the names in the same clauses. An example: for "should the new
// service use Fastify", a record about services says nothing.
func (p *Prompt) isBesideNamed(c, other *candidate) bool {
	if c.rareWords > 0 || c.hasName || !other.hasName && (!p.should || other.rareWords == 0) {
		return false
	}
	about := map[int]bool{}
	for i := range other.matched {
		about[p.words[i].clause] = true
	}
	for i := range c.matched {
		if !about[p.words[i].clause] {
			return false
		}
	}
	return true
}

// tellingWeight returns the sum of the weights of a record's matches, without everyday words.
func (j *candidate) tellingWeight(p Prompt) (sum float64) {
	for i, weight := range j.matched {
		if p.words[i].rank < everyday {
			sum += weight
		}
	}
	return sum
}

// countTopics returns how many different words of a prompt are the strongest match of a record that reaches its floor.
func countTopics(all []*candidate) int {
	things := map[int]bool{}
	for _, j := range all {
		top, weight := -1, 0.0
		for i, w := range j.matched {
			if w > weight || w == weight && i < top {
				top, weight = i, w
			}
		}
		if j.evidence >= j.floor {
			things[top] = true
		}
	}
	return len(things)
}

// mergeSame keeps only the newest of records that say nearly the same, with their number in count.
func (d *Decision) mergeSame(all []*candidate) (kept []*candidate) {
	for _, j := range all {
		i := slices.IndexFunc(kept, func(k *candidate) bool { return saySame(k.statement, j.statement) })
		if i < 0 {
			kept = append(kept, j)
			continue
		}
		k := kept[i]
		count := k.count + j.count
		if j.item.Said.After(k.item.Said) {
			k, j = j, k
			kept[i] = k
		}
		k.count = count
		d.addMissed(&j.item.Record, j.relevance(), "it says the same as "+k.item.ID)
	}
	return kept
}

// saySame reports whether two statements have nearly all words in common, and all numbers.
func saySame(a, b *statement) bool {
	x, y := a.terms(), b.terms()
	common := 0
	for t := range x {
		if y[t] {
			common++
		} else if strings.ContainsAny(t, "0123456789") {
			return false
		}
	}
	for t := range y {
		if !x[t] && strings.ContainsAny(t, "0123456789") {
			return false
		}
	}
	return common > 0 && 10*common >= 8*(len(x)+len(y)-common)
}

// terms returns the terms that a statement mentions, as a set.
func (s *statement) terms() map[string]bool {
	out := map[string]bool{}
	for _, m := range s.mentions {
		if m.Term != "" {
			out[m.Term] = true
		}
	}
	return out
}
