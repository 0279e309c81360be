package standing

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

var (
	// lasting matches what says that something holds from now on.
	lasting = lazy.Regexp(`\b(from now on|from now onwards?|from here on( out)?|going forward|in( the)? future|ab jetzt|ab sofort|von (jetzt|nun) an|künftig|zukünftig|in zukunft|fortan|a partir de ahora|desde ahora|de ahora en adelante|en adelante|en lo sucesivo)\b`)
	// local matches what says that it holds for the moment, or for one place.
	local = lazy.Regexp(`\b(this (time|once|one|file|function|method|class|test|pr|branch|session|chat|conversation|thread|task|answer|reply|message|package|makefile|table|module|script|directory|folder)|these|just once|for now|for (this|the next|today)|today|here|diesmal|hier|heute|vorerst|jetzt gerade|gerade|dieses mal|(in|für) (dieser|diesem|diese|dieses|die nächste) (datei|funktion|methode|klasse|test|sitzung|chat|aufgabe|antwort|nachricht|paket|modul)|esta vez|hoy|por ahora|(en|para) (este|esta|el siguiente|la siguiente) (archivo|función|método|clase|prueba|sesión|chat|tarea|respuesta|mensaje|paquete|módulo)|until|bis ich|hasta que|ab version)\b|\baquí`)
	// inProject matches what says that it holds where it is said, as all that is no matter of the person does.
	inProject = lazy.Regexp(`\b((in|for) (this|the|our) (project|repo|repository|codebase)|(in|für) (diesem|dieses|unserem) (projekt|repo|repository)|en este (proyecto|repositorio))\b`)
	// named matches the name of a file, and code a status or another number that no person is answered with.
	named = lazy.Regexp(`^[\w/-]+\.(go|ts|tsx|js|jsx|py|rs|java|c|h|cpp|rb|php|css|html|sql|sh|json|ya?ml|toml)$`)
	code  = lazy.Regexp(`^\d{3}$`)
	// statement matches a sentence that says something about an instruction.
	statement = lazy.Regexp(`\b(is|was|sounds|seems|means|are) (a|an|the|our|my|not|in|on|what|why|how|bad|good|wrong|too|just|from|adverbs)\b|\b(ist|sind|war) (ein|eine|der|die|das|unsere?|nicht)\b|\b(es|son) (una?|la|el|nuestra)\b`)
)

// inLatin reports whether a sentence in English, German or Spanish is a standing instruction. task says that the message also tells what to build.
func inLatin(s string, task bool) bool {
	low := strings.ToLower(strings.Join(strings.Fields(s), " "))
	strong := lasting().MatchString(low)
	low = inProject().ReplaceAllString(lasting().ReplaceAllString(low, " "), " ")
	if local().MatchString(low) || statement().MatchString(low) {
		return false
	}
	words, pause := wordsOf(low)
	// A time of the agent's own work at the beginning: "before every commit, run the tests".
	if n := occasion(words, pause); n > 0 {
		words, pause, strong = words[n:], pause[n:], true
	}
	for len(words) > 0 && (fillers.has(words[0]) || pause[0] && greetings.has(words[0])) {
		words, pause = words[1:], pause[1:]
	}
	f := form{words: words, always: strong, strong: strong, task: task}
	return f.instruction()
}

// occasion returns the number of words at the beginning that name an occasion of the agent's own work which comes again and again; 0 for none.
func occasion(words []string, pause []bool) int {
	if len(words) < 3 || !occasions.has(words[0]) {
		return 0
	}
	end := slices.Index(pause, true) + 1
	if words[0] == "vor" || words[0] == "nach" { // "vor jedem Commit den Linter laufen lassen" has no comma
		end = 3
	}
	if end < 2 || end > 9 || end >= len(words) {
		return 0
	}
	again, own := words[0] == "whenever", false
	for _, w := range words[:end] {
		again = again || every.has(w)
		own = own || work.has(w)
	}
	you := slices.Contains(words[:end], "you") || slices.Contains(words[:end], "du")
	if !again || !own && !you || slices.Contains(words[:end], "i") {
		return 0
	}
	return end
}

// form is a sentence that is taken apart.
type form struct {
	words  []string
	strong bool // it says that it holds from now on
	always bool // or always, or never
	task   bool
}

// take removes the first word if it is in the set.
func (f *form) take(set wordSet) bool {
	if len(f.words) == 0 || !set.has(f.words[0]) {
		return false
	}
	f.words = f.words[1:]
	return true
}

// phrase removes one of the phrases at the beginning.
func (f *form) phrase(phrases [][]string) bool {
	for _, p := range phrases {
		if len(f.words) > len(p) && slices.Equal(f.words[:len(p)], p) {
			f.words = f.words[len(p):]
			return true
		}
	}
	return false
}

func (f *form) weak() bool {
	found := false
	for f.take(adverbs) {
		found, f.always = true, true
	}
	return found
}

func (f *form) instruction() bool {
	for f.take(fillers) {
	}
	if len(f.words) == 0 {
		return false
	}
	// Without a verb: "no emojis from now on", "kürzere Antworten", "solo respuestas cortas".
	if f.strong && len(f.words) >= 2 && (bare.has(f.words[0]) || strings.HasSuffix(f.words[0], "ere") && answers.has(f.words[1]) || answers.has(f.words[0]) && len(f.words) <= 4) {
		return !slices.ContainsFunc(f.words, func(w string) bool { return pronouns.has(w) })
	}
	addressed := f.phrase(addresses())
	f.weak()
	for f.take(fillers) {
	}
	f.weak()
	for f.take(negations) {
	}
	f.weak()
	verb := ""
	if len(f.words) > 0 {
		verb = f.words[0]
	}
	// "Immer auf Deutsch antworten", "dass du immer kurz antwortest", "siempre me expliques": the verb is not the first word.
	if kindOf(verb) == 0 && (f.always || addressed) {
		if at, ok := f.verbLater(addressed); ok {
			verb = f.words[at]
			if !f.always { // "dass du kurz antwortest, immer"
				f.always = slices.ContainsFunc(f.words, func(w string) bool { return adverbs.has(w) })
			}
			return f.always && f.fits(verb, slices.Delete(slices.Clone(f.words), at, at+1))
		}
		return false
	}
	rest := f.words
	if len(rest) > 0 {
		rest = rest[1:]
	}
	// Behind the verb, and at the end: "answer me always", "antworte mir bitte immer", "run the tests always".
	for i := 0; i < len(rest) && i < 5; i++ {
		if adverbs.has(rest[i]) {
			f.always = true
			rest = slices.Delete(slices.Clone(rest), i, i+1)
			break
		}
		if !between.has(rest[i]) && !targets.has(rest[i]) {
			break
		}
	}
	if n := len(rest); n > 0 && adverbs.has(rest[n-1]) {
		f.always, rest = true, rest[:n-1]
	}
	return f.always && f.fits(verb, rest)
}

// verbLater returns the place of the verb of a clause that does not begin with it.
func (f *form) verbLater(addressed bool) (int, bool) {
	if !addressed && slices.ContainsFunc(f.words, func(w string) bool { return subjects.has(w) }) {
		return 0, false // "in Zukunft wollen wir pnpm nutzen"
	}
	for i := len(f.words) - 1; i > 0; i-- {
		w := f.words[i]
		if kindOf(w) != 0 && (i == len(f.words)-1 || addressed || infinitives.has(w)) {
			return i, true
		}
		if i < len(f.words)-6 {
			break
		}
	}
	return 0, false
}

// fits reports whether a verb with what stands behind it is something that an agent is told for good.
func (f *form) fits(verb string, rest []string) bool {
	clause := len(rest) > 2 && rest[0] == "that" && subjects.has(rest[1]) // "never mention that you are a model"
	if !clause && len(rest) > 0 && pronouns.has(rest[0]) || len(rest) > 1 && between.has(rest[0]) && pronouns.has(rest[1]) {
		return false // "never do that again"
	}
	if verb == "call" && (len(rest) == 0 || rest[0] != "me") {
		return false
	}
	if len(rest) == 0 {
		return alone.has(verb)
	}
	if definite(rest) || slices.ContainsFunc(rest, func(w string) bool {
		return w == "it" || w == "them" || builders.has(w) && kindOf(verb) == ofBoth || named().MatchString(w)
	}) {
		return false // about something of the task at hand
	}
	switch kindOf(verb) {
	case ofReplies: // a program answers too: with a status, and on conditions
		return !slices.ContainsFunc(rest, func(w string) bool { return programs.has(w) || code().MatchString(w) })
	case ofAgents:
		return verb != "ask" || rest[0] != "the" && rest[0] != "a"
	case ofBoth:
		return f.strong || !f.task // with a task it says how to build that
	}
	switch verb {
	case "be", "sei", "sé":
		return manners.has(rest[0])
	case "follow":
		return f.strong
	}
	return false
}

// definite reports whether words name a thing of the task at hand: "the toast", "den Knopf", but not "the tests" or "the main branch".
func definite(words []string) bool {
	for i, w := range words {
		if articles.has(w) && i+1 < len(words) {
			if next := words[i+1]; !usual.has(next) && (i+2 >= len(words) || !usual.has(words[i+2])) {
				return true
			}
		}
	}
	return false
}

// building reports whether a sentence says what is to be made: the others of its message then say how.
func building(s string) bool {
	words, _ := wordsOf(s)
	for len(words) > 0 && fillers.has(words[0]) {
		words = words[1:]
	}
	return len(words) > 1 && builders.has(words[0])
}
