package recall

import "math"

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

// surprise returns how much a match of a word says, in nats.
func (w *word) surprise(held, of int) float64 {
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
	if of >= smallStore {
		p = max(p, float64(held-topicRecords)/float64(of))
	}
	return -math.Log(min(p, 0.9))
}

// floor returns how much a match of k of n words must say in a store.
func floor(of int, n float64, k int) float64 {
	return math.Log(float64(max(of, 20))) + logChoose(n, float64(k)) - math.Log(mostByChance)
}

func logChoose(n, k float64) float64 {
	n = max(n, k)
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	return a - b - c
}

// tries is how much a word of a prompt adds to the number of words that a record may have by chance: one that everybody says seldom decides.
func (r rank) tries() float64 {
	switch r {
	case trade:
		return 0.5
	case everyday, function:
		return 0.25
	}
	return 1
}
