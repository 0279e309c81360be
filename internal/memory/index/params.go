package index

// Params are the constants of the ranking.
type Params struct {
	// K1 and B are those of BM25.
	K1, B float64
	// Near is the share of its score that a document lends to those one and two places before and behind it in its conversation.
	Near [2]float64
	// Ahead is the factor by which the documents behind count more than those before.
	Ahead float64
	// Peak weights, of several parts of one word from a document itself and its neighbours, the largest alone (1) against their sum (0): a
	// word that is said three times in a row says no more than once.
	Peak float64
	// Answer is the factor by which a question lends more to what was said to it, and Question that by which it counts less itself: it is
	// the answer that is looked for. Both hold where question and answer are of one lane, as between people; what models answer to people
	// has its weight from its lane.
	Answer, Question float64
	// Talk is the share of the score of its conversation, taken as one text, that a document gets.
	Talk float64
	// Speaker is the extra weight of a document that was said by somebody whom the query names.
	Speaker float64
	// Name is the weight of a word of the query that is the name of a speaker.
	Name float64
	// Lanes are the weights of the lanes.
	Lanes [lanes]float64
	// Raw leaves out stop words and stems in nothing: plain BM25 on the words as they stand. It is a baseline.
	Raw bool
}

// Defaults returns the constants that the product uses.
func Defaults() Params {
	return Params{
		K1: 0.9, B: 0.4, Near: [2]float64{0.4, 0.3}, Ahead: 1.2, Peak: 0.7, Answer: 0.8, Question: 0.2, Talk: 1, Speaker: 0.3, Name: 0.5,
		Lanes: [lanes]float64{User: 1, Agent: 0.5, Tool: 0.5, Fact: 1, Note: 1},
	}
}

// RawBM25 returns the constants of plain BM25: no neighbours, no conversations, no lanes, and words as they are written.
func RawBM25() Params {
	return Params{K1: 0.9, B: 0.4, Name: 1, Lanes: [lanes]float64{1, 1, 1, 1, 1}, Raw: true}
}
