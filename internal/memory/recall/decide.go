package recall

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
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
	// Score is how much more of the prompt the record meets than one of the store would by chance: 1 at the floor.
	Score float64 `json:"score"`
	// Count is the number of records that say the same, this one included.
	Count int `json:"count"`
	// Words are those of the prompt that the record was found by.
	Words []string `json:"words,omitempty"`
	// Replaced is the record that this one took the place of; nil for none.
	Replaced *memory.Replaced `json:"replaced,omitempty"`
}

// maxBefore bounds what a line says of the record that it replaced, in bytes.
const maxBefore = 160

// Sentence returns what is added to the prompt: the text, how often it was said, and what it has taken the place of.
func (l *Line) Sentence() string {
	var more []string
	if l.Count > 1 {
		more = append(more, fmt.Sprintf("said %d times", l.Count))
	}
	if r := l.Replaced; r != nil {
		more = append(more, fmt.Sprintf("since then no longer, from %s: %q", r.Said.UTC().Format(time.DateOnly), limit.Short(r.Text, maxBefore)))
	}
	if len(more) == 0 {
		return l.Text
	}
	return l.Text + " (" + strings.Join(more, "; ") + ")"
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

// Weights of what a prompt shows beside its words, in nats.
const (
	ownWeight    = 2.0  // a question about what is the person's
	askWeight    = 0.5  // a question
	whyWeight    = -2.0 // it asks for a reason
	statesWeight = -1.5 // it tells something, and asks nothing
	saidWeight   = 1.0  // it asks for what was said
	hereWeight   = -3.0 // it points at what lies at hand
	worldWeight  = -6.0 // it asks how something is in the world
	phrase       = 1.5  // two words stand beside each other in both
	coverWeight  = 3.0  // all words of the prompt are met
	titleWeight  = 5.0  // it has a name of two or three words that the record gives to what it is about
	overlap      = 0.5  // of a pair of letters that shares one with the last
	equalTo      = 0.88 // a record is as much about a word as another one
	farAhead     = 2.5  // the score of a record that meets all that another one does, and more, as a multiple of the score of that one
)

// judged is a candidate with its evidence.
type judged struct {
	item    *memory.Item
	s       *statement
	met     map[int]float64 // words of the prompt, with the weight of each
	says    float64         // what they say
	floor   float64
	count   int
	words   []string
	covered float64
	telling int  // how many of the words are rare
	subject bool // one of the others is its subject
}

func (j *judged) score() float64 { return math.Round(1000*j.says/j.floor) / 1000 }

// Decide chooses from what was found for a prompt. found is the answer to [Prompt.Query] of a [memory.Query] with Loose set.
func Decide(p Prompt, found memory.Results, now time.Time) Decision {
	d := Decision{Given: []Line{}, Why: p.Why}
	if p.Why != "" {
		for i := range found.Items {
			d.miss(&found.Items[i].Record, 0, p.Why)
		}
		return d
	}
	var all []*judged
	names := map[string]bool{}
	for i := range found.Items {
		item := &found.Items[i]
		if item.Said.After(now.Add(24 * time.Hour)) {
			d.miss(&item.Record, 0, "it is dated in the future")
			continue
		}
		j := &judged{item: item, s: readStatement(item.Text), met: map[int]float64{}, count: max(item.Count, 1)}
		for _, m := range j.s.mentions {
			if m.name {
				names[m.Term] = true
			}
		}
		all = append(all, j)
	}
	for _, j := range all {
		p.judge(j, names, found.Held, found.Of)
	}
	all = d.newestOnly(all, found.Items)
	all = slices.DeleteFunc(all, func(j *judged) bool {
		if j.says <= 0 {
			d.miss(&j.item.Record, 0, "it has no telling word of the prompt")
		} else if j.s.past {
			d.miss(&j.item.Record, j.score(), "it says what was, and is no longer")
		}
		return j.says <= 0 || j.s.past
	})
	slices.SortStableFunc(all, func(a, b *judged) int {
		return cmp.Or(cmp.Compare(b.says-b.floor, a.says-a.floor), b.item.Said.Compare(a.item.Said))
	})
	all = d.mergeSame(all)
	all = d.keepBest(p, all)
	most := MaxLines
	if p.List || named(all) > MaxLines {
		most = MaxList
	}
	for _, j := range all {
		switch {
		case j.says < j.floor:
			d.miss(&j.item.Record, j.score(), fmt.Sprintf("below the floor: %.1f of %.1f, by %s", j.says, j.floor, strings.Join(j.words, ", ")))
		case len(d.Given) == most:
			d.miss(&j.item.Record, j.score(), fmt.Sprintf("%d lines are given already", most))
		default:
			d.Given = append(d.Given, Line{Record: j.item.Record, Score: j.score(), Count: j.count, Words: j.words, Replaced: j.item.Replaced})
		}
	}
	if len(d.Given) == 0 {
		d.Why = "nothing reached the floor"
	}
	return d
}

// newestOnly drops records whose place a newer one has taken. What they have in common with the prompt speaks for the newer one, which may say it in
// other words; a record whose newer one was not found is dropped as well, because it is no longer so.
func (d *Decision) newestOnly(all []*judged, items []memory.Item) []*judged {
	of := map[string]*judged{}
	for _, j := range all {
		of[j.item.ID] = j
	}
	next := map[string]string{}
	for i := range items {
		next[items[i].ID] = items[i].ReplacedBy
	}
	return slices.DeleteFunc(all, func(j *judged) bool {
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
		if newer := of[id]; newer != nil && newer.says-newer.floor < j.says-j.floor {
			newer.says, newer.floor, newer.met, newer.words, newer.telling = j.says, j.floor, j.met, j.words, j.telling
		}
		d.miss(&j.item.Record, j.score(), "a newer one has taken its place: "+id)
		return true
	})
}

func (d *Decision) miss(r *memory.Record, score float64, why string) {
	d.Missed = append(d.Missed, Miss{*r, score, why})
}

// judge weighs a record for a prompt. names are the terms that the prompt or one of the records found writes as names.
func (p *Prompt) judge(j *judged, names map[string]bool, held map[string]int, of int) {
	total, n, different := 0.0, 0.0, 0
	seen := map[string]bool{}
	for i := range p.words {
		w := &p.words[i]
		w.name = w.name || w.rank == rare && names[w.Term]
		if !seen[w.Term] {
			seen[w.Term] = true
			different++
			n += w.rank.tries()
			total += w.surprise(held[w.Term], of) * w.rank.tries() * overlapOf(p.words, i)
		}
	}
	longer := math.Log(max(float64(len(j.s.mentions))/40, 1))
	took := map[string]bool{}
	bonus := 0.0
	var says []float64
	var last match
	for i, m := range j.s.matches(p.words) {
		w := p.words[m.prompt]
		mention := &j.s.mentions[m.mention]
		share := 1.0
		if i > 0 && p.words[last.prompt].Dense && last.prompt == m.prompt-1 && w.At < p.words[last.prompt].End {
			share = overlap
		}
		if i > 0 && last.prompt == m.prompt-1 && share == 1 && near(j.s, last.mention, m.mention) {
			bonus += phrase
		}
		last = m
		if took[w.Term] {
			continue
		}
		took[w.Term] = true
		if w.name && mention.name && w.rank != rare { // React, not to react
			w.rank, w.name = rare, false
			p.words[m.prompt].rank = rare
		}
		w.name = w.name || w.rank == rare && names[mention.Term]
		says = append(says, max(w.surprise(held[w.Term], of)-longer, 0)*m.weight*share)
		j.met[m.prompt] = says[len(says)-1]
		j.covered += w.surprise(held[w.Term], of) * w.rank.tries() * share
		j.words = append(j.words, w.Word)
		if w.rank == rare {
			j.telling++
		}
		j.subject = j.subject || w.rank == trade && mention.about >= 1
	}
	if len(says) == 0 {
		return
	}
	least := 0.5
	switch title := p.title(j.s); {
	case title > 1:
		bonus += titleWeight
		j.telling++
	case title == 1 && p.own:
		least = 0.1
		j.subject = true
	case !p.own:
		least = 0.65
	}
	j.covered = min(j.covered/max(total, 1), 1)
	if different > 1 {
		bonus += coverWeight * j.covered
	}
	for _, sign := range []struct {
		on     bool
		weight float64
	}{
		{p.own && p.mine, ownWeight}, {p.asks, askWeight}, {p.said, saidWeight}, {p.here && !p.said, hereWeight}, {p.world && !p.mine, worldWeight},
		{p.states, statesWeight},
		{p.why && !p.mine, whyWeight},
	} {
		if sign.on {
			bonus += sign.weight
		}
	}
	// Of the words that are met those count that together are the least likely by chance.
	slices.SortFunc(says, func(a, b float64) int { return cmp.Compare(b, a) })
	sum := 0.0
	for k, s := range says {
		sum += s
		if f := floor(of, n, k+1); k == 0 || sum+bonus-f > j.says-j.floor {
			j.says, j.floor = sum+bonus, f
		}
	}
	subject := p.own && j.subject && (p.mine || least < 0.5)
	if j.telling == 0 && (len(says) < 2 && !subject || j.covered < least) {
		j.says = min(j.says, 0.9*j.floor)
	}
}

// title returns the number of words of the longest of a statement's names that a prompt has, one behind the other.
func (p *Prompt) title(s *statement) (words int) {
	for _, name := range s.named {
		for i := range p.words {
			if len(name) <= words || i+len(name) > len(p.words) {
				break
			}
			same := p.words[i+len(name)-1].At-p.words[i].At < 64
			for k, term := range name {
				same = same && p.words[i+k].Term == term
			}
			if same {
				words = len(name)
			}
		}
	}
	return words
}

func overlapOf(words []word, i int) float64 {
	if i > 0 && words[i].Dense && words[i-1].Dense && words[i].At < words[i-1].End {
		return overlap
	}
	return 1
}

// near reports whether two words stand beside each other in a statement, or with one between them.
func near(s *statement, a, b int) bool {
	d := s.mentions[b].place - s.mentions[a].place
	return d != 0 && -2 <= d && d <= 2
}

// keepBest drops records of which each word that they were found by is what another one is more about: by that word, or by more of those that tell
// something.
func (d *Decision) keepBest(p Prompt, all []*judged) (kept []*judged) {
	for _, j := range all {
		better := func(o *judged) bool {
			if o == j || o.says < o.floor || o.says < j.says {
				return false
			}
			more, less, equal, covers := false, false, true, true
			tells := slices.ContainsFunc(slices.Collect(maps.Keys(j.met)), func(i int) bool { return p.words[i].rank == rare })
			for i, weight := range j.met {
				if tells && p.words[i].rank != rare {
					continue
				}
				other := o.met[i]
				less = less || weight > 1.001*other
				covers = covers && other > 0
				equal = equal && other > 0 && weight >= equalTo*other
			}
			for i := range o.met {
				more = more || j.met[i] == 0 && (p.words[i].rank == rare || !tells)
			}
			return !less && (more || !equal) || more && covers && o.score() >= farAhead*j.score()
		}
		if i := slices.IndexFunc(all, better); i >= 0 && j.says >= j.floor {
			d.miss(&j.item.Record, j.score(), "another record is more about "+strings.Join(j.words, ", "))
		} else {
			kept = append(kept, j)
		}
	}
	return kept
}

// named returns how many different things of a prompt records reach the floor by.
func named(all []*judged) int {
	things := map[int]bool{}
	for _, j := range all {
		top, weight := -1, 0.0
		for i, w := range j.met {
			if w > weight || w == weight && i < top {
				top, weight = i, w
			}
		}
		if j.says >= j.floor {
			things[top] = true
		}
	}
	return len(things)
}

// mergeSame makes one of records that say nearly the same, with their number: the newest of them.
func (d *Decision) mergeSame(all []*judged) (kept []*judged) {
	for _, j := range all {
		i := slices.IndexFunc(kept, func(k *judged) bool { return sameSaid(k.s, j.s) })
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
		d.miss(&j.item.Record, j.score(), "it says the same as "+k.item.ID)
	}
	return kept
}

// sameSaid reports whether two statements have nearly all words in common, and all numbers.
func sameSaid(a, b *statement) bool {
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

func (s *statement) terms() map[string]bool {
	out := map[string]bool{}
	for _, m := range s.mentions {
		if m.Term != "" {
			out[m.Term] = true
		}
	}
	return out
}
