package repair

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// join finds second results that say something else than the first, and appends their words to the first: a client may have noted "running"
// first and the outcome later, and a provider takes one result. Both must be words alone: a result with media is not joined, nor is
// anything appended to a list of blocks or an object. Where several calls have one id, nobody knows whose second result it is, and none is
// joined.
func (p *pairing) join() {
	said := map[int]map[string]bool{} // by result: the texts that are in it
	for s := range p.results {
		double := &p.results[s]
		if double.second == none || p.count[p.calls[double.second].id] != 1 {
			continue
		}
		first := p.calls[double.second].result
		if first == none || !p.isString(&p.results[first]) {
			continue
		}
		if said[first] == nil {
			words, _ := p.words(&p.results[first])
			said[first] = map[string]bool{words: true}
			if p.joined == nil {
				p.joined = map[int]string{}
			}
		}
		words, ok := p.words(double)
		if !ok || said[first][words] || strings.TrimSpace(words) == "" {
			continue
		}
		said[first][words] = true
		text, begun := p.joined[first]
		if !begun {
			text, _ = p.words(&p.results[first])
		}
		p.joined[first] = text + "\n" + words
		double.added = true
	}
}

// isString reports whether a result is a single string or, in a dialect without strings, a single block of text.
func (p *pairing) isString(s *result) bool {
	part := p.resultPart(s)
	switch {
	case part.Content.IsZero() || len(part.Texts) != 1:
		return false
	case p.rules.StringContent:
		return p.r.Body[part.Content.Start] == '"'
	case p.rules.ObjectResults:
		return false
	}
	blocks, content := 0, p.r.Raw(part.Content)
	for at, err := range rawjson.Elements(content, 0) {
		if blocks++; err != nil || blocks > 1 || rawjson.Get(at.Of(content), "text").IsZero() {
			return false
		}
	}
	return blocks == 1
}

// words returns the texts of a result; false when it holds media or other JSON too.
func (p *pairing) words(s *result) (string, bool) {
	part := p.resultPart(s)
	if len(part.Media) > 0 || !part.Raw.IsZero() {
		return "", false
	}
	return p.r.Words(part), true
}
