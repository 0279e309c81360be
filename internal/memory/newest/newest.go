package newest

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/memory/index"
)

// MaxText is the length in bytes of the longest text that is compared: what replaces something is said shortly.
const MaxText = 600

const (
	maxSentences = 3
	maxWords     = 40
	maxValue     = 5 // words that a value has at most
	maxGone      = 3
	maxShort     = 28 // words of a text that says one thing
)

// Text is a text that was read, to be compared with others.
type Text []sentence

// sentence is a sentence of a text.
type sentence struct {
	words  []word
	verb   int   // the first word that joins a subject with what is said of it; -1 for none
	change bool  // it says that something is no longer so, or so from now on
	gone   []int // the words that it says are no longer so
	adds   bool  // it says that something is so too
	asks   bool
}

type word struct {
	term  string // "" for a word without a meaning of its own
	text  string
	class class
	dense bool
	at    int // in the text, in bytes
}

// class is a sort of values of which one counts at a time.
type class uint8

const (
	other class = iota
	number
	weekday
	month
)

// Read reads a text. It is nil if the text is too long to replace something or to be replaced.
func Read(text string) Text {
	if len(text) > MaxText || strings.TrimSpace(text) == "" {
		return nil
	}
	var out Text
	var words index.Words
	from, last := 0, 0
	var s *sentence
	end := func(at int) {
		if s == nil {
			return
		}
		piece := strings.ToLower(text[from:at])
		s.change, s.adds = says(piece, changes()) >= 0, says(piece, additions()) >= 0
		s.readGone(piece, from)
		s.asks = strings.ContainsAny(text[from:min(len(text), at)], "?？")
		if len(s.words) > 0 {
			out = append(out, *s)
		}
	}
	words.Tokens(text, func(t index.Token) {
		if t.Whole {
			return
		}
		if s == nil || t.Breaks && strings.ContainsAny(text[last:t.At], ".!?\n。！？；;") {
			if end(t.At); len(out) == maxSentences {
				return
			}
			s, from = &sentence{verb: -1}, t.At
		}
		last = t.End
		if len(s.words) == maxWords {
			return
		}
		w := word{term: t.Term, text: t.Word, class: classOf(t.Word), dense: t.Dense, at: t.At}
		if t.Dense && strings.ContainsAny(t.Word, joining) || functions()[t.Word] {
			w.term = ""
		}
		if s.verb < 0 && len(s.words) > 0 && (verbs()[t.Word] || t.Dense && strings.ContainsAny(t.Word, denseVerbs)) {
			s.verb = len(s.words)
		}
		s.words = append(s.words, w)
	})
	if len(out) < maxSentences {
		end(len(text))
	}
	return out
}

// readGone finds the words that a sentence says are no longer so: those behind "instead of", "no longer", "statt", "不再".
func (s *sentence) readGone(piece string, from int) {
	at := says(piece, against())
	if at < 0 {
		return
	}
	end := len(piece)
	if n := strings.IndexAny(piece[at:], ",;，；"); n >= 0 {
		end = at + n
	}
	for i, w := range s.words {
		if from+at <= w.at && w.at < from+end && w.term != "" && !verbs()[w.text] && len(s.gone) < maxGone {
			s.gone = append(s.gone, i)
		}
	}
}

// says returns where the first of some phrases ends that a piece of text, in lower case, has as whole words; -1 if it has none.
func says(piece string, phrases []string) int {
	for _, p := range phrases {
		for at := 0; ; {
			i := strings.Index(piece[at:], p)
			if i < 0 {
				break
			}
			i += at
			before, _ := utf8.DecodeLastRuneInString(piece[:i])
			after, _ := utf8.DecodeRuneInString(piece[i+len(p):])
			first, _ := utf8.DecodeRuneInString(p)
			if unicode.Is(unicode.Han, first) || !unicode.IsLetter(before) && !unicode.IsLetter(after) {
				return i + len(p)
			}
			at = i + len(p)
		}
	}
	return -1
}

// Replaces reports whether a text takes the place of one that was said before.
func Replaces(newer, older string) bool { return Read(newer).Replaces(Read(older)) }

// Replaces reports whether a text takes the place of one that was said before.
func (n Text) Replaces(older Text) bool {
	if !n.isShort() || !older.isShort() {
		return false
	}
	for i := range n {
		if n[i].asks || n[i].adds {
			continue
		}
		for k := range older {
			if !older[k].asks && n[i].replaces(&older[k]) {
				return true
			}
		}
	}
	return false
}

// isShort reports whether a text says one thing: of a longer one, of chat above all, sentences are alike that are about nothing.
func (n Text) isShort() bool {
	words := 0
	for _, s := range n {
		words += len(s.words)
	}
	return len(n) <= 2 && words <= maxShort
}

// replaces reports whether a sentence takes the place of another one: by what it says is no longer so, or by being alike.
func (n *sentence) replaces(o *sentence) bool {
	if slices.ContainsFunc(n.gone, func(i int) bool { return o.has(&n.words[i]) && !o.saysGone(&n.words[i]) }) {
		return true
	}
	common := n.common(o)
	if common.fresh == 0 && common.gone == 0 {
		return false // it says the same
	}
	least, enough := min(common.newer, common.older), 1
	if o.words[0].dense { // two letters are no word
		enough = 2
	}
	switch {
	case common.telling == 0:
		return false
	case n.change:
		// It speaks of the same, or of the same with a value of the same sort.
		return common.telling >= 2 && 2*common.telling >= least && !n.otherSubject(o) || common.class && common.telling >= enough ||
			common.telling > 0 && n.sameFrame(o) && n.sameVerb(o)
	case common.fresh == 0 || common.gone == 0 || common.fresh > maxValue || common.gone > maxValue:
		return false
	}
	return n.sameFrame(o) && (2*common.telling >= least || common.class) && (common.telling >= 2 || common.class || n.sameVerb(o))
}

// saysGone reports whether a sentence says itself that a word is no longer so.
func (s *sentence) saysGone(w *word) bool {
	return slices.ContainsFunc(s.gone, func(i int) bool { return s.words[i].term == w.term })
}

// overlap counts the words that two sentences have in common.
type overlap struct {
	telling      int  // words with a meaning
	newer, older int  // of how many
	fresh, gone  int  // words that only the newer, only the older one has
	class        bool // they have different values of one sort
}

func (n *sentence) common(o *sentence) (c overlap) {
	var mine, theirs [month + 1]bool
	for i := range o.words {
		w := &o.words[i]
		if w.term == "" {
			continue
		}
		c.older++
		if !n.has(w) {
			c.gone++
			theirs[w.class] = true
		}
	}
	for i := range n.words {
		w := &n.words[i]
		if w.term == "" {
			continue
		}
		c.newer++
		switch {
		case o.has(w):
			c.telling++
		default:
			c.fresh++
			mine[w.class] = true
		}
	}
	for k := number; k <= month; k++ {
		c.class = c.class || mine[k] && theirs[k]
	}
	return c
}

func (s *sentence) has(w *word) bool {
	return slices.ContainsFunc(s.words, func(x word) bool {
		return x.term != "" && (x.term == w.term || w.class == other && !w.dense && index.Inflected(x.text, w.text))
	})
}

// sameFrame reports whether two sentences are the same up to what they say of their subject: what differs stands behind their verbs, or at one place.
func (n *sentence) sameFrame(o *sentence) bool {
	a, b := n.words, o.words
	head := 0
	for head < len(a) && head < len(b) && a[head].same(&b[head]) {
		head++
	}
	if n.verb > 0 && o.verb > 0 {
		return head > n.verb && head > o.verb && slices.ContainsFunc(a[:head], word.tells) || slices.ContainsFunc(a[:n.verb], word.tells) && n.sameSubject(o)
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail].same(&b[len(b)-1-tail]) {
		tail++
	}
	return head > 0 && len(a)-head-tail <= 2 && len(b)-head-tail <= 2 && slices.ContainsFunc(a[:head], word.tells)
}

// sameSubject reports whether two sentences have the same words before their verbs.
func (n *sentence) sameSubject(o *sentence) bool {
	within := func(s, t *sentence) bool {
		return !slices.ContainsFunc(s.words[:s.verb], func(w word) bool { return w.tells() && !t.has(&w) })
	}
	return within(n, &sentence{words: o.words[:o.verb]}) && within(o, &sentence{words: n.words[:n.verb]})
}

// otherSubject reports whether two sentences, both with a verb, speak of something else before it.
func (n *sentence) otherSubject(o *sentence) bool {
	if n.verb <= 0 || o.verb <= 0 {
		return false
	}
	less := func(s, t *sentence) bool { // a word of the subject that the other one has nowhere
		return slices.ContainsFunc(s.words[:s.verb], func(w word) bool { return w.tells() && w.class == other && !t.has(&w) })
	}
	return less(n, o) && less(o, n)
}

// sameVerb reports whether two sentences have one verb, and one that says more than that something is.
func (n *sentence) sameVerb(o *sentence) bool {
	if n.verb < 0 || o.verb < 0 || n.words[n.verb].text != o.words[o.verb].text {
		return false
	}
	switch n.words[n.verb].text {
	case "is", "are", "was", "has", "have", "ist", "sind", "hat", "haben", "wird", "werden", "es", "son", "está", "están", "tiene", "tienen":
		return false
	}
	return true
}

func (w word) tells() bool { return w.term != "" }

func (w *word) same(x *word) bool { return w.text == x.text || w.tells() && w.term == x.term }

// changes are phrases by which a sentence says that something is no longer so, or so from now on.
var changes = sync.OnceValue(func() []string {
	return phrases(`
instead of|instead|no longer|not any more|anymore|any more|from now on|as of|switched|switch to|moved to|moves to|moved from|changed to|changed from|is changed|has changed|replaced|replaces|renamed|rather than
now|gave up|stopped|starting|given up|dropped|migrated|is gone|correction|actually|scrap that|forget what i said|not true
statt|anstatt|anstelle|stattdessen|nicht mehr|keine mehr|kein mehr|ab jetzt|ab sofort|von nun an|nunmehr|neu|neuerdings|jetzt|umgestellt|gewechselt|ersetzt|abgelöst|umbenannt|umgezogen|verschoben|korrektur|nun|künftig|seit
en vez de|en lugar de|ya no|a partir de|de ahora en adelante|desde ahora|ahora|cambiamos|cambiado|cambia|cambió|pasamos a|hemos pasado|reemplaza|reemplazamos|sustituye|migramos|dejamos de|se mudó|corrección
改成|改为|改在|改用|改到|改叫|换成|换到|换为|不再|现在|以后|今后|起改|从现在|代替|取代|而不是|更正|搬到|迁移到|迁到|升到|升级到|降到|调整为|推迟到|提前到`)
})

// against are those of them behind which the sentence says what is no longer so.
var against = sync.OnceValue(func() []string {
	return phrases(`instead of|no longer|rather than|gave up|given up|stopped|dropped|moved from|changed from|switched from|replaced|replaces|not any more|statt|anstatt|anstelle von|nicht mehr|kein mehr|keine mehr
ya no|en vez de|en lugar de|dejamos de|reemplaza|sustituye|不再|而不是|代替|取代`)
})

// additions are phrases by which a sentence says that something is so too.
var additions = sync.OnceValue(func() []string {
	return phrases(`also|too|as well|additionally|another|besides|in addition|auch|zusätzlich|ausserdem|außerdem|daneben|también|además|asimismo|还有|也|另外|同时也`)
})

func phrases(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == '\n' })
}

// functions are words without a meaning of their own, beside the English ones that an index leaves out, and those by which a change is said.
var functions = sync.OnceValue(func() map[string]bool {
	return set(`now instead longer anymore rather switched moved changed replaced renamed actually correction starting
der die das den dem des ein eine einen einem einer und oder ist sind war wird werden im in am an auf aus bei beim mit nach von vom zu zum zur für über um bis ab statt anstatt nicht mehr jetzt neu nun künftig seit sofort ich wir uns unser
unsere unserer unseren mein meine meinen man noch nur so als es sich kein keine uhr
el la los las un una unos unas de del al y o en con por para se es son está están que lo su nuestro nuestra mi ya no vez lugar ahora partir desde a nos`)
})

// verbs are words that join a subject with what is said of it.
var verbs = sync.OnceValue(func() map[string]bool {
	return set(`is are was has have uses use used runs run lives live lies lie goes go called costs costs starts start begins begin ends end takes take needs keeps kept prefer prefers like likes must should will means equals owns own works stays hosts supports cut
ist sind hat haben heißt heißen läuft laufen steht stehen liegt liegen kostet kosten beginnt beginnen endet wird werden nutzen verwenden nehmen bekommt gehört wohne wohnt arbeitet dauert muss müssen soll sollen darf
es son está están tiene tienen usa usamos usan se llama cuesta empieza termina vive vivo trabaja debe deben hace hacemos lleva corre`)
})

// denseVerbs are the same, of Chinese, and joining are letters that stand in words without a meaning of their own.
const (
	denseVerbs = "是用在为叫住到设由放存"
	joining    = "的了是我你他她它们在有不就也和都吗呢吧啊这那个要去着过给把被用到成为改换再现从起以后"
)

func set(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

var (
	weekdays = sync.OnceValue(func() map[string]bool {
		return set(`monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays montag dienstag mittwoch donnerstag freitag samstag sonntag
		montags dienstags mittwochs donnerstags freitags samstags sonntags lunes martes miércoles jueves viernes sábado domingo sábados domingos 周一 周二 周三 周四 周五 周六 周日`)
	})
	months = sync.OnceValue(func() map[string]bool {
		return set(`january february march april may june july august september october november december januar februar märz mai juni juli oktober dezember enero febrero marzo abril mayo junio julio agosto septiembre
		octubre noviembre diciembre`)
	})
	numbers = sync.OnceValue(func() map[string]bool {
		return set(`one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty hundred thousand eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf fünfzehn zwanzig dreißig
		uno dos tres cuatro cinco seis siete ocho nueve diez once doce quince veinte treinta cien`)
	})
)

func classOf(w string) class {
	switch {
	case weekdays()[w]:
		return weekday
	case months()[w]:
		return month
	case numbers()[w], w != "" && unicode.IsDigit(rune(w[0])):
		return number
	case strings.ContainsAny(w, "一二三四五六七八九十百千万") && len(w) <= 6:
		return number
	}
	return other
}
