package recall

import (
	"slices"
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/limit"
)

// statement is a record, read for what it is about.
type statement struct {
	mentions []mention
	first    map[byte][]int // mentions by their first byte
	initials map[string]int // initials of words that follow each other, to the first of them
	head     int            // units of the names before its sentence, if nothing stands between them
	past     bool           // it says what was, and is no longer
	named    [][]string     // the names that stand before it, or between its commas, see [unit.key]
}

// mention is a word in a statement.
type mention struct {
	unit
	name  bool    // it is written as a name
	title bool    // it is, by itself, what the statement is named
	place int     // among the words that say something
	about float64 // how much the statement is about it, 1 for its subject
}

// maxStatement bounds the bytes of a record that are looked at: it says at its beginning what it is about.
const maxStatement = 4 << 10

// maxMentions bounds the words of a record that are looked at.
const maxMentions = 400

// weights of a mention by its place: a statement names its subject early, and in its first sentence.
const (
	earlyWords    = 4
	laterWord     = 0.9
	farWord       = 0.8
	laterSentence = 0.9
	behindLink    = 0.82 // an object: runs ON it, depends ON it
	headWord      = 0.85 // one of the names before the sentence
	ofAName       = 0.9  // a part of one that is put together: quill-backups-zrh
	joinedBefore  = 0.5  // it only tells what kind another one is: MongoDB-backed
	againAndAgain = 0.03
)

// readStatement reads the beginning of a record's text: its words with how much each is what the record is about, which of them are names,
// and the initials of runs of words.
func readStatement(text string) *statement {
	text = limit.Clip(text, maxStatement)
	s := &statement{first: map[byte][]int{}, initials: map[string]int{}, past: saysPast(text)}
	var letters []byte // first letters of the words of the sentence
	var from []int     // the mention of each
	place, sentence, linked, began := 0, -1, 0, 0
	all := parseUnits(text)
	german := isGerman(all)
	titled := s.findTitles(text, all)
	for n, u := range all {
		if len(s.mentions) >= maxMentions {
			break
		}
		if u.Breaks {
			sentence++
			linked, began = 0, place
			letters, from = letters[:0], from[:0]
		}
		if isLinkWord(u.Word) {
			linked = 3
		} else if linked > 0 {
			linked--
		}
		m := mention{unit: u, place: place, about: 1}
		if !u.Dense {
			own := u.initials
			if own == "" {
				own = u.Word[:1]
			}
			for i := range len(own) {
				letters, from = append(letters, own[i]), append(from, len(s.mentions))
			}
			for n := 2; n <= 4 && n <= len(letters); n++ {
				if _, ok := s.initials[string(letters[len(letters)-n:])]; !ok && (n > 2 || len(own) > 1) {
					s.initials[string(letters[len(letters)-n:])] = from[len(from)-n]
				}
			}
		}
		if m.rank == function {
			s.mentions = append(s.mentions, m)
			continue
		}
		m.name = !u.Dense && (u.isName(german) || titled[n] && u.rank == rare)
		switch {
		case u.Dense: // two letters are no word
		case place >= 3*earlyWords:
			m.about = farWord
		case place >= earlyWords:
			m.about = laterWord
		}
		if sentence > 0 {
			m.about *= laterSentence
		}
		if linked > 0 && place > began {
			m.about *= behindLink
		}
		switch {
		case titled[n]:
			m.about, m.title = 1, true
		case n < s.head && place >= earlyWords:
			m.about = headWord
		case isAttribute(u.Token):
			m.about *= joinedBefore
		case sentence >= 0 && place > 0 && u.Parts > 1 && strings.ContainsAny(u.Run, "-_."):
			m.about *= ofAName
		}
		if m.name {
			for _, n := range s.first[u.Word[0]] {
				s.mentions[n].name = s.mentions[n].name || s.mentions[n].Term == u.Term
			}
		} else {
			m.name = slices.ContainsFunc(s.first[u.Word[0]], func(n int) bool { return s.mentions[n].name && s.mentions[n].Term == u.Term })
		}
		s.first[u.Word[0]] = append(s.first[u.Word[0]], len(s.mentions))
		s.mentions = append(s.mentions, m)
		place++
	}
	return s
}

// withoutGe returns a German participle without the ge in its middle, so that ausgerollt is a form of ausrollen; any other word as it is.
func withoutGe(word string) string {
	i := strings.Index(word, "ge")
	if i < 2 || i > 5 || len(word) < i+6 {
		return word
	}
	switch word[:i] {
	case "aus", "ein", "ab", "an", "auf", "um", "vor", "zu", "durch", "her", "hin", "weg", "mit", "nach":
		return word[:i] + word[i+2:]
	}
	return word
}

// isLinkWord reports whether a word joins the subject of a sentence with something else.
func isLinkWord(word string) bool {
	switch word {
	case "on", "with", "by", "via", "using", "through", "for", "over", "from", "in", "to", "mit", "über", "auf", "für", "bei", "von", "con", "en", "por", "sobre", "para":
		return true
	}
	return false
}

// isAttribute reports whether a part of a compound only describes the next part, as in MongoDB-backed or Redis-like.
func isAttribute(t index.Token) bool {
	i := strings.LastIndexByte(t.Run, '-')
	if i < 0 || t.Part >= t.Parts-1 {
		return false
	}
	last := strings.ToLower(t.Run[i+1:])
	return strings.HasSuffix(last, "ed") || strings.HasSuffix(last, "like") || strings.HasSuffix(last, "basiert") || strings.HasSuffix(last, "artig")
}

// findTitles notes the names that a statement has for its subject: pieces of up to three words that stand apart from the sentence. It
// returns the units that are a name by themselves.
func (s *statement) findTitles(text string, all []unit) map[int]bool {
	titled := map[int]bool{}
	var piece []string
	first, firstNamed := 0, false // a list of names begins the text
	telling := false              // the piece has a word with a meaning of its own
	flush := func(next int) {
		if n := len(piece); 0 < n && n <= 3 && telling {
			s.named = append(s.named, piece)
			titled[first] = n == 1
		}
		firstNamed = firstNamed || first == 0 && len(s.named) > 0
		piece, first, telling = nil, next, false
	}
	pieces, last := 0, 0
	for i, u := range all {
		if u.At > last && strings.ContainsAny(text[last:u.At], "\n,;()|:") {
			flush(i)
			pieces++
		}
		last = u.End
		piece, telling = append(piece, u.key()), telling || u.rank != function
	}
	if flush(len(all)); pieces == 0 || len(titled) == 0 || !firstNamed {
		s.named, titled = nil, map[int]bool{}
		for i, end := 0, countHeadNames(all); i < end; i++ {
			s.head++
			if i+1 < end && all[i].rank != function && all[i+1].rank != function {
				s.named = append(s.named, []string{all[i].key(), all[i+1].key()})
			}
		}
	}
	return titled
}

// countHeadNames returns the number of words before the sentence of a text that begins with names and no punctuation, as in: kubernetes k8s
// kube Runs on EKS. It is 0 unless the text begins with a small letter and a sentence with a capital one follows.
func countHeadNames(all []unit) (words int) {
	if len(all) == 0 || all[0].Dense || all[0].rank == function || !unicode.IsLower([]rune(all[0].shown)[0]) {
		return 0
	}
	for i := range all {
		switch {
		case all[i].rank == function && all[i].Part == 0:
			if len(all)-i < 2 {
				return 0
			}
			return words
		case i > 0 && all[i].Part == 0 && unicode.IsUpper([]rune(all[i].shown)[0]):
			words = i
		}
	}
	return 0
}

// saysPast reports whether a text, or the sentence below its names, begins by saying what was, or says of itself that something else took its place: that
// is over, and given alone it would mislead.
func saysPast(text string) bool {
	lower := strings.ToLower(text)
	for line := range strings.Lines(lower) {
		line = strings.TrimLeftFunc(line, func(r rune) bool { return !unicode.IsLetter(r) })
		if slices.ContainsFunc(pastOpeners, func(o string) bool { return strings.HasPrefix(line, o) }) {
			return true
		}
	}
	for _, mark := range replacedMarks {
		before, _, ok := strings.Cut(lower, mark)
		opening := strings.TrimSpace(before[strings.LastIndexAny(before, ".;!\n")+1:])
		if ok && (opening == "" || slices.Contains(sinceThen, opening)) {
			return true
		}
	}
	return strings.Contains(text, " Previously ") || strings.Contains(text, " Was ") || strings.Contains(text, " Formerly ")
}

// replacedMarks begin, alone or behind one of sinceThen, a sentence without a subject of its own: Later replaced by Biome.
var (
	replacedMarks = []string{
		"replaced by ", "superseded by ", "ersetzt durch ", "abgelöst durch ", "reemplazado por ", "reemplazada por ", "sustituido por ", "sustituida por ",
	}
	sinceThen = []string{"later", "since", "since then", "then", "now", "meanwhile", "später", "seither", "inzwischen", "dann", "luego", "después"}
)

var pastOpeners = []string{"previously ", "formerly ", "used to ", "was ", "were ", "earlier we ", "früher ", "war ", "vorher ", "ehemals ", "antes ", "anteriormente ", "era ", "以前", "之前", "曾经", "过去"}

// match is a word of the prompt that a statement has.
type match struct {
	prompt, mention int
	weight          float64 // how surely it is the same, and how much the statement is about it
}

// matchWords returns for each word of a prompt the best match in the statement: the word itself, another inflected form, its initials, or a
// near spelling.
func (s *statement) matchWords(words []word) (out []match) {
	for i := range words {
		w := &words[i]
		best := match{prompt: i, mention: -1}
		times := 0
		for _, n := range s.first[w.Word[0]] {
			m := &s.mentions[n]
			same := 0.0
			switch {
			case w.Term == m.Term && !(m.name && len(w.Word) > len(m.Word)+2): // a reaction is not about React
				same = 1
				times++
			case w.Dense:
			case w.initials != "" && w.initials == m.Word, m.initials != "" && m.initials == w.Word:
				same = 0.9
			case index.Inflected(withoutGe(w.Word), withoutGe(m.Word)):
				same = 0.9
			case w.rank == rare && (m.rank == rare || m.name && !(len(w.Word) > len(m.Word)+2 && strings.HasPrefix(w.Word, m.Word))):
				same = index.Similarity(w.Word, m.Word)
			}
			if weight := same * m.about; weight > best.weight {
				best.mention, best.weight = n, weight
			}
		}
		if best.mention >= 0 {
			best.weight *= 1 + againAndAgain*float64(min(max(times-1, 0), 3))
		} else if n, ok := s.initials[w.Word]; ok && len(w.Word) <= 4 && w.rank == rare && s.mentions[n].rank != function {
			best.mention, best.weight = n, max(s.mentions[n].about, 0.5)
		}
		if best.mention >= 0 {
			out = append(out, best)
		}
	}
	return out
}
