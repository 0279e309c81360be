package index

import (
	"slices"
	"strings"
	"sync"
)

// stops returns English words that do not tell what a text is about, those of chats among them.
var stops = sync.OnceValue(func() map[string]struct{} {
	set := map[string]struct{}{}
	for w := range strings.FieldsSeq(`
a an the this that these those there here
i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers herself it its itself they them their theirs
am is are was were be been being do does did doing done have has had having will would shall should can could may might must
dont doesnt didnt isnt arent wasnt werent wont wouldnt cant couldnt shouldnt havent hasnt hadnt im ive id ill youre youve youll youd hes shes weve
theyre theyve thats whats lets ain
and or but nor so if then than as of at by for with about into onto through during before after to from up down in out on off over under
again further once because while until between against
what which who whom whose when where why how
all any both each few more most other some such no not only own same too very just also ever never
s t d ll m o re ve y
`) {
		set[w] = struct{}{}
	}
	return set
})

// longestListed is the length of the longest word in stops and irregular.
const longestListed = 10

// listed returns a table that has true at the [shape] of each word in stops and irregular: looking up every word of all texts in the maps
// would cost more than all the rest of the work.
var listed = sync.OnceValue(func() *[1024]bool {
	var t [1024]bool
	for w := range stops() {
		t[shape([]byte(w))] = true
	}
	for w := range irregular() {
		t[shape([]byte(w))] = true
	}
	return &t
})

// shape returns a hash, below 1024, of a word's first letter, its last two, and its length.
func shape(word []byte) int {
	n := len(word)
	return (int(word[0])*31 + int(word[n-1])*7 + int(word[max(n-2, 0)])*131 + n) & 1023
}

// isListed reports whether a word may be in stops or irregular. If it returns false the word is in neither.
func isListed(word []byte) bool { return len(word) <= longestListed && listed()[shape(word)] }

// isStop reports whether a word is one of stops.
func isStop(word []byte) bool {
	if !isListed(word) {
		return false
	}
	_, ok := stops()[string(word)]
	return ok
}

// irregular maps English past tenses and plurals that no ending gives away to the stem of their regular form.
var irregular = sync.OnceValue(func() map[string][]byte {
	forms := map[string][]byte{}
	for line := range strings.SplitSeq(`
be been;become became;begin began begun;bite bit bitten;blow blew blown;break broke broken;bring brought;build built;buy bought;catch caught
choose chose chosen;come came;deal dealt;draw drew drawn;dream dreamt;drink drank drunk;drive drove driven;eat ate eaten;fall fell fallen;feed fed
feel felt;fight fought;find found;fly flew flown;forget forgot forgotten;forgive forgave forgiven;freeze froze frozen;get got gotten;give gave given
go went gone;grow grew grown;hang hung;hear heard;hide hid hidden;hold held;keep kept;know knew known;lead led;learn learnt;leave left;lend lent
lose lost;make made;mean meant;meet met;pay paid;ride rode ridden;ring rang rung;rise rose risen;run ran;say said;see saw seen;sell sold
send sent;shake shook shaken;shoot shot;show shown;sing sang sung;sit sat;sleep slept;speak spoke spoken;spend spent;stand stood;steal stole stolen
stick stuck;swim swam swum;take took taken;teach taught;tear tore torn;tell told;think thought;throw threw thrown;understand understood
wake woke woken;wear wore worn;win won;write wrote written;child children;man men;woman women;person people;foot feet;tooth teeth;mouse mice;life lives
wife wives;knife knives;leaf leaves;shelf shelves;half halves`, "\n") {
		for group := range strings.SplitSeq(line, ";") {
			words := strings.Fields(group)
			for _, w := range words[min(1, len(words)):] {
				forms[w] = stemRegular([]byte(words[0]))
			}
		}
	}
	return forms
})

// stemWord removes the usual English endings from a word in lower case, in place: plurals, -ed, -ing, -ly, -ion, and a last e, so that hike,
// hikes, hiked and hiking become one. Irregular forms become the stem of the regular one. Words with other characters than a to z, and
// short ones, stay as they are.
func stemWord(word []byte) []byte {
	n := len(word)
	if n < 3 {
		return word
	}
	for _, c := range word {
		if c < 'a' || c > 'z' {
			return word
		}
	}
	if isListed(word) {
		if base, ok := irregular()[string(word)]; ok {
			return base
		}
	}
	return stemRegular(word)
}

// stemRegular is [stemWord] for words that change by their endings only. It overwrites word.
func stemRegular(word []byte) []byte {
	n := len(word)
	if n < 4 {
		return word
	}
	// Plurals and the third person.
	if word[n-1] == 's' {
		switch {
		case hasEnding(word, "ies") && n > 4:
			n -= 2 // cities: citi, as city below
			word = word[:n]
		case hasEnding(word, "sses"), hasEnding(word, "shes"), hasEnding(word, "ches"), hasEnding(word, "xes"):
			n -= 2
			word = word[:n]
		case hasEnding(word, "ss"), hasEnding(word, "us"), hasEnding(word, "is"):
		default:
			n--
			word = word[:n]
		}
	}
	switch {
	case hasEnding(word, "ing") && n >= 6 && hasVowel(word[:n-3]):
		word = undouble(word[:n-3])
	case hasEnding(word, "ied") && n > 4:
		word = word[:n-1] // tried: tri, as try below
	case hasEnding(word, "ed") && n >= 5 && hasVowel(word[:n-2]):
		word = undouble(word[:n-2])
	case hasEnding(word, "ly") && n >= 6:
		word = word[:n-2]
	}
	if n = len(word); n > 6 && (hasEnding(word, "tion") || hasEnding(word, "sion")) {
		word = word[:n-3] // education: educat, as educate below
	}
	n = len(word)
	if n > 3 && word[n-1] == 'e' {
		n--
		word = word[:n]
	}
	if n > 2 && word[n-1] == 'y' && !isVowel(word[n-2]) {
		word[n-1] = 'i'
	}
	return word
}

// hasEnding reports whether a word has this ending and something before it.
func hasEnding(word []byte, ending string) bool {
	return len(word) > len(ending) && string(word[len(word)-len(ending):]) == ending
}

func isVowel(c byte) bool { return strings.IndexByte("aeiouy", c) >= 0 }

// hasVowel reports whether a word has a vowel, y among them.
func hasVowel(word []byte) bool {
	return slices.ContainsFunc(word, isVowel)
}

// undouble removes the second of two equal consonants at the end of a word: runn becomes run.
func undouble(word []byte) []byte {
	n := len(word)
	if n > 3 && word[n-1] == word[n-2] && strings.IndexByte("bdgmnprt", word[n-1]) >= 0 {
		return word[:n-1]
	}
	return word
}
