package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/limit"
)

// maxRead bounds the bytes of a prompt that are read at its beginning, and at its end: what is asked stands there. Of those maxProse are searched for, at
// each end of what is no code.
const (
	maxRead  = 3 << 10
	maxProse = memory.MaxQuery/2 - 1
)

// maxWords bounds the different words of a prompt that are compared with records.
const maxWords = 96

// Prompt is a prompt that was read. [Read] makes it.
type Prompt struct {
	// Why says why nothing is added, whatever is found; "" if something may be.
	Why string
	// Query is the text to search for.
	Query string
	// List is set if the prompt asks for a list.
	List bool

	asks     bool         // it is a question
	mine     bool         // about what belongs to the person
	said     bool         // about what was said
	here     bool         // it points at what lies before both
	world    bool         // about how something is in the world
	fact     bool         // it asks who, when or which
	why      bool         // it asks for a reason
	should   bool         // it asks which way to go
	tells    bool         // it tells to tell something
	own      bool         // about what is the person's
	ownIn    map[int]bool // the sentences that are so, of a prompt with several
	states   bool         // it tells something
	fragment bool         // it has nearly no words but those that say something, as what is typed into a search
	common   bool         // it has words that everybody says, and asks for nothing of the person\'s
	words    []word       // different ones
	keys     []string     // see [unit.key], of all words
}

// word is a word of a prompt that says something.
type word struct {
	unit
	name     bool // it is written as a name is
	sentence int
	clause   int
}

// Read reads a prompt. It tells by general signs what sort of prompt it is: how many of its words say something, how it begins, whether it points at
// what lies before both, and how much of it is code.
func Read(text string) Prompt {
	prose, code := extractProse(clipMiddle(text, maxRead))
	p := Prompt{Query: clipMiddle(strings.TrimSpace(prose), maxProse)}
	if p.Query == "" {
		p.Why = "the prompt is empty"
		if code > 0 {
			p.Why = "the prompt is code or a log"
		}
		return p
	}
	if isCommand(p.Query) {
		p.Why = "the prompt is a command"
		return p
	}
	all := parseUnits(p.Query)
	german := isGerman(all)
	order := p.readSigns(all)
	seen := map[string]bool{}
	functions, sentence, clause, last := 0, 0, 0, 0
	for _, u := range all {
		if u.Breaks {
			sentence++
		}
		if u.Breaks || u.At > last && strings.ContainsAny(p.Query[last:u.At], ",;:()，；：、") {
			clause++
		}
		last = u.End
		if u.rank == function {
			functions++
		}
		p.keys = append(p.keys, u.key())
		if w, ok := contentWord(p.Query, u, german); ok && !seen[w.Term] && len(p.words) < maxWords {
			seen[w.Term], w.sentence, w.clause = true, sentence, clause
			p.words = append(p.words, w)
		}
	}
	telling := 0
	for _, w := range p.words {
		if w.rank == rare || w.name && !w.isAcronym() {
			telling++
		}
	}
	own := p.asksAboutOwn(order)
	p.tells = order == asked
	if own && sentence > 1 {
		p.ownIn = map[int]bool{}
		for i, s := range splitSentences(p.Query, all) {
			if len(s.text) < len(p.Query) && s.asksAboutOwn() {
				p.ownIn[i+1] = true
			}
		}
		own = len(p.ownIn) > 0
	}
	p.own = own
	p.states = !p.asks && !p.mine && !p.said && len(p.words) >= 3 && functions > 1
	p.fragment = len(p.words) >= 2 && len(all)-len(p.words) <= 1 || len(p.words) == 1 && len(all) == 1
	p.common = telling == 0 && !own && !p.fragment && !(p.fact && p.asks)
	switch {
	case len(p.words) == 0:
		p.Why = "no word of the prompt says what it is about"
	case code > 2*len(prose) && !own:
		p.Why = "the prompt is code or a log"
	case order == ordered && !own:
		p.Why = "the prompt tells what to do"
	case p.here && p.why && !own, telling == 0 && !own && (p.here || len(p.words) < 2 && !p.fragment):
		p.Why = "the prompt is about what lies at hand"
	}
	return p
}

// sentence is one of a prompt, or a line of it, with its words.
type sentence struct {
	text string
	all  []unit
}

// splitSentences returns the sentences and lines of a text, whose words are all. Signs before the first word (¿, a dash) belong to its sentence.
func splitSentences(text string, all []unit) (list []sentence) {
	from, first := 0, 0
	for i, u := range all {
		if u.Breaks && i > 0 {
			list = append(list, sentence{text[from:u.At], all[first:i]})
			from, first = u.At, i
		}
	}
	return append(list, sentence{text[from:], all[first:]})
}

// asksAboutOwn reports whether a sentence asks, by itself, about what belongs to the person. Most do not, by their signs, and need not be read.
func (s sentence) asksAboutOwn() bool {
	signs := Prompt{Query: s.text}
	if !signs.asksAboutOwn(signs.readSigns(s.all)) {
		return false
	}
	p := Read(s.text)
	return p.Why == "" && p.own && !p.here
}

// asksAboutOwn reports whether the signs of a prompt that begins so say that it is about what belongs to the person.
func (p *Prompt) asksAboutOwn(begins order) bool {
	return p.mine && (p.asks || begins == asked) || p.said || p.should && p.asks
}

// clipMiddle returns a text of more than 2*size bytes without its middle, as valid UTF-8.
func clipMiddle(text string, size int) string {
	if len(text) <= 2*size {
		return limit.Clip(text, 2*size)
	}
	tail := text[len(text)-size:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return limit.Clip(text, size) + "\n" + limit.Clip(tail, size)
}

// contentWord returns a word of a prompt with its rank; false if it is not to be searched for: a function word, one letter, a short number,
// or an identifier of the code at hand.
func contentWord(text string, u unit, german bool) (word, bool) {
	r := u.rank
	digits := !strings.ContainsFunc(u.Word, unicode.IsLetter)
	if r == function || utf8.RuneCountInString(u.Word) < 2 || digits && len(u.Word) < 4 || !u.Dense && isIdentifier(text, u.Token) {
		return word{}, false
	}
	if digits {
		r = max(r, trade)
	}
	u.rank = r
	return word{unit: u, name: !u.Dense && (u.isName(german) || strings.Contains(strings.Trim(u.Run, "."), "."))}, true
}

// isIdentifier reports whether a run is a name of code or a file: parseHeader, created_at, src/app.go, `x`, f().
func isIdentifier(text string, t index.Token) bool {
	run := t.Run
	if t.At > 0 && (text[t.At-1] == '`' || text[t.At-1] == '/' || text[t.At-1] == '.' || text[t.At-1] == '$') || t.End < len(text) && text[t.End] == '(' {
		return true
	}
	if t.Parts < 2 || isPair(run) {
		return false
	}
	switch {
	case strings.ContainsAny(run, "_/") && strings.ToUpper(run) != run, strings.Contains(run, "::"), strings.Contains(run, "->"):
		return true
	case unicode.IsLower(rune(run[0])) && strings.ContainsFunc(run, unicode.IsUpper) && !strings.ContainsAny(run, "-'@"):
		return true
	}
	dot := strings.LastIndexByte(run, '.')
	return dot > 0 && listed.Of(run[dot+1:])&listEnding != 0
}

// isPair reports whether a run is two common words with a stroke between them, as a person writes them: try/catch, client/server.
func isPair(run string) bool {
	one, other, cut := strings.Cut(strings.ToLower(run), "/")
	return cut && rankOfWord(one) != rare && rankOfWord(other) != rare
}

// extractProse returns the prose in a text, without code, logs and quotations, and how many bytes those have.
func extractProse(text string) (prose string, code int) {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		fence := strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
		if fence {
			fenced = !fenced
		}
		if fence || fenced || strings.HasPrefix(trimmed, ">") || isCodeLine(line, trimmed) {
			code += len(trimmed)
			continue
		}
		b.WriteString(line)
	}
	return b.String(), code
}

// isCodeLine reports whether a line is one of code, of a log or of a trace, by its signs: how it ends, and how many of its characters are none of
// prose.
func isCodeLine(line, trimmed string) bool {
	if trimmed == "" {
		return false
	}
	if indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    "); indented {
		return true
	}
	switch trimmed[len(trimmed)-1] {
	case ';', '{', '}', '\\', '=':
		return true
	}
	odd, letters, spaces := 0, 0, 0
	for _, r := range trimmed {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsSpace(r):
			spaces++
		case strings.ContainsRune("{}[]();=<>|&$#@_\\*/:\"", r), unicode.IsDigit(r):
			odd++
		}
	}
	if odd*4 > letters && odd >= 5 {
		return true
	}
	for _, mark := range []string{"Traceback (", "File \"", "panic:", "goroutine ", "at Object.", "FAIL", "--- FAIL", "exit status", "Exception in thread", "error TS", "error["} {
		if strings.HasPrefix(trimmed, mark) {
			return true
		}
	}
	name, _, cut := strings.Cut(trimmed, ": ") // KeyError: 'ledger'
	return cut && !strings.Contains(name, " ") && (strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception"))
}
