package recall

import (
	"maps"
	"math"
	"slices"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// The floor is an E-value, as in searching for sequences: how many records of this store would have the matched words in common with a prompt of as many
// words by chance alone. So it rises with the store and with the prompt, and a word that many records hold carries less. The chances of words that
// the store tells nothing about come from how common they are among people who talk to a tool.
const (
	// mostByChance is the number of records that may match as well by chance.
	mostByChance = 0.1
	// smallStore is the number of records below which a store says nothing about chances.
	smallStore = 100
	// topicRecords is the number of records that are about one thing at most: beyond it a word says less.
	topicRecords = 5
)

// Chances that a record of usual length holds a word.
const (
	nameChance     = 2e-5
	rareChance     = 1e-3
	tradeChance    = 1.2e-2
	everydayChance = 3e-2
)

// surprise returns how much a match of a word tells, in nats: the rarer the word, the more. count of total records have the word.
func (w *word) surprise(count, total int) float64 {
	p := rareChance
	switch {
	case w.rank == trade:
		p = tradeChance
	case w.rank == everyday:
		p = everydayChance
	case w.Dense:
		p = 5e-3
	case w.name && len(w.Word) > 1:
		p = nameChance
	}
	if total >= smallStore {
		p = max(p, float64(count-topicRecords)/float64(total))
	}
	return -math.Log(min(p, 0.9))
}

// minEvidence returns the evidence, in nats, that a match of k of a prompt's n words must have in a store of total records.
func minEvidence(total int, n float64, k int) float64 {
	return math.Log(float64(max(total, 20))) + logChoose(n, float64(k)) - math.Log(mostByChance)
}

// logChoose returns the logarithm of the number of ways to choose k of n things.
func logChoose(n, k float64) float64 {
	n = max(n, k)
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	return a - b - c
}

// trialWeight returns how much a word of this rank counts in the number of words that could match by chance. Common words count less, because they
// seldom decide.
func (r rank) trialWeight() float64 {
	switch r {
	case trade:
		return 0.5
	case everyday, function:
		return 0.25
	}
	return 1
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
	nameWeight   = 1.0  // it has a word that the record is named by, and asks for what is the person's
	titleWeight  = 5.0  // it has a name of two or three words that the record gives to what it is about
	overlap      = 0.5  // of a pair of letters that shares one with the last
	equalTo      = 0.88 // a record is as much about a word as another one
	farAhead     = 1.8  // the score of a record that meets all that another one does, and more, as a multiple of the score of that one
)

// candidate is a record that was found, with how much it says about the prompt.
type candidate struct {
	item           *memory.Item
	statement      *statement
	matched        map[int]float64 // by the number of the prompt's word, how much the match says
	evidence       float64         // in nats; see judgeRecord
	floor          float64
	count          int
	words          []string
	covered        float64
	rareWords      int  // how many of the matched words are rare
	matchesSubject bool // a matched word is its subject
	hasName        bool // it has a name that the prompt has
}

// relevance returns the evidence as a multiple of the floor, to three digits.
func (j *candidate) relevance() float64 { return math.Round(1000*j.evidence/j.floor) / 1000 }

// judgeRecord sets how much a record says about a prompt (c.evidence) and how much it must say to be given (c.floor). names are the terms that the
// prompt or a found record writes as names; counts are the numbers of records, of total in all, with each term.
func (p *Prompt) judgeRecord(c *candidate, names map[string]bool, counts map[string]int, total int) {
	surprise, n := 0.0, 0.0
	for i := range p.words {
		w := &p.words[i]
		w.name = w.name || w.rank == rare && names[w.Term]
		n += w.rank.trialWeight()
		surprise += w.surprise(counts[w.Term], total) * w.rank.trialWeight() * overlapWeight(p.words, i)
	}
	longer := math.Log(max(float64(len(c.statement.mentions))/40, 1))
	bonus := 0.0
	var says []float64
	var last match
	for i, m := range c.statement.matchWords(p.words) {
		w := p.words[m.prompt]
		mention := &c.statement.mentions[m.mention]
		share := 1.0
		if i > 0 && p.words[last.prompt].Dense && last.prompt == m.prompt-1 && w.At < p.words[last.prompt].End {
			share = overlap
		}
		if i > 0 && last.prompt == m.prompt-1 && share == 1 && isNear(c.statement, last.mention, m.mention) {
			bonus += phrase
		}
		last = m
		// React, not to react, nor HTTP
		if mention.name && w.rank != rare && (w.name && !w.isAcronym() || w.Word == mention.Word && mention.title) {
			w.rank, w.name = rare, false
			p.words[m.prompt].rank = rare
		}
		w.name = w.name || w.rank == rare && names[mention.Term]
		says = append(says, max(w.surprise(counts[w.Term], total)-longer, 0)*m.weight*share)
		c.matched[m.prompt] = says[len(says)-1]
		c.covered += w.surprise(counts[w.Term], total) * w.rank.trialWeight() * share
		c.words = append(c.words, w.Word)
		if w.rank == rare {
			c.rareWords++
		}
		c.matchesSubject = c.matchesSubject || w.rank == trade && mention.about >= 0.8
	}
	if len(says) == 0 {
		return
	}
	own := p.own && (p.ownIn == nil || slices.ContainsFunc(slices.Collect(maps.Keys(c.matched)), func(i int) bool { return p.ownIn[p.words[i].sentence] }))
	c.covered = min(c.covered/max(surprise, 1), 1)
	if len(p.words) > 1 {
		bonus += coverWeight * c.covered
	}
	least := 0.5
	title := p.titleLength(c.statement)
	c.hasName = title > 0
	switch {
	case title > 1:
		bonus += titleWeight
		c.rareWords += 2
	case title == 1 && (own || p.fragment || p.tells):
		least = 0.1
		bonus += nameWeight
		if len(p.keys) == 1 {
			bonus += titleWeight // the prompt is its name and nothing else
		}
		c.matchesSubject = true
		c.covered = max(c.covered, p.coveredClause(c, counts, total))
	case !own:
		least = 0.65
	}
	for _, sign := range []struct {
		on     bool
		weight float64
	}{
		{own && p.mine, ownWeight},
		{p.asks, askWeight},
		{p.said, saidWeight},
		{p.here && !own, hereWeight},
		{p.world && !p.mine, worldWeight},
		{p.states, statesWeight},
		{p.why && !p.mine, whyWeight},
	} {
		if sign.on {
			bonus += sign.weight
		}
	}
	c.evidence, c.floor = strongestEvidence(says, bonus, total, n)
	p.judgeSentences(c, bonus, counts, total)
	subject := c.matchesSubject && (own && p.mine || least < 0.5)
	toldOf := p.tells && c.hasName
	if p.states && c.rareWords < 2 && !toldOf || c.rareWords == 0 && (len(says) < 2 && !subject || c.covered < least || p.common && !toldOf) {
		c.evidence = min(c.evidence, 0.9*c.floor)
	}
}

// strongestEvidence sums up the 1, 2, 3 … largest values of matched, each sum with the bonus, and returns the one that is furthest above its floor,
// and that floor. n words of the prompt were compared with a store of total records. It sorts matched.
func strongestEvidence(matched []float64, bonus float64, total int, n float64) (evidence, floor float64) {
	slices.Sort(matched)
	slices.Reverse(matched)
	sum := 0.0
	for k, s := range matched {
		sum += s
		if f := minEvidence(total, n, k+1); k == 0 || sum+bonus-f > evidence-floor {
			evidence, floor = sum+bonus, f
		}
	}
	return evidence, floor
}

// judgeSentences weighs a record for each sentence of a prompt that has several, and keeps the best: a long prompt has many words that some
// record has, but seldom two of them in one sentence. The floor is higher by the number of sentences.
func (p *Prompt) judgeSentences(c *candidate, bonus float64, counts map[string]int, of int) {
	sentences := 0
	for i := range p.words {
		if i == 0 || p.words[i].sentence != p.words[i-1].sentence {
			sentences++
		}
	}
	if sentences < 2 {
		return
	}
	for from := 0; from < len(p.words); {
		n, covered, total := 0.0, 0.0, 0.0
		var met []float64
		to := from
		for ; to < len(p.words) && p.words[to].sentence == p.words[from].sentence; to++ {
			w := &p.words[to]
			n += w.rank.trialWeight()
			share := w.surprise(counts[w.Term], of) * w.rank.trialWeight() * overlapWeight(p.words, to)
			total += share
			if says, ok := c.matched[to]; ok {
				met = append(met, says)
				covered += share
			}
		}
		from = to
		if len(met) < 2 {
			continue
		}
		says, least := strongestEvidence(met, bonus, of*sentences, n)
		if says-least > c.evidence-c.floor {
			c.evidence, c.floor, c.covered = says, least, max(c.covered, min(covered/max(total, 1), 1))
		}
	}
}

// coveredClause returns the largest share (0 to 1) of a clause of the prompt that a record covers: a prompt may list things that have
// nothing in common.
func (p *Prompt) coveredClause(c *candidate, counts map[string]int, of int) (most float64) {
	total, met := map[int]float64{}, map[int]float64{}
	for i := range p.words {
		w := &p.words[i]
		share := w.surprise(counts[w.Term], of) * w.rank.trialWeight() * overlapWeight(p.words, i)
		total[w.clause] += share
		if c.matched[i] > 0 {
			met[w.clause] += share
		}
	}
	for clause, share := range met {
		most = max(most, share/max(total[clause], 1))
	}
	return min(most, 1)
}

// titleLength returns the number of words of the longest name of a statement that the prompt has word for word; 0 if it has none.
func (p *Prompt) titleLength(s *statement) (words int) {
	for _, name := range s.named {
		for i := range p.keys {
			if len(name) <= words || i+len(name) > len(p.keys) {
				break
			}
			if slices.Equal(p.keys[i:i+len(name)], name) {
				words = len(name)
			}
		}
	}
	return words
}

// overlapWeight returns how much word i counts: less than 1 for a pair of letters that shares one with the pair before it.
func overlapWeight(words []word, i int) float64 {
	if i > 0 && words[i].Dense && words[i-1].Dense && words[i].At < words[i-1].End {
		return overlap
	}
	return 1
}

// isNear reports whether two words stand beside each other in a statement, or with one between them.
func isNear(s *statement, a, b int) bool {
	d := s.mentions[b].place - s.mentions[a].place
	return d != 0 && -2 <= d && d <= 2
}
