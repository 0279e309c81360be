package extract

import "math"

// baseWeight is the weight of a line by who wrote it. The user's words are the task; a tool's output can be asked for again.
var baseWeight = [...]float64{User: 8, Assistant: 2.5, Call: 0.8, Result: 0.5, Prior: 5}

const (
	weightFirst      = 4.0 // the first line of what the user said
	weightConstraint = 6.0
	weightError      = 2.0
	// tokenCap bounds what the tokens of one line add: a line of forty identifiers is a
	// listing.
	tokenCap = 12.0
	// mute is the factor for a tool's line without words: a number without a name, a dump.
	mute = 0.1
	// narrated is the factor for an agent's words without news: the call that follows says them better.
	narrated = 0.3
)

// weighLines scores every line and sets its section. known may be nil: then the agent's lines have no news.
func weighLines(all []line, turns []Turn, known *records) {
	templates := make(map[uint64]int32, len(all))
	shapes := make(map[uint64]int32, len(all))
	occurs := make(map[uint64]int32, len(all))
	spoken := make(map[uint64]bool)
	arena := make([]token, 0, 4*len(all)+maxTokens)
	for i := range all {
		l := &all[i]
		if cap(arena)-len(arena) < maxTokens {
			arena = make([]token, 0, 4*(len(all)-i)+maxTokens)
		}
		l.scanTokens(arena[len(arena):len(arena):cap(arena)])
		arena = arena[:len(arena)+len(l.tokens)]
		templates[l.template]++
		shapes[l.shape]++
		for k, t := range l.tokens {
			if !hasToken(l.tokens[:k], t.hash) {
				occurs[t.hash]++
			}
			if l.kind == User || l.kind == Prior || l.kind == Assistant {
				spoken[t.hash] = true
			}
		}
	}
	var scratch [longLine + 8]byte
	newest := float64(1)
	for i := range all {
		newest = max(newest, float64(all[i].turn)+1)
	}
	if known != nil {
		setNews(all, turns, known, occurs)
	}
	for i := range all {
		l := &all[i]
		l.alike = max(templates[l.template], shapes[l.shape])
		l.score = l.scoreOf(l.alike, occurs, spoken, len(all), scratch[:])
		l.score *= 0.75 + 0.5*float64(l.turn+1)/newest
	}
}

// scoreOf returns the score of a line by its kind, its cues, its tokens and how many lines are like it (alike). n is the number of lines,
// scratch memory for the search.
func (l *line) scoreOf(alike int32, occurs map[uint64]int32, spoken map[uint64]bool, n int, scratch []byte) float64 {
	score := baseWeight[l.kind]
	strength, ask := 1.0, cueConstraint|cueError
	switch l.kind {
	case Result, Call:
		strength, ask = 0.5, cueError // code and logs are full of the other words
	case Assistant:
		strength = 0.6
	}
	is := cuesIn(l.text, ask, scratch)
	if is&cueConstraint != 0 {
		score += weightConstraint * strength
	}
	if is&cueError != 0 {
		score += weightError * strength
	}
	if l.kind == User && l.first {
		score += weightFirst
	}
	if l.section == sectionNone || l.section == sectionErrors {
		l.section = l.sectionFor(is)
	}
	held, words := 0.0, 0
	for k, t := range l.tokens {
		if hasToken(l.tokens[:k], t.hash) {
			continue
		}
		rare := rarity(occurs[t.hash], n)
		value := float64(t.weight) * rare * rare
		if (l.kind == Result || l.kind == Call) && spoken[t.hash] {
			value *= 1.5 // somebody spoke of it
		}
		held += value
		words++
	}
	score += min(held, tokenCap)
	if l.kind == Result && l.words < 2 {
		score *= mute
	}
	switch l.kind {
	case Result, Call:
		// A thousand lines of one kind are bulk; fifty of them in a megabyte need not be.
		score /= math.Sqrt(1 + float64(alike)*float64(alike)/float64(n))
	case Assistant:
		// An agent repeats itself in much fewer lines than its tools do.
		score /= math.Sqrt(math.Sqrt(float64(alike)))
	}
	if l.kind == Assistant && words == 0 && !l.hasNews() {
		score *= narrated
	}
	return score
}

// sectionFor returns the section of a line, by its kind and by the cues in is.
func (l *line) sectionFor(is cue) section {
	switch l.kind {
	case User:
		return sectionUser
	case Assistant:
		return sectionDecisions
	}
	if is&cueError != 0 || l.section == sectionErrors {
		return sectionErrors
	}
	return sectionFiles
}

// hasToken reports whether one of the tokens has this hash.
func hasToken(tokens []token, hash uint64) bool {
	for _, t := range tokens {
		if t.hash == hash {
			return true
		}
	}
	return false
}
