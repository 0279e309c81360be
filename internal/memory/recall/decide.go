package recall

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
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
	ownWeight   = 2.0  // a question about what is the person's
	askWeight   = 0.5  // a question
	saidWeight  = 1.0  // it asks for what was said
	hereWeight  = -3.0 // it points at what lies at hand
	worldWeight = -3.0 // it asks how something is in the world
	phrase      = 1.5  // two words stand beside each other in both
	coverWeight = 3.0  // all words of the prompt are met
	overlap     = 0.5  // of a pair of letters that shares one with the last
	equalTo     = 0.88 // a record is as much about a word as another one
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
	for i := range found.Items {
		item := &found.Items[i]
		if item.Said.After(now.Add(24 * time.Hour)) {
			d.miss(&item.Record, 0, "it is dated in the future")
			continue
		}
		j := p.judge(item, found.Held, found.Of)
		switch {
		case j.says <= 0:
			d.miss(&item.Record, 0, "it has no telling word of the prompt")
		case j.s.past:
			d.miss(&item.Record, j.score(), "it says what was, and is no longer")
		default:
			all = append(all, j)
		}
	}
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

func (d *Decision) miss(r *memory.Record, score float64, why string) {
	d.Missed = append(d.Missed, Miss{*r, score, why})
}

// judge weighs a record for a prompt.
func (p *Prompt) judge(item *memory.Item, held map[string]int, of int) *judged {
	j := &judged{item: item, s: readStatement(item.Text), met: map[int]float64{}, count: max(item.Count, 1)}
	matches := j.s.matches(p.words)
	total := 0.0
	n := 0
	seen := map[string]bool{}
	for i := range p.words {
		w := &p.words[i]
		if seen[w.Term] {
			continue
		}
		seen[w.Term] = true
		n++
		total += w.surprise(held[w.Term], of) * overlapOf(p.words, i)
	}
	longer := math.Log(max(float64(len(j.s.mentions))/40, 1))
	telling, k := 0, 0
	took := map[string]bool{}
	var last match
	for i, m := range matches {
		w := &p.words[m.prompt]
		share := 1.0
		if i > 0 && p.words[last.prompt].Dense && last.prompt == m.prompt-1 && w.At < p.words[last.prompt].End {
			share = overlap
		}
		if i > 0 && last.prompt == m.prompt-1 && share == 1 && near(j.s, last.mention, m.mention) {
			j.says += phrase
		}
		last = m
		if took[w.Term] {
			continue
		}
		took[w.Term] = true
		says := max(w.surprise(held[w.Term], of)-longer, 0) * m.weight * share
		if says <= 0 {
			continue
		}
		j.met[m.prompt] = says
		j.says += says
		j.covered += w.surprise(held[w.Term], of) * share
		j.words = append(j.words, w.Word)
		if k++; w.rank == rare {
			telling++
		}
	}
	if k == 0 {
		j.says = 0
		return j
	}
	j.covered = min(j.covered/max(total, 1), 1)
	if n > 1 {
		j.says += coverWeight * j.covered
	}
	j.floor = floor(of, n, k)
	for _, sign := range []struct {
		on     bool
		weight float64
	}{{p.mine && p.asks, ownWeight}, {p.asks, askWeight}, {p.said, saidWeight}, {p.here && !p.said, hereWeight}, {p.world && !p.mine, worldWeight}} {
		if sign.on {
			j.says += sign.weight
		}
	}
	if telling == 0 && (k < 2 || j.covered < 0.5) {
		j.says = min(j.says, 0.9*j.floor)
	}
	return j
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

// keepBest drops records of which each word that they were found by is what another one is more about.
func (d *Decision) keepBest(p Prompt, all []*judged) (kept []*judged) {
	best := map[int]float64{}
	for _, j := range all {
		if j.says < j.floor {
			continue
		}
		for i, weight := range j.met {
			best[i] = max(best[i], weight)
		}
	}
	for _, j := range all {
		equal := j.says < j.floor
		for i, weight := range j.met {
			equal = equal || weight >= equalTo*best[i] && p.words[i].rank == rare
		}
		if !equal && len(j.words) > 0 {
			top := all[0].says
			equal = j == all[0] || j.says >= equalTo*top
		}
		if equal {
			kept = append(kept, j)
		} else {
			d.miss(&j.item.Record, j.score(), "another record is more about "+strings.Join(j.words, ", "))
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
		if m.term != "" {
			out[m.term] = true
		}
	}
	return out
}
