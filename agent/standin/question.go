package standin

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of what is read of a question.
const (
	maxQuestion = 16 << 10 // bytes
	maxClauses  = 16
)

// word is one of a question.
type word struct {
	text   string // without the punctuation around it
	lower  string
	stem   string
	quoted bool
	class  class
}

// class is the role of a word in a question.
type class byte

const (
	other   class = iota // a word to look for
	little               // says nothing
	verb                 // what is to be done
	subject              // what some tool is about
	number
	filter // a value that some argument takes
	ident  // the name of something
)

// verbs by what they ask for.
const (
	verbList   = "list"
	verbSearch = "search"
	verbCount  = "count"
	verbDetail = "detail"
)

var verbs = map[string]string{
	"list": verbList, "show": verbList, "display": verbList, "enumerate": verbList, "which": verbList, "give": verbList, "print": verbList,
	"search": verbSearch, "find": verbSearch, "look": verbSearch, "locate": verbSearch, "matching": verbSearch, "match": verbSearch,
	"containing": verbSearch, "contain": verbSearch, "contains": verbSearch, "grep": verbSearch,
	"count": verbCount, "many": verbCount, "number": verbCount, "total": verbCount,
	"detail": verbDetail, "details": verbDetail, "describe": verbDetail, "about": verbDetail, "inspect": verbDetail, "info": verbDetail,
	"information": verbDetail, "explain": verbDetail, "why": verbDetail, "wrong": verbDetail, "status": verbDetail, "state": verbDetail,
}

var fillerWords = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(`a an the of in on for to at by from with without me my us our your i it its this that these those there here them
		is are was were be been am do does did has have had can could would will should may might must not no any some please kindly now currently
		so far just only what who where when how up out into over under or but if than as tell want need needs see get got make made call calls called
		named name using use uses used run running runs try tool tools page pages items item rows argo argocd cd answer question hello hi hey thanks thank you
		we they he she against per via about within under everything anything something again one ones first next last previous more time times let lets's
		s t re result results output all every each whole complete entire loop`) {
		all[w] = true
	}
	return all
})

var (
	outOfSync = lazy.Regexp(`(?i)\bout[ -]of[ -]sync\b`)
	numeric   = lazy.Regexp(`(?i)^\d+(\.\d+)?([kmg]i?b?|b|bytes|s|sec|seconds)?$`)
	pageOf    = lazy.Regexp(`(?i)\bpage (\d{1,9})\b|\b(next|previous|prev|last|first) page\b|^\W*(more|next|go on|continue|show more|the next \d+|next \d+)\W*$`)
	quotes    = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '‘': '’', '«': '»'}
	joins     = []string{"and", "then", "also", "plus", "&"}
)

// clause is a part of a question that asks for one thing.
type clause struct {
	words []word
	json  string // an object that stands in it: arguments as they are
	verb  string
	all   bool
	page  string // a number, or first, next, previous, last
	stems []string
	// plain is set when there is nothing in it that could stand alone.
	plain bool
}

// text returns the clause as it was, but for spaces.
func (c *clause) text() string {
	var all []string
	for _, w := range c.words {
		all = append(all, w.text)
	}
	return strings.Join(all, " ")
}

// wordsOf returns the words of a class.
func (c *clause) wordsOf(is class) []string {
	var all []string
	for _, w := range c.words {
		if w.class == is {
			all = append(all, w.text)
		}
	}
	return all
}

// read takes a question apart, as far as these tools are concerned.
func read(question string, tools []tool) []clause {
	question = limit.Clip(question, maxQuestion)
	var clauses []clause
	for _, c := range split(outOfSync().ReplaceAllString(question, "OutOfSync")) {
		c.classify(tools)
		if n := len(clauses); n > 0 {
			before := &clauses[n-1]
			if c.plain && c.json == "" { // "degraded and out of sync": one thing
				before.words = append(before.words, c.words...)
				before.classify(tools)
				continue
			}
			if c.verb == "" && before.verb != verbDetail {
				c.verb = before.verb
			}
			c.all = c.all || before.all && c.verb == verbList
		}
		if clauses = append(clauses, c); len(clauses) == maxClauses {
			break
		}
	}
	return clauses
}

// split cuts a question into words, and these at "and", commas and ends of sentences.
func split(text string) []clause {
	var all []clause
	var now clause
	end := func() {
		if len(now.words) > 0 || now.json != "" {
			all = append(all, now)
		}
		now = clause{}
	}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] == '{' {
			if v, rest, whole := readValue(text); whole && v.kind == '{' && json.Valid([]byte(text[:len(text)-len(rest)])) {
				now.json, text = text[:len(text)-len(rest)], rest
				continue
			}
		}
		if quoted, rest, ok := unquote(text); ok {
			now.words = append(now.words, word{text: quoted, lower: strings.ToLower(quoted), quoted: true})
			text = rest
			continue
		}
		n := strings.IndexFunc(text, unicode.IsSpace)
		if n < 0 {
			n = len(text)
		}
		raw := text[:n]
		text = text[n:]
		bare := strings.TrimFunc(raw, func(r rune) bool { return strings.ContainsRune(".,;:!?()[]<>\"'“”", r) })
		lower := strings.ToLower(bare)
		if slices.Contains(joins, lower) {
			end()
			continue
		}
		if bare != "" {
			now.words = append(now.words, word{text: bare, lower: lower, stem: stem(lower)})
		}
		if strings.ContainsAny(raw[len(raw)-1:], ",;.?!") {
			end()
		}
	}
	end()
	return all
}

func unquote(text string) (inside, rest string, ok bool) {
	open, size := utf8.DecodeRuneInString(text)
	closes, is := quotes[open]
	if !is {
		return "", "", false
	}
	inside, rest, ok = strings.Cut(text[size:], string(closes))
	if !ok || strings.TrimSpace(inside) == "" || len(inside) > 2<<10 {
		return "", "", false
	}
	return inside, rest, true
}

// classify sets the class of each word.
func (c *clause) classify(tools []tool) {
	c.verb, c.all, c.page, c.stems, c.plain = "", false, "", nil, true
	about, values := subjects(tools)
	stems := make([]string, len(c.words))
	for i, w := range c.words {
		stems[i] = w.stem
	}
	for i := range c.words {
		w := &c.words[i]
		if i > 0 && w.stem == "set" && (c.words[i-1].stem == "application" || c.words[i-1].lower == "app") {
			w.class = little
			c.words[i-1].stem = "applicationset"
			if n := len(c.stems); n > 0 {
				c.stems[n-1] = "applicationset"
			}
			continue
		}
		kind, isVerb := verbs[w.lower]
		switch {
		case w.quoted:
			w.class = ident
		case numeric().MatchString(w.text):
			w.class = number
		case values[normalized(w.text)]:
			w.class = filter
		case isVerb:
			w.class = verb
			if c.verb == "" || kind == verbCount || kind == verbSearch || c.verb == verbList && kind == verbDetail {
				c.verb = kind
			}
			if about[w.stem] {
				c.stems = append(c.stems, w.stem)
			}
		case about[w.stem]:
			w.class = subject
			c.stems = append(c.stems, w.stem)
			if w.stem == "resource" {
				c.stems = append(c.stems, "tree")
			}
		case fillerWords()[w.lower]:
			w.class = little
		case identifier(w.text):
			w.class = ident
		default:
			w.class = other
		}
		c.all = c.all || w.lower == "all" || w.lower == "every" || w.lower == "each"
		if w.class != filter && w.class != little && w.class != number {
			c.plain = false
		}
	}
	c.classifyNames()
	if found := pageOf().FindStringSubmatch(c.text()); found != nil {
		c.plain = false
		switch word := strings.ToLower(found[2]); {
		case found[1] != "":
			c.page = found[1]
		case word == "prev":
			c.page = "previous"
		case word != "":
			c.page = word
		default:
			c.page = "next"
		}
	}
}

// classifyNames makes a name of what stands behind the word for one thing: "project default".
func (c *clause) classifyNames() {
	for i := 1; i < len(c.words); i++ {
		before, w := &c.words[i-1], &c.words[i]
		one := before.class == subject && before.lower == before.stem || before.lower == "called" || before.lower == "named"
		if one && w.class == other {
			w.class = ident
		}
	}
}

// subjects returns the words for the subjects of the tools, and the values that their arguments take.
func subjects(tools []tool) (about, values map[string]bool) {
	about, values = map[string]bool{}, map[string]bool{}
	for i := range tools {
		if tools[i].pager || strings.Contains(tools[i].name, "result_") {
			continue
		}
		for _, s := range tools[i].stems {
			about[s] = true
		}
		for _, p := range tools[i].props {
			for _, v := range p.values {
				if v != "none" {
					values[normalized(v)] = true
				}
			}
		}
	}
	return about, values
}

// normalized returns a value without case and punctuation.
func normalized(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// identifier reports whether a word looks like a name that a machine gave or takes.
func identifier(text string) bool {
	letters, marks := false, false
	for i, r := range text {
		switch {
		case unicode.IsLetter(r):
			letters = true
		case unicode.IsDigit(r):
			marks = true
		case strings.ContainsRune("-_./:@*^$|", r) && (i > 0 && i < len(text)-1 || r == '^' || r == '$' || r == '*'):
			marks = true
		}
	}
	return letters && marks
}
