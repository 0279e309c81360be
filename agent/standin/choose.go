package standin

import (
	"regexp"
	"slices"
	"strings"
)

// commonNames are names of tools that are words of every question: they call the tool only
// where they stand first, or behind "call" and the like.
var commonNames = []string{"count", "list", "search", "find", "get", "show", "fail", "query", "read", "page", "version", "status", "echo", "health"}

// planClause plans a clause.
func (p *planner) planClause(c *clause, t *turn) plan {
	if one, at := p.mentioned(c); one != nil {
		var calls []call
		for _, a := range one.order(c, at) {
			calls = append(calls, call{name: one.name, arguments: a.json()})
		}
		return plan{calls: calls}
	}
	if c.page != "" && len(c.stems) == 0 && len(c.wordsOf(ident)) == 0 && len(c.wordsOf(filter)) == 0 {
		return p.page(c, t)
	}
	names, loose := c.wordsOf(ident), c.wordsOf(other)
	finder := p.finder(c)
	if c.verb == verbSearch && finder != nil && len(names)+len(loose) > 0 {
		return plan{calls: []call{finder.search(c, "")}}
	}
	if bare := c.verb == "" && len(c.stems) == 0 && len(c.wordsOf(filter)) == 0; bare && finder != nil && len(names) == 1 && len(c.words) == 1 {
		return plan{calls: []call{finder.search(c, "")}}
	}
	one, a := p.bestTool(c)
	if finder != nil && len(loose) > 0 && (!c.all || c.narrowed()) && (one == nil || finder.covers(c.stems)) && (one == nil || one.lister) {
		return plan{calls: []call{finder.search(c, "")}, count: c.verb == verbCount}
	}
	if one == nil {
		if finder != nil && len(names) > 0 {
			return plan{calls: []call{finder.search(c, "")}}
		}
		return plan{}
	}
	if size := one.prop("page_size"); c.verb == verbCount && one.lister && size != nil {
		a[size.name] = 1 // the totals are on every page
	}
	return plan{calls: []call{{name: one.name, arguments: a.json()}}, count: c.verb == verbCount}
}

// narrowed reports whether a word to look for stands before what a clause is about: "all
// prod applications". Elsewhere it may be anything.
func (c *clause) narrowed() bool {
	for i := 1; i < len(c.words); i++ {
		if c.words[i].class == subject && c.words[i-1].class == other {
			return true
		}
	}
	return false
}

// mentioned finds a tool that is called by its name.
func (p *planner) mentioned(c *clause) (one *tool, at int) {
	for i, w := range c.words {
		if w.quoted {
			continue
		}
		for k := range p.tools {
			t := &p.tools[k]
			if t.pager || !t.isCalled(w.lower) {
				continue
			}
			if slices.Contains(commonNames, w.lower) && !p.ordered(c, i, t) {
				continue
			}
			return t, i
		}
	}
	return nil, 0
}

// isCalled reports whether a word is the name of a tool, with or without its server's.
func (t *tool) isCalled(word string) bool {
	word = strings.ReplaceAll(word, "-", "_")
	for name := strings.ReplaceAll(strings.ToLower(t.name), "-", "_"); ; {
		if name == word {
			return true
		}
		_, rest, more := strings.Cut(name, "__")
		if !more || slices.Contains(generic, rest) {
			return false
		}
		name = rest
	}
}

// ordered reports whether an ordinary word is meant as the name of a tool.
func (p *planner) ordered(c *clause, at int, t *tool) bool {
	for _, s := range c.stems {
		if !slices.Contains(t.stems, s) {
			return false // "count the applications"
		}
	}
	if at > 0 && slices.Contains([]string{"call", "use", "run", "try", "tool", "make", "the"}, c.words[at-1].lower) {
		return true
	}
	for _, w := range c.words[:at] {
		if w.class != little {
			return false
		}
	}
	return true
}

// finder returns the tool to look for something with: one that knows the subject, or any.
func (p *planner) finder(c *clause) *tool {
	var any *tool
	for i := range p.tools {
		t := &p.tools[i]
		if !t.finder {
			continue
		}
		if t.covers(c.stems) {
			return t
		}
		if any == nil && len(c.stems) == 0 {
			any = t
		}
	}
	return any
}

// covers reports whether a finder looks at what a clause is about.
func (t *tool) covers(stems []string) bool {
	for _, s := range stems {
		if !slices.Contains(t.title, s) && !slices.Contains(t.stems, s) && s != "tree" && s != "detail" {
			return false
		}
	}
	return true
}

// search returns the call of a finder for what a clause names.
func (t *tool) search(c *clause, name string) call {
	a, used := arguments{}, map[int]bool{}
	query := t.query()
	for i := range t.props {
		if &t.props[i] != query && t.props[i].kind != "boolean" {
			t.props[i].fill(t, c, a, used)
		}
	}
	var words []string
	for _, is := range []class{ident, other} {
		for i, w := range c.words {
			if w.class == is && !used[i] {
				words = append(words, w.text)
			}
		}
		if len(words) > 0 {
			break
		}
	}
	if len(words) == 0 {
		words = c.wordsOf(filter)
	}
	about := strings.ToLower(query.about + " " + t.about)
	pattern := strings.Contains(about, "regular expression") || strings.Contains(about, "regex") || strings.Contains(about, "re2")
	switch {
	case name != "" && pattern:
		name = regexp.QuoteMeta(name)
	case name != "":
	case pattern:
		name = strings.Join(words, ".*")
		if _, err := regexp.Compile(name); err != nil {
			name = regexp.QuoteMeta(name)
		}
	default:
		name = strings.Join(words, " ")
	}
	a[query.name] = clip(name, 500)
	t.kinds(c, a, used)
	return call{name: t.name, arguments: a.json()}
}

// kinds narrows a search to the kinds that a clause is about.
func (t *tool) kinds(c *clause, a arguments, used map[int]bool) {
	var stems []string
	for i, w := range c.words {
		if !used[i] && w.class == subject {
			stems = append(stems, w.stem)
		}
	}
	for _, p := range t.props {
		if p.kind != "array" || !strings.Contains(p.bareName(), "type") && !strings.Contains(p.bareName(), "kind") {
			continue
		}
		var kinds []string
		for word := range strings.FieldsFuncSeq(p.about, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) {
			if slices.Contains(stems, stem(strings.ToLower(word))) && !slices.Contains(kinds, word) {
				kinds = append(kinds, word)
			}
		}
		if len(kinds) > 0 {
			a[p.name] = kinds
		}
	}
}

// bestTool returns the tool that a clause is about most, and its arguments. Points are whole where a
// word of its name is said, and less where one is not.
func (p *planner) bestTool(c *clause) (*tool, arguments) {
	stems := c.stems
	names := c.wordsOf(ident)
	if len(names) > 0 && (len(stems) == 0 || c.verb == verbDetail) && !slices.Contains(stems, "detail") {
		stems = append(slices.Clone(stems), "detail")
	}
	var found *tool
	var with arguments
	most := 0.0
	for i := range p.tools {
		t := &p.tools[i]
		if t.pager || t.finder || strings.Contains(t.name, "result_") {
			continue
		}
		points := t.points(c, stems)
		if points <= 0 {
			continue
		}
		a, used, ok := t.fill(c)
		if !ok {
			continue
		}
		left := 0
		for k, w := range c.words {
			if w.class == ident && !used[k] {
				left++
			}
		}
		points -= 2 * float64(left)
		switch {
		case len(names) > left && !t.lister:
			points += 2
		case len(names) > left && left == 0 && c.verb != verbList && c.verb != verbCount && !c.all:
			points += 3 // all that is named narrows the list
		}
		if points > most {
			found, with, most = t, a, points
		}
	}
	return found, with
}

// points rates how much the name of a tool has in common with the subject of a clause.
func (t *tool) points(c *clause, stems []string) float64 {
	points := 0.0
	missing := 0
	for _, s := range t.stems {
		if slices.Contains(stems, s) {
			points += 4
		} else {
			missing++
		}
	}
	if points == 0 {
		return 0
	}
	points -= 0.5 * float64(missing)
	for _, s := range stems {
		if slices.Contains(t.title, s) {
			points += 0.2
		}
	}
	if slices.Contains(t.stems, "detail") {
		points += 0.3
	}
	if t.lister && (c.verb == verbList || c.verb == verbCount || c.all || c.verb == "" && len(c.wordsOf(ident)) == 0) {
		points += 3
	}
	return points
}
