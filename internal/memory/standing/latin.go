package standing

import (
	"slices"
	"strings"
)

// isLatinInstruction reports whether a sentence in English, German or Spanish is a standing instruction. task says that the message also tells what
// to build.
func isLatinInstruction(s string, task bool) bool {
	low := strings.ToLower(strings.Join(strings.Fields(s), " "))
	strong := matches(low, lasting)
	low = blankMatches(low, lasting, inProject)
	if matches(low, local) || matches(low, statement) {
		return false
	}
	words, pause := splitWords(low)
	// A time of the agent's own work at the beginning: "before every commit, run the tests".
	if n := countOccasion(words, pause); n > 0 {
		words, pause, strong = words[n:], pause[n:], true
	}
	for len(words) > 0 && (isIn(words[0], fillers) || pause[0] && isIn(words[0], greetings)) {
		words, pause = words[1:], pause[1:]
	}
	f := form{words: words, always: strong, strong: strong, task: task}
	return f.isInstruction()
}

// countOccasion returns how many words at the beginning name a recurring occasion of the agent's own work, as in "before every commit"; 0
// if none do.
func countOccasion(words []string, pause []bool) int {
	if len(words) < 3 || !isIn(words[0], occasions) {
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
		again = again || isIn(w, every)
		own = own || isIn(w, work)
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

// dropFirst removes the first word if it is in one of some lists, and reports whether it was.
func (f *form) dropFirst(lists uint64) bool {
	if len(f.words) == 0 || !isIn(f.words[0], lists) {
		return false
	}
	f.words = f.words[1:]
	return true
}

// dropAddress removes an address such as "please make sure that you" from the beginning, and reports whether there was one.
func (f *form) dropAddress() bool {
	for _, p := range lists.Phrases(addresses) {
		n := strings.Count(p, " ") + 1
		if len(f.words) > n && strings.Join(f.words[:n], " ") == p {
			f.words = f.words[n:]
			return true
		}
	}
	return false
}

// dropAdverbs removes adverbs such as "always" from the beginning. If there were any it sets f.always and returns true.
func (f *form) dropAdverbs() bool {
	found := false
	for f.dropFirst(adverbs) {
		found, f.always = true, true
	}
	return found
}

// isInstruction reports whether the words are a standing instruction: an order that holds always and is about the agent's work or answers.
// It uses the words up.
func (f *form) isInstruction() bool {
	for f.dropFirst(fillers) {
	}
	if len(f.words) == 0 {
		return false
	}
	// Without a verb: "no emojis from now on", "kürzere Antworten", "solo respuestas cortas".
	if f.strong && len(f.words) >= 2 && (isIn(f.words[0], bare) || strings.HasSuffix(f.words[0], "ere") && isIn(f.words[1], answers) || isIn(f.words[0], answers) && len(f.words) <= 4) {
		return !anyIn(f.words, pronouns)
	}
	addressed := f.dropAddress()
	f.dropAdverbs()
	for f.dropFirst(fillers) {
	}
	f.dropAdverbs()
	for f.dropFirst(negations) {
	}
	f.dropAdverbs()
	verb := ""
	if len(f.words) > 0 {
		verb = f.words[0]
	}
	// "Immer auf Deutsch antworten", "dass du immer kurz antwortest", "siempre me expliques": the verb is not the first word.
	if verbKind(verb) == 0 && (f.always || addressed) {
		if at, ok := f.findLateVerb(addressed); ok {
			verb = f.words[at]
			if !f.always { // "dass du kurz antwortest, immer"
				f.always = anyIn(f.words, adverbs)
			}
			return f.always && f.isAboutWork(verb, slices.Delete(slices.Clone(f.words), at, at+1))
		}
		return false
	}
	rest := f.words
	if len(rest) > 0 {
		rest = rest[1:]
	}
	// Behind the verb, and at the end: "answer me always", "antworte mir bitte immer", "run the tests always".
	for i := 0; i < len(rest) && i < 5; i++ {
		if isIn(rest[i], adverbs) {
			f.always = true
			rest = slices.Delete(slices.Clone(rest), i, i+1)
			break
		}
		if !isIn(rest[i], between) && !isIn(rest[i], targets) {
			break
		}
	}
	if n := len(rest); n > 0 && isIn(rest[n-1], adverbs) {
		f.always, rest = true, rest[:n-1]
	}
	return f.always && f.isAboutWork(verb, rest)
}

// findLateVerb returns the place of the verb in a clause that does not begin with it; false if it has none, or if it says what somebody
// wants rather than what to do.
func (f *form) findLateVerb(addressed bool) (int, bool) {
	if !addressed && anyIn(f.words, subjects) {
		return 0, false // "in Zukunft wollen wir pnpm nutzen"
	}
	for i := len(f.words) - 1; i > 0; i-- {
		w := f.words[i]
		if verbKind(w) != 0 && (i == len(f.words)-1 || addressed || isIn(w, infinitives)) {
			return i, true
		}
		if i < len(f.words)-6 {
			break
		}
	}
	return 0, false
}

// isAboutWork reports whether a verb and the words after it tell an agent how to work or answer in general, and not what to do in the task at hand.
func (f *form) isAboutWork(verb string, rest []string) bool {
	clause := len(rest) > 2 && rest[0] == "that" && isIn(rest[1], subjects) // "never mention that you are a model"
	if !clause && len(rest) > 0 && isIn(rest[0], pronouns) || len(rest) > 1 && isIn(rest[0], between) && isIn(rest[1], pronouns) {
		return false // "never do that again"
	}
	if verb == "call" && (len(rest) == 0 || rest[0] != "me") {
		return false
	}
	if len(rest) == 0 {
		return isIn(verb, alone)
	}
	if namesOneThing(rest) || slices.ContainsFunc(rest, func(w string) bool {
		return w == "it" || w == "them" || isIn(w, builders) && verbKind(verb) == forBoth || matches(w, named)
	}) {
		return false // about something of the task at hand
	}
	switch verbKind(verb) {
	case forReplies: // a program answers too: with a status, and on conditions
		return !slices.ContainsFunc(rest, func(w string) bool { return isIn(w, programs) || matches(w, code) })
	case forAgents:
		return verb != "ask" || rest[0] != "the" && rest[0] != "a"
	case forBoth:
		return f.strong || !f.task && (!isIn(verb, ofProducts) || namesOwnWork(rest)) // with a task it says how to build that
	}
	switch verb {
	case "be", "sei", "sé":
		return isIn(rest[0], manners)
	case "follow":
		return f.strong
	}
	return false
}

// namesOwnWork reports whether words name something of the agent's own work, and not of a program: the diff, comments, a commit.
func namesOwnWork(words []string) bool {
	said := strings.Join(words, " ")
	return anyIn(words, usual|work|answers|targets) || matches(said, comments) || matches(said, documents) || matches(said, emojis)
}

// namesOneThing reports whether words name a thing of the task at hand: "the toast", "den Knopf", but not "the tests" or "the main branch".
func namesOneThing(words []string) bool {
	for i, w := range words {
		if isIn(w, articles) && i+1 < len(words) {
			if next := words[i+1]; !isIn(next, usual) && (i+2 >= len(words) || !isIn(words[i+2], usual)) {
				return true
			}
		}
	}
	return false
}

// tellsToBuild reports whether a sentence says what is to be made: the others of its message then say how.
func tellsToBuild(s string) bool {
	words, _ := splitWords(s)
	for len(words) > 0 && isIn(words[0], fillers) {
		words = words[1:]
	}
	return len(words) > 1 && isIn(words[0], builders)
}
