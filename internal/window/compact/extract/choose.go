package extract

import (
	"cmp"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// A choice is the set of lines for a summary.
type choice struct {
	taken    []int          // indices into the lines, oldest first
	text     map[int]string // text of the lines that were shortened, by index
	blocks   []block        // of the records
	also     []string       // identifiers by themselves, whose lines did not fit
	verbatim string
	count    int
}

const (
	// userShare of the room is kept for the user's words, and userMost of it if what an agent needs
	// besides leaves it, userSmall of a room that is not roomy; alsoShare is for identifiers
	// whose lines did not fit, in a room that is roomy. What one does not use goes to the rest.
	userShare = 0.40
	userMost  = 0.80
	userSmall = 0.50
	roomy     = 12_000 // bytes
	alsoShare = 0.04
	// What a coding agent needs has a part of its own too; the rest of it comes before all other
	// lines.
	planShare     = 0.15
	changedShare  = 0.25
	failuresShare = 0.20
	retiredShare  = 0.15
	// proseShare is for what the agent said, proseSmall in a room that is not roomy; endsShare of it for what it said at the end of tasks,
	// placeShare for each other place where it was said and stoodShare for where the work stands; what is left of the room goes to it
	// before any line of a tool's.
	proseShare = 0.38
	proseSmall = 0.60
	endsShare  = 0.20
	placeShare = 0.08
	stoodShare = 0.03
	// longestSpoken and longestTool bound a line in a summary, in bytes; the user's lines and decisions may have longSpoken.
	longestSpoken = 280
	longestTool   = 170
	// lineCost is the bytes of a line beside its text: a mark and the line end.
	lineCost = 3
	// floor keeps very short lines from winning by being short.
	floor = 36
)

// A chooser fills the room of a summary.
type chooser struct {
	choice
	all   []line
	order []int           // of the lines, by what they add for each byte
	held  map[uint64]bool // hashes of the tokens in the summary so far
	said  map[string]bool // texts of the lines in the summary so far
	done  []bool          // lines that were taken
	whole int             // the room, in bytes
	left  int             // bytes of the room that are left
	names int             // bytes of left that are kept for identifiers by themselves
}

// chooseLines chooses what goes into a summary of at most room bytes: records, and lines in the order of what they add for each byte.
// verbatim, unless "", replaces all but the user's words.
func chooseLines(all []line, known *records, room int, verbatim string) choice {
	c := chooser{choice: choice{text: map[int]string{}}, all: all, held: map[uint64]bool{}, said: map[string]bool{}, done: make([]bool, len(all))}
	c.order = make([]int, 0, len(all))
	for i := range all {
		if verbatim == "" || all[i].kind == User || all[i].section == sectionUser {
			c.order = append(c.order, i)
		}
	}
	density := func(i int) float64 {
		return all[i].score / float64(max(floor, min(len(all[i].text), longestSpoken))+lineCost)
	}
	sorting.By(c.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(density(b), density(a)), cmp.Compare(a, b))
	})
	if verbatim != "" {
		most := room - int(userShare*float64(room))/2
		c.verbatim = shortenText(verbatim, most)
		room -= len(c.verbatim) + lineCost
	}
	c.whole, c.left = room, room
	user := c.takeUsers(c.shareOf(userShare))
	if verbatim == "" {
		if c.whole >= roomy {
			c.names = c.shareOf(alsoShare)
		}
		c.takeAgents(known, user)
	}
	for _, user := range []bool{false, true} {
		for _, i := range c.order {
			if (all[i].section == sectionUser) == user && !all[i].heads {
				c.takeLine(i, c.left-c.names)
			}
		}
	}
	for i, yes := range c.done {
		if yes {
			c.taken = append(c.taken, i)
		}
	}
	if verbatim == "" {
		c.also = takeIdentifiers(all, c.order, c.held, c.left)
	}
	return c.choice
}

// shareOf returns a share of the room, in bytes.
func (c *chooser) shareOf(share float64) int { return int(share * float64(c.whole)) }

// takeLine adds line i, shortened, to the summary if it has a score, says something new, and fits into room and into what is left of the
// whole. It returns the bytes that it takes, or 0.
func (c *chooser) takeLine(i, room int) int {
	l := &c.all[i]
	if c.done[i] || l.score <= 0 || c.said[l.text] || l.addsNothing(c.held) {
		return 0
	}
	text := l.shortened()
	cost := len(text) + lineCost
	if cost > room || cost > c.left {
		return 0
	}
	c.done[i] = true
	c.said[l.text] = true
	if len(text) < len(l.text) {
		c.text[i] = text
	}
	for _, t := range l.tokens {
		if strings.Contains(text, l.text[t.from:t.to]) {
			c.held[t.hash] = true
		}
	}
	c.left -= cost
	c.count++
	return cost
}

// takeUsers takes the user's lines that fit into room bytes, and returns how many bytes of room are left.
func (c *chooser) takeUsers(room int) int {
	for _, i := range c.order {
		if c.all[i].section == sectionUser {
			room -= c.takeLine(i, min(room, c.left-c.names))
		}
	}
	return room
}

// takeAgents takes what a coding agent needs: of each kind up to its share, then the rest by importance. user is the number of bytes that
// the user's words left unused.
func (c *chooser) takeAgents(known *records, user int) {
	told := c.newsLines()
	p := packer{known: known, next: map[section][]block{}, held: c.held, said: c.said}
	pack := func(s section, room int) { c.left -= p.packSection(s, min(room, c.left-c.names)) }

	pack(sectionPlan, c.shareOf(planShare))
	pack(sectionChanged, c.shareOf(changedShare))
	pack(sectionFailures, c.shareOf(failuresShare))
	prose := c.shareOf(proseShare)
	if c.whole < roomy {
		prose = c.shareOf(proseSmall)
	}
	prose -= c.takeSentences(told, c.shareOf(stoodShare), sectionNext)
	prose -= c.takeSentences(told, c.shareOf(endsShare), sectionEnds)
	for _, s := range []section{sectionCauses, sectionDecisions} {
		prose -= c.takeSentences(told, c.shareOf(placeShare), s)
	}
	c.takeSentences(told, prose, sectionNone)
	most := userMost
	if c.whole < roomy {
		most = userSmall
	}
	c.takeUsers(user + c.shareOf(most-userShare))
	pack(sectionPlan, c.left)
	pack(sectionChanged, c.left)
	pack(sectionFailures, c.left)
	c.takeSentences(told, c.left, sectionNone)
	p.next[sectionFailures] = known.blocksOf(sectionFailures, true)
	pack(sectionFailures, c.shareOf(retiredShare))
	pack(sectionRetired, c.shareOf(retiredShare))
	c.blocks = p.taken
	for _, b := range p.taken {
		c.count += len(b.lines)
	}
}

// newsLines returns the indices of the agent's lines with enough news to come before identifiers, those with the most news first.
func (c *chooser) newsLines() (list []int) {
	for _, i := range c.order {
		if l := &c.all[i]; l.news > 0 && l.hasNews() && !l.heads {
			list = append(list, i)
		}
	}
	sorting.By(list, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.all[b].news, c.all[a].news), cmp.Compare(b, a))
	})
	return list
}

// takeSentences takes the lines of list that are in section s, or with sectionNone in any, while they fit into room bytes, and returns the
// bytes that they take. With an item of a list it takes the list's heading.
func (c *chooser) takeSentences(list []int, room int, s section) (cost int) {
	for _, i := range list {
		if s != sectionNone && c.all[i].section != s {
			continue
		}
		used := c.takeLine(i, min(room-cost, c.left-c.names))
		if head := i - int(c.all[i].head); used > 0 && head < i {
			used += c.takeLine(head, min(room-cost-used, c.left-c.names))
		}
		cost += used
	}
	return cost
}

// A packer adds blocks of records while there is room for them.
type packer struct {
	known *records
	next  map[section][]block // blocks that are left of each section
	held  map[uint64]bool
	said  map[string]bool
	taken []block
}

// packSection adds blocks of a section, or parts of them, while they fit into room bytes, and returns the bytes they take.
func (p *packer) packSection(s section, room int) (cost int) {
	blocks, ok := p.next[s]
	if !ok {
		blocks = p.known.blocksOf(s, false)
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
			p.markHeld(l)
			if _, item, ok := strings.Cut(l, "] "); ok && s == sectionPlan {
				p.said[item] = true
			}
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

// markHeld marks the tokens of a text as being in the summary, so that no other line is chosen for them.
func (p *packer) markHeld(text string) {
	l := line{text: text}
	var buf [maxTokens]token
	l.scanTokens(buf[:0])
	for _, t := range l.tokens {
		p.held[t.hash] = true
	}
}

// addsNothing reports whether a line has neither news nor a token that is not in the summary yet.
func (l *line) addsNothing(held map[uint64]bool) bool {
	if l.news > 0 {
		return false // that names are known says nothing of what was said of them
	}
	if l.section == sectionUser || len(l.tokens) == 0 {
		return l.kind == Result || l.kind == Call
	}
	for _, t := range l.tokens {
		if !held[t.hash] {
			return false
		}
	}
	return true
}

// takeIdentifiers returns, sorted, identifiers and paths that are not in the summary yet, those of the best lines first, while they fit
// into room bytes. It marks them in held.
func takeIdentifiers(all []line, order []int, held map[uint64]bool, room int) (also []string) {
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

// shortened returns the line as it goes into a summary: all of it, or the part around its tokens.
func (l *line) shortened() string {
	most := longestTool
	switch {
	case l.kind == User, l.kind == Prior, l.news > 0:
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
	return shortenText(l.text[limit.Boundary(l.text, from):], most)
}

// ellipsis is put at the end of a text that was cut.
const ellipsis = " ..."

// shortenText returns text, cut with an ellipsis if it is longer than n bytes; "" if n is too small for an ellipsis.
func shortenText(text string, n int) string {
	if n < len(ellipsis) {
		return ""
	}
	return limit.Short(text, n)
}
