package extract

import (
	"cmp"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// A choice is what of the lines goes into a summary.
type choice struct {
	taken    []int          // indices into the lines, oldest first
	text     map[int]string // of those that were shortened
	blocks   []block        // of what the conversation says by its structure
	also     []string       // identifiers by themselves, whose lines did not fit
	verbatim string
	count    int
}

const (
	// userShare of the room is kept for the user's words, and userMost of it if what an agent needs
	// besides leaves it; alsoShare is for identifiers whose lines did not fit. What one does
	// not use goes to the rest.
	userShare = 0.40
	userMost  = 0.50
	alsoShare = 0.08
	// What a coding agent needs has a part of its own too; the rest of it comes before all other
	// lines.
	planShare     = 0.15
	changedShare  = 0.20
	failuresShare = 0.20
	decisionShare = 0.25
	decisionMost  = 0.35
	retiredShare  = 0.15
	// spokenShare is for what else the agent said, where it was not said in the same way many times: its
	// words say what was found and meant, in whatever language.
	spokenShare = 0.15
	spokenAlike = 3
	// longest a line may be in a summary, in bytes; the user's and decisions are quoted whole.
	longestSpoken = 280
	longestTool   = 170
	// lineCost is what a line takes beside its text: a mark and the line end.
	lineCost = 3
	// floor keeps very short lines from winning by being short.
	floor = 36
)

// choose takes lines by what they add for each byte until room is used.
func choose(all []line, known *records, room int, verbatim string) choice {
	c := choice{text: map[int]string{}}
	order := make([]int, 0, len(all))
	for i := range all {
		if verbatim == "" || all[i].kind == User || all[i].section == sectionUser {
			order = append(order, i)
		}
	}
	density := func(i int) float64 {
		return all[i].score / float64(max(floor, min(len(all[i].text), longestSpoken))+lineCost)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(density(b), density(a)), cmp.Compare(a, b))
	})
	if verbatim != "" {
		most := room - int(userShare*float64(room))/2
		c.verbatim = shorten(verbatim, most)
		room -= len(c.verbatim) + lineCost
	}
	held := map[uint64]bool{}
	said := map[string]bool{}
	taken := make([]bool, len(all))
	left := room
	take := func(i, room int) int {
		l := &all[i]
		if taken[i] || l.score <= 0 || said[l.text] || l.addsNothing(held) {
			return 0
		}
		text := l.shortened()
		cost := len(text) + lineCost
		if cost > room || cost > left {
			return 0
		}
		taken[i] = true
		said[l.text] = true
		if len(text) < len(l.text) {
			c.text[i] = text
		}
		for _, t := range l.tokens {
			if strings.Contains(text, l.text[t.from:t.to]) {
				held[t.hash] = true
			}
		}
		left -= cost
		c.count++
		return cost
	}
	user := int(userShare * float64(room))
	for _, i := range order {
		if all[i].section == sectionUser {
			user -= take(i, user)
		}
	}
	also := 0
	if verbatim == "" {
		also = int(alsoShare * float64(room))
		decisions := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return all[i].decision < decisive || all[i].section == sectionUser })
		slices.SortStableFunc(decisions, func(a, b int) int { return cmp.Compare(all[b].decision, all[a].decision) })
		p := packer{known: known, next: map[section][]block{}, held: held}
		whole := room
		for _, rest := range []bool{false, true} {
			part := func(share float64) int {
				if rest {
					return left - also
				}
				return min(int(share*float64(whole)), left)
			}
			left -= p.pack(sectionPlan, part(planShare))
			left -= p.pack(sectionChanged, part(changedShare))
			left -= p.pack(sectionFailures, part(failuresShare))
			most := part(decisionShare)
			if rest {
				most = min(most, int((decisionMost-decisionShare)*float64(whole)))
			}
			for room := most; len(decisions) > 0; decisions = decisions[1:] {
				cost := take(decisions[0], room)
				if room -= cost; cost == 0 && room < longestSpoken {
					break
				}
			}
			if !rest { // the user's words are worth more than the rest of the others
				user += int((userMost - userShare) * float64(whole))
				for _, i := range order {
					if all[i].section == sectionUser {
						user -= take(i, min(user, left-also))
					}
				}
			}
		}
		spoken := int(spokenShare * float64(left))
		for _, i := range otherWords(all, order) {
			spoken -= take(i, min(spoken, left-also))
		}
		p.next[sectionFailures] = p.known.blocks(sectionFailures, true)
		left -= p.pack(sectionFailures, min(int(retiredShare*float64(whole)), left-also))
		left -= p.pack(sectionRetired, min(int(retiredShare*float64(whole)), left-also))
		c.blocks = p.taken
		for _, b := range p.taken {
			c.count += len(b.lines)
		}
	}
	for _, user := range []bool{false, true} {
		for _, i := range order {
			if (all[i].section == sectionUser) == user {
				take(i, left-also)
			}
		}
	}
	for i, yes := range taken {
		if yes {
			c.taken = append(c.taken, i)
		}
	}
	if verbatim == "" {
		c.also = remaining(all, order, held, left)
	}
	return c
}

// otherWords lists what the agent said but did not announce or repeat, what sounds most like a decision first.
func otherWords(all []line, order []int) (list []int) {
	for _, i := range order {
		if l := &all[i]; l.kind == Assistant && l.section != sectionUser && l.alike <= spokenAlike && l.words > 3 && !narrates(l.text) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(all[b].decision, all[a].decision) })
	return list
}

// A packer takes blocks while there is room for them.
type packer struct {
	known *records
	next  map[section][]block // what is left of each section
	held  map[uint64]bool
	taken []block
}

// pack takes blocks of a section, or as much of them as there is room for, and returns what they
// cost.
func (p *packer) pack(s section, room int) (cost int) {
	blocks, ok := p.next[s]
	if !ok {
		blocks = p.known.blocks(s, false)
	}
	for len(blocks) > 0 {
		b := &blocks[0]
		one := block{section: s, head: b.head}
		used := 0
		if one.head != "" {
			used = len(one.head) + 1
		}
		for len(b.lines) > 0 && cost+used+len(b.lines[0])+1 <= room {
			used += len(b.lines[0]) + 1
			one.lines = append(one.lines, b.lines[0])
			b.lines = b.lines[1:]
		}
		if len(one.lines) == 0 {
			break
		}
		cost += used
		for _, l := range one.lines {
			p.hold(l)
		}
		p.taken = append(p.taken, one)
		if len(b.lines) > 0 {
			break
		}
		blocks = blocks[1:]
	}
	p.next[s] = blocks
	return cost
}

// hold notes the words of a line, so that no other is taken for their sake.
func (p *packer) hold(text string) {
	l := line{text: text}
	var buf [maxTokens]token
	l.scan(buf[:0])
	for _, t := range l.tokens {
		p.held[t.hash] = true
	}
}

// addsNothing tells that everything a line could be needed for is there already.
func (l *line) addsNothing(held map[uint64]bool) bool {
	if l.decision >= decisive {
		return false // that names are known says nothing of what was decided
	}
	if l.section == sectionUser || l.section == sectionConstraints || l.section == sectionNext || len(l.tokens) == 0 {
		return l.kind == Result || l.kind == Call
	}
	for _, t := range l.tokens {
		if !held[t.hash] {
			return false
		}
	}
	return true
}

// remaining lists identifiers and paths by themselves, best lines first.
func remaining(all []line, order []int, held map[uint64]bool, room int) (also []string) {
	room -= len(alsoMark) + lineCost
	for _, i := range order {
		if room < 8 {
			break
		}
		l := &all[i]
		for _, t := range l.tokens {
			word := l.text[t.from:t.to]
			if t.weight < weightIdentifier || held[t.hash] || len(word) > 120 || len(word)+2 > room {
				continue
			}
			held[t.hash] = true
			also = append(also, word)
			room -= len(word) + 2
		}
	}
	slices.Sort(also)
	return also
}

// shortened is the line as it is quoted: the part of it that holds what is worth most.
func (l *line) shortened() string {
	most := longestTool
	switch {
	case l.kind == User, l.kind == Prior, l.decision >= decisive:
		most = longSpoken
	case l.kind == Assistant:
		most = longestSpoken
	}
	if len(l.text) <= most {
		return l.text
	}
	from := 0
	if l.kind == Result || l.kind == Call {
		// Around its tokens: the first one, with what names it before it.
		if len(l.tokens) > 0 {
			first, last := int(l.tokens[0].from), int(l.tokens[len(l.tokens)-1].to)
			if last > most {
				from = max(0, min(first-most/4, len(l.text)-most))
			}
		}
	}
	return shorten(l.text[limit.Boundary(l.text, from):], most)
}

// ellipsis ends what was shortened.
const ellipsis = " ..."

// shorten cuts text to at most n bytes, at a rune.
func shorten(text string, n int) string {
	if n < len(ellipsis) {
		return ""
	}
	return limit.Short(text, n)
}
